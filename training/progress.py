"""Progress on standard error: a bar where that is a terminal and the steps are known, else a line for each step."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")
LEAST = 8
"""Steps below which a bar would only flicker."""


def track(items: Sequence[Item], text: str) -> Iterable[Item]:
    """Return the items; where a terminal watches, iterating shows how many are done and how long the rest takes."""
    if not _on_terminal() or len(items) < LEAST:
        return items
    from rich.console import Console
    from rich.progress import track as bar

    return bar(items, text, console=Console(stderr=True), transient=True)


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """Give a function to be told of each step: it prints the step, and on a terminal shows for how long it has run."""
    began = time.monotonic()

    def line(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", file=sys.stderr, flush=True)

    if not _on_terminal():
        yield line
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:

        def step(text: str) -> None:
            for task in bar.task_ids:
                bar.update(task, total=1, completed=1)
            bar.add_task(text, total=None)

        yield step


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
