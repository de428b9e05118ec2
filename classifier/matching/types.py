"""What matching finds: a rule that fits a line or an exception."""

from __future__ import annotations

from ...corpus.records import Mutable, record
from ...corpus.types import Rule
from ..lines.types import Line, Trace


@record(slots=True)
class Hit(Mutable):
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
