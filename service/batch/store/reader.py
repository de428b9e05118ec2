"""Reads a folder of reports: its rows, and which logs are done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ....classifier.errors import InputError
from .folder import Folder, folder_at
from .formats import Data, Format
from .layout import PENDING, ROWS, form_of
from .publish import to_leave_out


@dataclass(slots=True)
class Done:
    """What is finished, published or not."""

    logs: set[str] = field(default_factory=set)
    """Ids of logs."""
    versions: dict[str, str] = field(default_factory=dict)
    """Each log's name (as in the rows) to its id."""
    failed: set[str] = field(default_factory=set)
    """Ids of logs that could not be read."""


def read_rows(place: str, columns: Sequence[str] = ()) -> Iterator[Data]:
    """Yield the rows of a folder, each once, a file at a time.

    Args:
        place: Path or URL, as given to ``batch --out``.
        columns: Those that are wanted; all where this is left out.

    Raises:
        InputError: There are no reports.
    """
    folder = folder_at(place)
    names = _files(folder)
    form = form_of(names)
    if form is None:
        raise InputError(f"{place}: no reports there (vllm-triage batch SOURCE --out {place} makes them)")
    wanted = [*dict.fromkeys((*columns, "id"))] if columns else []
    waiting: set[str] = set()
    # What waits comes first.
    for name in sorted(names):
        for row in form.decode(folder.read(name), wanted):
            # Two workers may have finished the same log, and one of them after it was published: on a node given up for lost.
            if row["id"] in waiting:
                continue
            if name.startswith(f"{PENDING}/"):
                waiting.add(row["id"])
            yield row


def done_in(folder: Folder, form: Format) -> Done:
    """Return what is finished.

    Raises:
        InputError: The reports are of the other form.
    """
    found = Done()
    for name in _files(folder):
        if not name.endswith(form.suffix):
            raise InputError(f"the reports are {name.rpartition('.')[2]} files, and stay so: give that as --format")
        for row in form.decode(folder.read(name), ("log", "source", "problem")):
            found.logs.add(row["log"])
            if row["problem"]:
                found.failed.add(row["log"])
            found.versions[row["source"]] = row["log"]
    return found


def _files(folder: Folder) -> list[str]:
    leave_out = to_leave_out(folder)
    names = [name for name in folder.names() if name.startswith((f"{ROWS}/", f"{PENDING}/"))]
    return [name for name in names if name not in leave_out]
