"""From what was mined to the rows of the catalogue: labels that somebody gave stay, all else is labelled by its place."""

from __future__ import annotations

from collections.abc import Iterable

from ...corpus.messages.place import by_place
from ...corpus.messages.row import Row
from .collect import Entry


def merged(package: str, entries: Iterable[Entry], known: Iterable[Row], newest: str) -> list[Row]:
    """Return the rows of a package.

    Args:
        package: Distribution.
        entries: What was mined now.
        known: Its rows so far: their labels are kept where somebody read the message.
        newest: The newest release that was mined; a message that it has says no last release.
    """
    labels = {row.template: row.label for row in known if row.label.by != "place"}
    rows = []
    for entry in entries:
        path, function = entry.sites[0]
        path = (path.partition("/")[2] or path).removesuffix(".py")
        name = "" if entry.kind == "assert" else entry.name
        label = labels.get(entry.template) or by_place(package, path, entry.kind, name)
        last = "" if entry.last == newest else entry.last
        rows.append(
            Row(package, entry.template, entry.kind, name, path, function, len(entry.sites), entry.first, last, label)
        )
    return rows
