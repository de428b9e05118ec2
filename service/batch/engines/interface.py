"""What an engine does: it hands chunks to workers and yields what they return, in whatever order they finish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from ..log import Chunk, Log

Result = TypeVar("Result")
Work = Callable[[Chunk], Result]
"""What is done with a chunk. It travels to other processes: a function of a module, or an object of a module's class."""
LOST = "the process that read it was killed, twice in a row (out of memory?)"
"""What is said of a log that takes its worker along."""


class Engine(Protocol):
    """A way to handle chunks."""

    def run(self, work: Work[Result], chunks: Iterable[Chunk]) -> Iterator[Result]:
        """Yield what the workers return; no more chunks are asked for than they need."""


def poisoned(log: Log) -> Log:
    """Return a log that is not to be read again: it killed who read it."""
    return Log(log.name, log.size, log.version, log.changed, problem=LOST)
