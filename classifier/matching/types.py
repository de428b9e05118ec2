"""What matching finds: a rule that fits a line or an exception."""

from __future__ import annotations

from dataclasses import dataclass

from ...corpus.types import Rule
from ..lines.types import Line, Trace

# Compared by identity and never matched on: what dataclass need not generate makes the command start faster.


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Hit:
    """One rule that matched one line, or one exception."""

    rule: Rule
    line: Line
    captures: dict[str, str]
    trace: Trace | None = None
    quoted: bool = False
    """The match stands in source code that a traceback shows, not in a message."""
    count: int = 1
    last: int = 0
    """Line number of the latest repetition."""
