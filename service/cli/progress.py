"""How far work on many logs is: a bar on standard error where that is a terminal, else nothing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...classifier.input.read import Chunks, LogFile

Tell = Callable[[int, str], None]
"""Told how many logs are done, and what else is to be shown."""
LARGE = 64 << 20
"""Bytes from which reading one log takes long enough to be shown."""
PIECE = 4 << 20
"""Bytes between two looks at how far it is."""


def watched(path: str) -> LogFile | Chunks:
    """Return a log that tells how far it is read, in a row on standard error: a large file where that is a terminal."""
    try:
        size = os.path.getsize(path) if os.path.isfile(path) else 0  # noqa: PTH113, PTH202 - pathlib would slow the start down
    except OSError:
        size = 0
    if size < LARGE or sys.stderr is None or not sys.stderr.isatty() or not os.access(path, os.R_OK):
        return LogFile(path)
    return Chunks(_told(path, size))


def _told(path: str, size: int) -> Iterator[bytes]:
    read, shown = 0, 0.0
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            while data := file.read(PIECE):
                yield data
                read += len(data)
                if time.monotonic() - shown > 0.2:
                    shown = time.monotonic()
                    sys.stderr.write(f"\r\x1b[Kreading: {read / size:.0%} of {size / 1e9:.2g} GB (Ctrl-C ends)")
                    sys.stderr.flush()
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


@contextmanager
def bar(text: str, total: int | None = None) -> Iterator[Tell]:
    """Give a function that shows how far the work is.

    Args:
        text: What is done.
        total: How many logs there are; None where nobody knows.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _done, _told: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(), TimeRemainingColumn(compact=True),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=4) as shown:
        task = shown.add_task(text, total=total, told="")
        yield lambda done, told: shown.update(task, completed=done, told=told)
