"""What the tools work with: the rules, the folders that may be read, and the incidents that may be asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

from anyio import CapacityLimiter
from anyio.lowlevel import checkpoint
from anyio.to_thread import run_sync

from ...classifier.api import Triage
from ...classifier.errors import InputError
from ...classifier.input.read import Block, read_blocks
from ...classifier.log_source import checked
from ...classifier.question import Question
from ...classifier.report.model import Report
from ...classifier.report.pack.look import Look, look, look_in
from ...classifier.report.pack.model import LARGEST
from ...classifier.report.shown import shown
from ..log_file import below, open_regular
from .interface import CannotError, Progress

MOST_TEXT = 4 << 20
"""Characters of a log that is handed over as text."""
AT_ONCE = 2
"""Logs that are read at the same time: one thread computes at a time, and more of them take more memory."""
STEPS = 100
"""Parts of a log after each of which the progress is told."""

Lookup = Callable[[str], Report | None]
"""Returns the report of an incident; None where there is none of that id. Raises ``CannotError`` where none can be had."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log as an agent names it: one of the three."""

    text: str = ""
    path: str = ""
    """A file below one of the folders that may be read."""
    incident: str = ""
    """An incident of the history: its report is there already."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the tools work.

    Args:
        triage: The loaded rules.
        roots: Folders below which files may be read; none where there is none.
        lookup: Returns reports of incidents; None where no history is configured.
    """

    triage: Triage
    roots: Sequence[Path] = ()
    lookup: Lookup | None = None
    _limiter: CapacityLimiter = field(default_factory=partial(CapacityLimiter, AT_ONCE))

    async def report(self, log: Log, question: Question, progress: Progress) -> Report:
        """Return the report of a log. Where the request is cancelled, reading ends after the block that is under way.

        Raises:
            CannotError: The log cannot be read, or the question has no answer.
        """
        if log.incident:
            return await self._incident(log)
        with self._opened(log) as (blocks, size):
            return await self._read(blocks, size, question, progress)

    async def look(self, log: Log, lines: str, find: str, process: str, budget: int) -> Look:
        """Return lines of a log (`pack.look`); of an incident those that are kept.

        Raises:
            CannotError: The log cannot be read, or what is asked makes no sense.
        """
        try:
            if log.incident:
                kept = (await self._incident(log)).pack(LARGEST)
                return look_in(kept, lines, find, process, budget)
            with self._opened(log) as (blocks, _):
                return await run_sync(look, blocks, lines, find, process, budget, limiter=self._limiter)
        except InputError as error:
            raise CannotError(shown(str(error))) from None

    @contextmanager
    def _opened(self, log: Log) -> Iterator[tuple[Iterator[Block], int]]:
        """Yield the blocks of a log, and its bytes where these are known.

        Raises:
            CannotError: It cannot be read.
        """
        _one_of(log)
        try:
            if log.path:
                with self._file(log.path) as file:
                    yield read_blocks(file), os.fstat(file.fileno()).st_size
                return
            if len(log.text) > MOST_TEXT:
                raise CannotError(f"the text has more than {MOST_TEXT >> 20} MiB: name the file instead (path)")
            yield read_blocks(checked(log.text)), 0
        except InputError as error:
            raise CannotError(shown(str(error))) from None

    async def _incident(self, log: Log) -> Report:
        _one_of(log)
        if self.lookup is None:
            raise CannotError("no history is configured: start with --database URL or --service URL, or give the log")
        found = await run_sync(self.lookup, log.incident)
        if found is None:
            raise CannotError("there is no such incident; it may have been removed, or be too old")
        return found

    def _file(self, name: str) -> BinaryIO:
        if not self.roots:
            raise CannotError("no folder may be read: start with --root FOLDER, or give the log as text")
        path = next((found for root in self.roots if (found := below(root, name)) is not None), None)
        if path is None:
            folders = ", ".join(str(root) for root in self.roots)
            raise CannotError(f"no such file below the folders that may be read ({folders})")
        try:
            return open_regular(path)
        except OSError as error:
            raise CannotError(f"the file cannot be read: {error.strerror or error}") from None

    async def _read(self, blocks: Iterator[Block], size: int, question: Question, progress: Progress) -> Report:
        session = self.triage.start(question)

        def step() -> bool:
            block = next(blocks, None)
            if block is not None:
                session.feed(block)
            return block is not None

        told = 0
        while await run_sync(step, limiter=self._limiter):
            if size and session.bytes - told >= size // STEPS:
                told = session.bytes
                await progress(told, size)
            # What is read from memory never waits: without this a cancelled request would be read to its end.
            await checkpoint()
        return await run_sync(self.triage.conclude, session, question, limiter=self._limiter)


def _one_of(log: Log) -> None:
    if sum(map(bool, (log.text, log.path, log.incident))) != 1:
        raise CannotError("give one of text (the log itself), path (a file) and incident (an id)")
