"""How far work on many logs is: a bar on standard error where that is a terminal, else nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[int, str], None]
"""Told how many logs are done, and what else is to be shown."""


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
