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
from dataclasses import dataclass

from .folder import Folder
from .formats import Data, Format
from .layout import MARKER, PENDING, ROWS, partition, parts_of

FULL = 4 << 20
"""Bytes from which on a file is left as it is: what is new gets a file beside it."""
MOST = 128
"""Files that are published together: what is held in memory."""


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


def publish(folder: Folder, form: Format, outdated: Iterable[str] = ()) -> int:
    """Publish whatever waits; first what a killed run began. Return the number of files that had waited.

    Args:
        folder: The reports.
        form: Their form.
        outdated: Ids of logs of which there is a newer version: their rows go.
    """
    count = resume(folder, form)
    gone = tuple(sorted(outdated))
    while True:
        waiting = [name for name in folder.names(PENDING) if name.endswith(form.suffix)][:MOST]
        if not waiting and not gone:
            return count
        count += len(waiting)
        _publish(folder, form, _planned(waiting, gone))
        gone = ()


def resume(folder: Folder, form: Format) -> int:
    """Finish a publication that was cut off; return the number of files that had waited."""
    plan = under_way(folder)
    if plan is None:
        return 0
    if plan.phase == "write":
        _publish(folder, form, plan)
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


def _publish(folder: Folder, form: Format, plan: Plan) -> None:
    _mark(folder, plan)
    new: dict[str, dict[str, Data]] = {}
    for name in plan.waiting:
        for row in form.decode(folder.read(name)):
            # A chunk that two workers finished has its rows twice: the id keeps them once.
            new.setdefault(partition(str(row["day"]), str(row["bucket"])), {})[str(row["id"])] = row
    target = f"part-{plan.id}{form.suffix}"
    there = [name for name in folder.names(ROWS) if name.endswith(form.suffix) and not name.endswith(f"/{target}")]
    gone = frozenset(plan.outdated)
    replaced: list[str] = []
    for place in sorted({*new, *(_place(name) for name in there)} if gone else new):
        own = [name for name in there if _place(name) == place]
        kept, taken, full = _kept(folder, form, own, gone, place in new)
        rows = {**kept, **{key: row for key, row in new.get(place, {}).items() if key not in full}}
        if rows and (taken or place in new):
            folder.write(f"{place}/{target}", form.encode(rows[key] for key in sorted(rows)))
        replaced += taken
    done = Plan("delete", plan.id, plan.waiting, tuple(replaced), plan.outdated)
    _mark(folder, done)
    _delete(folder, done)


def _kept(
    folder: Folder, form: Format, files: list[str], gone: frozenset[str], grows: bool
) -> tuple[dict[str, Data], list[str], set[str]]:
    """Return what becomes of a partition's files.

    Returns:
        The rows that are taken over, by id; the files that are replaced thereby; the ids of the rows in the others.
    """
    kept: dict[str, Data] = {}
    replaced: list[str] = []
    left: set[str] = set()
    for name in files:
        data = folder.read(name)
        if (not grows or len(data) >= FULL) and not _holds(form, data, gone):
            # What a worker that was given up for lost wrote late may stand there already.
            left |= {str(row["id"]) for row in form.decode(data, ("id",))} if grows else set()
            continue
        kept |= {str(row["id"]): row for row in form.decode(data) if row["log"] not in gone}
        replaced.append(name)
    return kept, replaced, left


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
