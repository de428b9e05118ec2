"""All releases in one table: for each name the releases that know it, and what changed on the way.

A name's entry holds ``on``, the runs of releases that know it (``[[0, 12], [15, 40]]``: numbers of releases, first and
last), and for each attribute the releases at which it changed (``"default": [[0, "fork"], [31, "spawn"]]``; before the
first and where the value is missing, the attribute is not there). Nothing is lost: ``unpack`` gives each release back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...corpus.options import TABLE
from ..progress import track
from .release import SECTIONS, Release, mine
from .source import Tree

FILE = TABLE
FORMAT = 1
"""Raise it with every change to what is mined: releases that an older miner read are then read again."""


def made(archives: Mapping[str, Path]) -> bytes:
    """Return the file of these releases; those that the present one has are not mined again.

    Raises:
        MiningError: A release is written in a way that the miner does not know.
    """
    table = Path(FILE)
    known = unpack(json.loads(table.read_text(encoding="utf-8"))) if table.exists() else {}
    missing = [version for version in archives if version not in known]
    known |= {version: mine(Tree.from_archive(archives[version])) for version in track(missing, "mining options")}
    return text(pack({version: known[version] for version in archives})).encode()


def pack(releases: dict[str, Release]) -> dict[str, Any]:
    """Return the table of ``releases``, which stand in order, oldest first."""
    table: dict[str, Any] = {"format": FORMAT, "releases": list(releases)}
    for section in SECTIONS:
        columns = [release[section] for release in releases.values()]
        names = sorted({name for column in columns for name in column})
        table[section] = {name: entry_of([column.get(name) for column in columns]) for name in names}
    return table


def unpack(table: dict[str, Any]) -> dict[str, Release]:
    """Return the releases that ``table`` was made of; none where another version of the miner made it."""
    if table.get("format") != FORMAT:
        return {}
    versions: list[str] = table["releases"]
    releases: dict[str, Release] = {version: {section: {} for section in SECTIONS} for version in versions}
    for section in SECTIONS:
        for name, entry in table[section].items():
            for first, last in entry["on"]:
                for place in range(first, last + 1):
                    releases[versions[place]][section][name] = _attributes(entry, place)
    return releases


def text(table: dict[str, Any]) -> str:
    """Return the table as JSON with one name a line, so that a change of it can be reviewed."""
    lines = [f'"format":{table["format"]},', f'"releases":{compact(table["releases"])},']
    for section in SECTIONS:
        entries = [f"{compact(name)}:{compact(entry)}" for name, entry in table[section].items()]
        ending = "}" if section == SECTIONS[-1] else "},"
        lines += [f'"{section}":{{', *[f"{entry}," for entry in entries[:-1]], *entries[-1:], ending]
    return "{\n" + "\n".join(lines) + "\n}\n"


def entry_of(column: list[dict[str, Any] | None]) -> dict[str, Any]:
    """Return a name's entry.

    Args:
        column: The name's attributes in each release, oldest first; None where the release does not know it.
    """
    known = [place for place, cell in enumerate(column) if cell is not None]
    runs: list[list[int]] = []
    for place in known:
        if runs and runs[-1][1] == place - 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    entry: dict[str, Any] = {"on": runs}
    for word in sorted({word for cell in column for word in cell or ()}):
        changes: list[list[Any]] = []
        last: tuple[Any, ...] = ()
        for place in known:
            cell = column[place]
            now = (cell[word],) if cell is not None and word in cell else ()
            if compact(now) != compact(last):
                changes.append([place, *now])
                last = now
        entry[word] = changes
    return entry


def _attributes(entry: dict[str, Any], place: int) -> dict[str, Any]:
    found = {}
    for word, changes in entry.items():
        if word != "on":
            past = [change for change in changes if change[0] <= place]
            if past and len(past[-1]) == 2:
                found[word] = past[-1][1]
    return found


def compact(value: object, *, ordered: bool = True) -> str:
    """Return a value as JSON without blanks; ``ordered`` puts its keys in order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=ordered)
