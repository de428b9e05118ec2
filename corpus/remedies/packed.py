"""Remedies in the form in which a compiled corpus holds them."""

from __future__ import annotations

import marshal
import re
from array import array
from collections.abc import Iterable
from zlib import crc32

from ..effort import tell_effort
from ..kinds import Safety
from ..messages.index import anchor, packed
from ..messages.row import Label, Row
from ..types import Cause, Fix
from . import Change, Remedy
from .find import BEGINNINGS, SIZE

_LEAVE = "leave out "
_DELETES = re.compile(r"\brm -")
_NOBODY = Label("", "", "", "any", True, "place")


def pack(remedies: Iterable[Remedy], clients: set[tuple[str, str]]) -> bytes:
    """Return the form in which a compiled corpus holds remedies.

    Args:
        remedies: Of all packages. Those that keep a cause's fixes are packed as well: a longer message may hold a shorter one.
        clients: Package and template of messages that answer a request: no server is started anew for their fixes.
    """
    known = [remedy for remedy in remedies if len(anchor(remedy.template)) >= BEGINNINGS[0]]
    # Where a row's fixes stand is told where its module would be.
    rows = [
        Row(remedy.package, remedy.template, "", "", str(number) if remedy.changes else "", "", 0, "", "", _NOBODY)
        for number, remedy in enumerate(known)
    ]
    data, ends = bytearray(), []
    for remedy in known:
        data += marshal.dumps(_fixes(remedy, (remedy.package, remedy.template) in clients))
        ends.append(len(data))
    sums = array("I", sorted({crc32(_beginning(remedy)) for remedy in known if remedy.changes})).tobytes()
    return len(sums).to_bytes(SIZE, "little") + sums + marshal.dumps((packed(rows), ends, bytes(data)))


def _beginning(remedy: Remedy) -> bytes:
    piece = anchor(remedy.template).encode()
    return piece[: max(length for length in BEGINNINGS if length <= len(piece))]


def _fixes(remedy: Remedy, of_client: bool) -> tuple[str, list[tuple[str | bool | None, ...]]]:
    cause = Cause(id="", title="", summary="", fixes=tuple(map(_fix, remedy.changes)))
    tell_effort(cause, "client" if of_client else "server")
    told: list[tuple[str | bool | None, ...]] = [
        (fix.title, fix.kind, fix.change, fix.why, fix.option, fix.value, fix.restart, fix.root, fix.safety)
        for fix in cause.fixes
    ]
    return f"{remedy.package}/{remedy.path}", told


def _fix(change: Change) -> Fix:
    """Return a change as a fix, with the option or variable that it is about."""
    words = change.change.removeprefix(_LEAVE).removeprefix("unset ").split()
    option = value = ""
    if change.kind == "flag":
        option, _, value = words[0].partition("=")
        taken = change.change.startswith(_LEAVE)
        value = "" if taken else value or next((word for word in words[1:2] if not word.startswith("--")), "")
    elif change.kind == "env":
        option, _, value = words[0].partition("=")
    safety: Safety = "destructive" if _DELETES.search(change.change) else "safe"
    return Fix(change.title, change.kind, change.change, change.why, "none", "", option, value, safety)
