"""One run over many logs: list, leave out what is done, have the rest handled, publish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .chunks import GROWN, chunked
from .engines.interface import Engine
from .log import Log
from .row import NOT_READ
from .sources import find
from .store.folder import folder_at
from .store.formats import format_named
from .store.publish import publish, resume
from .store.reader import Done, done_in
from .work import Outcome, Write


@dataclass(slots=True)
class Tally:
    """What a run has done so far."""

    logs: int = 0
    bytes: int = 0
    skipped: int = 0
    """Logs that an earlier run had done."""
    skipped_unread: int = 0
    """Those of them that it could not read."""
    buckets: Counter[str] = field(default_factory=Counter)
    """Starts by bucket."""
    problems: list[tuple[str, str]] = field(default_factory=list)
    """Logs that could not be read, and why; the first ones."""
    slow: Counter[str] = field(default_factory=Counter)
    """Rules that took too long, with the number of starts."""

    @property
    def starts(self) -> int:
        """Starts that were answered."""
        return self.buckets.total() - self.buckets[NOT_READ]

    @property
    def unread(self) -> int:
        """Logs that could not be read."""
        return self.buckets[NOT_READ]

    @property
    def done(self) -> int:
        """Logs that were read now or earlier."""
        return self.logs + self.skipped

    def add(self, outcome: Outcome) -> None:
        """Count a chunk."""
        self.logs += outcome.logs
        self.bytes += outcome.bytes
        self.buckets += outcome.buckets
        self.slow += outcome.slow
        self.problems += outcome.problems[: max(0, SHOWN - len(self.problems))]


Again = Literal["", "failed", "all"]
SHOWN = 100
"""Logs that could not be read which are named; all are in the reports."""


def run(
    sources: Sequence[str],
    work: Write,
    engine: Engine,
    again: Again = "",
    tell: Callable[[Tally], None] = lambda _: None,
    writers: int = 1,
) -> Tally:
    """Read every log that is not done yet and publish its rows.

    Args:
        sources: Where logs are (``sources.find``).
        work: What is done with each, and where the rows go.
        engine: Who does it.
        again: Which logs are read again that are done: none, those that could not be read (``failed``), ``all``.
        tell: Told after each chunk.
        writers: Threads of this process that write what is published.

    Raises:
        InputError: A source is not there, or the reports cannot be read or written.
    """
    folder, form = folder_at(work.place), format_named(work.form)
    resume(folder, form, writers)
    done = done_in(folder, form)
    tally, outdated = Tally(), set[str]()
    left = _left(find(sources), done, _over(done, again), outdated, tally)
    for outcome in engine.run(work, chunked(left, later=GROWN)):
        tally.add(outcome)
        tell(tally)
    publish(folder, form, outdated, writers)
    return tally


def _over(done: Done, again: Again) -> set[str]:
    """Return the ids of the logs that are not read again."""
    if again == "all":
        return set()
    return done.logs - done.failed if again == "failed" else done.logs


def _left(logs: Iterable[Log], done: Done, over: set[str], outdated: set[str], tally: Tally) -> Iterator[Log]:
    """Yield the logs that are to be read, each once; note whose rows are to go."""
    taken: set[str] = set()
    for log in logs:
        own = log.id
        if own in taken:
            continue
        taken.add(own)
        if own in over:
            tally.skipped += 1
            tally.skipped_unread += own in done.failed
            continue
        if (before := done.versions.get(log.source)) is not None:
            outdated.add(before)
        yield log
