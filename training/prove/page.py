"""Writes docs/lab/proof.md from the rows of what was proved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .faults import Proof

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab" / "proof.md"
Row = Mapping[str, Any]

START = "## First looks"
"""What stands above this heading is written by hand."""
_COLUMNS = (
    "release", "faults", "bucket right", "first fix cures", "one of the first three", "command given", "of these cure",
    "log alone gives one", "refused by the parser", "loses what was right", "lowers security",
)  # fmt: skip


def page(
    rows: Sequence[Row],
    faults: Mapping[str, Proof],
    seen: Iterable[str] = (),
    first: Sequence[Row] = (),
    head: str = "",
) -> str:
    """Return the page.

    Args:
        rows: What was proved, with the rules as they are.
        faults: The catalogue.
        seen: Releases for which rules were changed.
        first: The same as ``rows`` in short, before that.
        head: What stands above the tables.
    """
    looked = set(seen)
    releases = sorted({str(row["release"]) for row in rows}, key=lambda text: [int(part) for part in text.split(".")])
    parts = [
        *_first_looks(first),
        *_by_release(rows, releases, looked),
        *_by_group(rows, releases),
        *_misses(rows, releases),
    ]
    return head + "\n".join([*parts, f"The catalogue holds {len(faults)} faults.", ""])


def written(rows: Sequence[Row], faults: Mapping[str, Proof], seen: Iterable[str], first: Sequence[Row]) -> str:
    """Return docs/lab/proof.md with its tables made anew; the words above them stay."""
    return page(rows, faults, seen, first, PAGE.read_text(encoding="utf-8").partition(START)[0])


def _first_looks(rows: Sequence[Row]) -> list[str]:
    """Return what releases showed before anything was changed for them."""
    if not rows:
        return []
    lines = [
        START, "", "| release | faults | bucket right | first fix cures | one of the first three | command given |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for release in dict.fromkeys(str(row["release"]) for row in rows):
        own = [row for row in rows if row["release"] == release]
        cured = sum(row["cured_by"] == 1 for row in own), sum(row["cured_by"] > 0 for row in own)
        lines.append(
            f"| {release} | {len(own)} | {_share(own, 'right')} | {_part(cured[0], own)} | {_part(cured[1], own)} | "
            f"{_share(own, 'command')} |"
        )
    return [*lines, ""]


def _by_release(rows: Sequence[Row], releases: Sequence[str], seen: set[str]) -> list[str]:
    head = [
        "## By release", "",
        f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}",
    ]  # fmt: skip
    lines = []
    for release in releases:
        own = [row for row in rows if row["release"] == release]
        given = [row for row in own if row["command"]]
        lines.append(
            f"| {release} ({'seen' if release in seen else 'first look'}) | {len(own)} | {_share(own, 'right')} | "
            f"{_part(sum(row['cured_by'] == 1 for row in own), own)} | {_part(sum(row['cured_by'] > 0 for row in own), own)} | "
            f"{_share(own, 'command')} | {_part(sum(row['cured_by'] == 1 for row in given), given)} | {_share(own, 'alone')} | "
            f"{sum(not row['parses'] for row in own)} | {sum(not row['keeps'] for row in own)} | "
            f"{sum(bool(row['unsafe']) for row in own)} |"
        )
    return [*head, *lines, ""]


def _by_group(rows: Sequence[Row], releases: Sequence[str]) -> list[str]:
    head = ["## By what is broken", "", "| faults | release | number | right | first fix cures | first three |"]
    lines = ["|---|---|---|---|---|---|"]
    for group in sorted({str(row["group"]) for row in rows}):
        for release in releases:
            own = [row for row in rows if (row["group"], row["release"]) == (group, release)]
            first, three = sum(row["cured_by"] == 1 for row in own), sum(row["cured_by"] > 0 for row in own)
            lines.append(
                f"| {group} | {release} | {len(own)} | {_share(own, 'right')} | {_part(first, own)} | {_part(three, own)} |"
            )
    return [*head, *lines, ""]


def _misses(rows: Sequence[Row], releases: Sequence[str]) -> list[str]:
    lines = ["## What the first fix does not cure", ""]
    for release in releases:
        missed = [row for row in rows if row["release"] == release and row["cured_by"] != 1]
        if not missed:
            continue
        lines += [
            f"### {release}",
            "",
            "| fault | answer | cured by | first fix, and why it does not cure |",
            "|---|---|---|---|",
        ]
        for row in missed:
            first = row["tried"][0] if row["tried"] else {"title": "no fix", "why_not": ""}
            cause = row["cause"] + ("" if row["right"] else " (wrong)")
            told = _cell(f"{first['title']}: {first['why_not']}")
            lines.append(f"| {_cell(row['broken'])} | {cause} | {row['cured_by'] or '–'} | {told} |")
        lines.append("")
    return lines


def _share(rows: Sequence[Row], name: str) -> str:
    return _part(sum(bool(row[name]) for row in rows), rows)


def _part(count: int, of: Sequence[object]) -> str:
    return f"{count / len(of):.2f} ({count})" if of else "–"


def _cell(text: str) -> str:
    """Return a text for a cell of a table."""
    plain = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return plain if len(plain) <= 220 else plain[:219].rstrip() + " …"
