"""What the passing and the reading process tell each other, and how text for people is to look. Imports next to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Event = dict[str, Any]
"""One thing that became known. ``event`` names its kind; ``text`` is for people and goes to no program."""
Style = Literal["run", "unwatched", "pipe", "follow"]
"""What people are shown: the diagnosis once, at the end, as a status row tells before; when it is certain, and at the end where it is
another one by then; when it is certain and again at the end; when it is certain."""
MEMORY = {
    "weights_gib": "weights {:.3g} GiB",
    "kv_cache_available_gib": "KV cache {:.3g} GiB",
    "kv_cache_tokens": "{:,.0f} tokens",
    "max_concurrency": "{:.3g} × full context",
}
"""Facts that the status row shows as they become known."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How text for people is to look."""

    style: Style = "run"
    color: str = "never"
    """``always`` or ``never``."""
    width: int = 100
    verbose: bool = False
    form: str = "shell"
    name: str = "-"
    explain: bool = False
    height: int = 0
    """Rows that a diagnosis takes; 0 for as many as it needs."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the log came to its end."""

    code: int | None = None
    """Exit code of the command; below 0 a signal's number; None where there was no command."""
    stopped: str = ""
    """The signal that was passed on to stop it."""
    interrupted: bool = False
    """Whether reading was broken off with Ctrl-C."""
    left_out: int = 0
    """Bytes that came too fast to be read."""
