"""Remedies in the form in which a compiled corpus holds them."""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterable
from dataclasses import fields
from zlib import crc32

from ..effort import tell_effort
from ..messages.index import anchor, packed
from ..messages.row import Label, Row
from ..types import Cause, Fix
from . import Change, Remedy
from .find import BEGINNING, SIZE, SOURCE

_FIX = tuple(item.name for item in fields(Fix))
_LEAVE = "leave out "
_NOBODY = Label("", "", "", "any", True, "read")


def pack(remedies: Iterable[Remedy], clients: set[tuple[str, str]]) -> bytes:
    """Return the form in which a compiled corpus holds remedies.

    Args:
        remedies: Of all packages. Those that keep a cause's fixes are packed as well: a longer message may hold a shorter one.
        clients: Package and template of messages that answer a request: no server is started anew for their fixes.
    """
    known = [remedy for remedy in remedies if len(anchor(remedy.template)) >= BEGINNING]
    rows = [Row(remedy.package, remedy.template, "", "", "", "", 0, "", "", _NOBODY) for remedy in known]
    fixes = {
        (remedy.package, remedy.template): marshal.dumps(_fixes(remedy, (remedy.package, remedy.template) in clients))
        for remedy in known
        if remedy.changes
    }
    begins = {anchor(remedy.template)[:BEGINNING] for remedy in known if remedy.changes}
    sums = array("I", sorted({crc32(begin.encode()) for begin in begins})).tobytes()
    return len(sums).to_bytes(SIZE, "little") + sums + marshal.dumps((packed(rows), fixes))


def _fixes(remedy: Remedy, of_client: bool) -> tuple[str, list[tuple[object, ...]]]:
    cause = Cause(id="", title="", summary="", fixes=tuple(map(_fix, remedy.changes)))
    tell_effort(cause, "client" if of_client else "server")
    path = f"{remedy.package}/{remedy.path}"
    return path, [tuple(getattr(fix, name) for name in _FIX) for fix in cause.fixes]


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
    return Fix(change.title, change.kind, change.change, change.why, "none", option=option, value=value, source=SOURCE)
