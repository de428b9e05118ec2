"""The same start once more, with variables, options or a file for its output: every argument of the user's own is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...corpus.records import replace
from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern

_SERVE = "vllm serve "
_AGAIN = LazyPattern(
    r"^(?P<variables>(?:[A-Z][A-Z0-9_]*=[^\s;&|]+ )*)vllm serve (?P<model>…|[^\s;&|#-][^\s;&|#]*)(?: …)?"
    r"(?P<flags>(?: --[a-z][\w-]*(?: [^\s;&|#-][^\s;&|#]*)?)*)(?P<output> 2>&1 \| tee [^;&|#]*)?$"
)
_ANY = frozenset({"…", "MODEL"})
"""What stands for the user's model where a fix does not name it."""
_LONGEST = 1500
"""Characters of a command that people still read."""


def as_started(fix: Advice, facts: Mapping[str, object]) -> Advice:
    """Return a fix that starts the server once more with the whole start that the log tells of; where it tells none, with ``…``.

    Args:
        fix: Of a server that vLLM's own command starts.
        facts: Of the log: ``command``, ``arguments``, ``model``.
    """
    found = _AGAIN.match(fix.change) if _SERVE in fix.change and fix.kind in ("command", "env") else None
    if found is None or found["model"] not in _ANY | {str(facts.get("model") or "…")}:
        return fix
    if not found["variables"] and not found["output"]:
        return fix
    output, flags = found["output"] or "", found["flags"]
    started = _started(facts)
    if not started:
        change = f"{found['variables']}{_SERVE}{found['model']}{'' if found['model'] == '…' else ' …'}{flags}{output}"
        return replace(fix, change=change, exact=False)
    flags = "".join(f" {flag}" for flag in re.findall(r"--\S+(?: [^\s-]\S*)?", flags) if f" {flag}" not in started)
    change = f"{found['variables']}{started}{flags}{output}"
    return replace(fix, change=change, exact="…" not in change and "<" not in change)


def _started(facts: Mapping[str, object]) -> str:
    """Return the start command on one line, without what its shell does with the output; "" where the log tells none."""
    from .shell import shell
    from .source import start_of

    start, basis = start_of(facts)
    if start is None or basis == "configuration" or start.kind != "shell" or start.inner or start.manifest:
        return ""
    start = start.safe()
    start.after = []
    text = shell(start, facts)
    return "" if "\n" in text or len(text) > _LONGEST else text
