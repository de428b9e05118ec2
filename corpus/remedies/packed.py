"""Remedies in the form in which a compiled corpus holds them."""

from __future__ import annotations

import marshal
import re
from array import array
from collections.abc import Iterable
from zlib import crc32

from ..action_text import TextError, read_actions
from ..actions import SETTINGS, SetOption
from ..actions import packed as pack_actions
from ..effort import tell_effort
from ..kinds import Safety
from ..messages.index import anchor, packed
from ..messages.row import Label, Row
from ..packed_rules import joined
from ..types import Cause, Fix
from . import Change, Remedy
from .find import BEGINNINGS

_DELETES = re.compile(r"\brm -")
_NOBODY = Label("", "", "", "any", True, "place")


def pack(remedies: Iterable[Remedy]) -> bytes:
    """Return the form in which a compiled corpus holds remedies.

    Args:
        remedies: Of all packages. Those that keep a cause's fixes are packed as well: a longer message may hold a shorter one.

    Raises:
        ValueError: A change is no action of its kind.
    """
    known = [remedy for remedy in remedies if len(anchor(remedy.template)) >= BEGINNINGS[0]]
    # Where a row's fixes stand is told where its module would be.
    rows = [
        Row(remedy.package, remedy.template, "", "", str(number) if remedy.changes else "", "", 0, "", "", _NOBODY)
        for number, remedy in enumerate(known)
    ]
    data, ends = bytearray(), array("I")
    for remedy in known:
        data += marshal.dumps(_fixes(remedy))
        ends.append(len(data))
    sums = array("I", sorted({crc32(_beginning(remedy)) for remedy in known if remedy.changes})).tobytes()
    return joined(sums, packed(rows), ends.tobytes(), data)


def _beginning(remedy: Remedy) -> bytes:
    piece = anchor(remedy.template).encode()
    return piece[: max(length for length in BEGINNINGS if length <= len(piece))]


def _fixes(remedy: Remedy) -> tuple[str, list[tuple[object, ...]]]:
    try:
        fixes = tuple(map(_fix, remedy.changes))
    except TextError as error:
        raise ValueError(f"{remedy.package}: {remedy.template[:80]!r}: {error}") from None
    cause = Cause(id="", title="", summary="", fixes=fixes)
    tell_effort(cause)
    told: list[tuple[object, ...]] = [
        (
            fix.title,
            fix.kind,
            fix.does,
            fix.why,
            fix.option,
            fix.value,
            fix.restart,
            fix.root,
            fix.safety,
            fix.tags,
            fix.remark,
        )
        for fix in cause.fixes
    ]
    return f"{remedy.package}/{remedy.path}", told


def _fix(change: Change) -> Fix:
    """Return a change as a fix, with the option or variable that it is about."""
    actions, remark = read_actions(change.change, change.kind, change.tags)
    about = actions[0]
    option = value = ""
    if change.kind in ("flag", "env") and isinstance(about, SETTINGS):
        denied = isinstance(about, SetOption) and about.negative
        option = f"--no-{about.name[2:]}" if denied else about.name
        value = next(iter(getattr(about, "values", ())), getattr(about, "value", ""))
    safety: Safety = "destructive" if _DELETES.search(change.change) else "safe"
    return Fix(
        change.title,
        change.kind,
        pack_actions(actions),
        change.why,
        "none",
        "",
        option,
        value,
        safety,
        tags=change.tags,
        remark=remark,
    )
