"""Another port than the one in use."""

from __future__ import annotations

from collections.abc import Mapping

from .worked import Worked

DEFAULT = 8000
"""vLLM's own (vllm/entrypoints/openai/cli_args.py)."""


def free_port(facts: Mapping[str, object]) -> Worked:
    """Return the port after the one in use."""
    try:
        port = int(str(facts.get("port") or DEFAULT))
    except (TypeError, ValueError, OverflowError):
        return Worked("", f"{facts.get('port')!r} is no port", missing=("port",))
    other = port + 1 if 0 < port < 65535 else DEFAULT + 1
    return Worked(str(other), f"the next after {port}", {"port": port})
