"""From what was mined to the rows of the catalogue: labels that somebody gave stay, all else is labelled by its place."""

from __future__ import annotations

from collections.abc import Iterable

from ...corpus.messages.place import by_place, catalogued
from ...corpus.messages.row import Row
from .collect import Entry

VLLM = "vllm"


def merged(package: str, entries: Iterable[Entry], known: Iterable[Row], newest: str) -> list[Row]:
    """Return the rows of a package.

    Args:
        package: Distribution.
        entries: What was mined now.
        known: Its rows so far: labels are kept where the place did not give them, and texts of native libraries as they are.
        newest: The newest release that was mined; a message that it has says no last release.
    """
    known = list(known)
    labels = {row.template: row.label for row in known if row.label.by != "place"}
    rows = [row for row in known if row.kind == "native"]
    native = {row.template for row in rows}
    for entry in entries:
        path, function = entry.sites[0]
        path = (path.partition("/")[2] or path).removesuffix(".py")
        if entry.template in native or not wanted(package, path, entry):
            continue
        name = "" if entry.kind == "assert" else entry.name
        label = labels.get(entry.template) or by_place(package, path, entry.kind, name)
        last = "" if entry.last == newest else entry.last
        rows.append(
            Row(package, entry.template, entry.kind, name, path, function, len(entry.sites), entry.first, last, label)
        )
    return rows


def wanted(package: str, path: str, entry: Entry) -> bool:
    """Return whether a message goes into the catalogue.

    Of vLLM all do. Of the packages around it: those of the modules in places.toml, without warnings, and without assertions,
    which speak to their own developers; plug-ins' assertions are kept.
    """
    if package == VLLM:
        return True
    if entry.kind == "log" and entry.name == "WARNING":
        return False
    if entry.kind == "assert" and not package.startswith(VLLM):
        return False
    return catalogued(package, path)
