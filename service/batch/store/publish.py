"""Moves finished rows to where they are read, by day and bucket, so that a kill at any moment loses and doubles nothing.

A publication has two phases, and a marker that says which:

1. ``write``: for each day and bucket concerned a new file is written, which holds what its smaller files held and what is
   new. Its name follows from what is published, so that doing it again changes nothing.
2. ``delete``: the marker is replaced, and what the new files hold by now is deleted: the smaller files, and what waited.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from .folder import Folder
from .formats import Format
from .layout import MARKER, PENDING, ROWS, partition, parts_of

FULL = 4 << 20
"""Bytes from which on a file is left as it is: what is new gets a file beside it."""
MOST = 512
"""Files that are published together, of 64 logs each: what is held in memory, some 2.5 KB a row."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A publication."""

    phase: str
    id: str
    waiting: tuple[str, ...]
    """Files to be published."""
    replaced: tuple[str, ...] = ()
    """Published files that the new ones replace."""
    outdated: tuple[str, ...] = ()
    """Ids of logs whose rows are dropped: their files have changed since."""


def publish(folder: Folder, form: Format, outdated: Iterable[str] = (), writers: int = 1) -> int:
    """Publish whatever waits; first what a killed run began. Return the number of files that had waited.

    Args:
        folder: The reports.
        form: Their form.
        outdated: Ids of logs of which there is a newer version: their rows go.
        writers: Threads that write; most of their time they pack and wait, without the interpreter.
    """
    count = resume(folder, form, writers)
    gone = tuple(sorted(outdated))
    while True:
        waiting = [name for name in folder.names(PENDING) if name.endswith(form.suffix)][:MOST]
        if not waiting and not gone:
            return count
        count += len(waiting)
        _publish(folder, form, _planned(waiting, gone), writers)
        gone = ()


def resume(folder: Folder, form: Format, writers: int = 1) -> int:
    """Finish a publication that was cut off; return the number of files that had waited."""
    plan = under_way(folder)
    if plan is None:
        return 0
    if plan.phase == "write":
        _publish(folder, form, plan, writers)
    else:
        _delete(folder, plan)
    return len(plan.waiting)


def under_way(folder: Folder) -> Plan | None:
    """Return the publication that has begun and is not over; None where there is none."""
    if MARKER not in folder.names():
        return None
    told = json.loads(folder.read(MARKER))
    return Plan(told["phase"], told["id"], *(tuple(told[name]) for name in ("waiting", "replaced", "outdated")))


def to_leave_out(folder: Folder) -> frozenset[str]:
    """Return the files whose rows stand in others as well, because a publication is under way."""
    plan = under_way(folder)
    if plan is None:
        return frozenset()
    if plan.phase == "delete":
        return frozenset((*plan.waiting, *plan.replaced))
    return frozenset(name for name in folder.names(ROWS) if f"/part-{plan.id}." in name)


def _planned(waiting: list[str], outdated: tuple[str, ...]) -> Plan:
    told = "\n".join((*waiting, *outdated))
    return Plan("write", hashlib.blake2b(told.encode(), digest_size=8).hexdigest(), tuple(waiting), (), outdated)


def _publish(folder: Folder, form: Format, plan: Plan, writers: int) -> None:
    _mark(folder, plan)
    parts = form.parted(folder.read(name) for name in plan.waiting)
    new = {partition(*place): part for place, part in parts.items()}
    target = f"part-{plan.id}{form.suffix}"
    there: dict[str, list[str]] = {}
    for name in folder.names(ROWS):
        if name.endswith(form.suffix) and not name.endswith(f"/{target}"):
            there.setdefault(_place(name), []).append(name)
    gone = frozenset(plan.outdated)

    def written(place: str) -> list[str]:
        return _written(folder, form, f"{place}/{target}", there.get(place, []), gone, new.get(place))

    with ThreadPoolExecutor(writers) as pool:
        replaced = [name for taken in pool.map(written, sorted({*new, *(there if gone else ())})) for name in taken]
    done = Plan("delete", plan.id, plan.waiting, tuple(replaced), plan.outdated)
    _mark(folder, done)
    _delete(folder, done)


def _written(folder: Folder, form: Format, target: str, files: list[str], gone: frozenset[str], new: Any) -> list[str]:
    """Write the new file of a partition; return the files that it replaces."""
    kept: list[bytes] = []
    replaced: list[str] = []
    left: set[str] = set()
    for name in files:
        data = folder.read(name)
        if (new is None or len(data) >= FULL) and not _holds(form, data, gone):
            # What a worker that was given up for lost wrote late may stand there already.
            left |= {str(row["id"]) for row in form.decode(data, ("id",))} if new is not None else set()
            continue
        kept.append(data)
        replaced.append(name)
    if (replaced or new is not None) and (data := form.joined(kept, gone, new, left)):
        folder.write(target, data)
    return replaced


def _holds(form: Format, data: bytes, gone: frozenset[str]) -> bool:
    return bool(gone) and any(row["log"] in gone for row in form.decode(data, ("log",)))


def _place(name: str) -> str:
    return partition(*parts_of(name))


def _mark(folder: Folder, plan: Plan) -> None:
    told = {
        "phase": plan.phase, "id": plan.id, "waiting": plan.waiting, "replaced": plan.replaced,
        "outdated": plan.outdated,
    }  # fmt: skip
    folder.write(MARKER, json.dumps(told).encode())


def _delete(folder: Folder, plan: Plan) -> None:
    for name in (*plan.replaced, *plan.waiting):
        folder.delete(name)
    # The marker goes last.
    folder.delete(MARKER)
