"""What is known of one server start before any rule decides."""

from __future__ import annotations

from ...corpus.records import Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .releases import ReleaseBound
    from .writer import Writer


@record(frozen=True, slots=True)
class Situation(Record):
    """One start as a person sees it who reads the log before looking for a cause."""

    release: ReleaseBound
    """The releases that can have written it."""
    writer: Writer
    """What somebody wrote around it."""
    excerpt: str
    """The whole text, where it is a few lines that somebody quoted; "" of a log."""
