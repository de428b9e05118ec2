"""What is learnt from a user's own logs: rows with their secrets masked, copies told apart, doubts put into words."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ...classifier.masking.mask import mask
from ..examples.labelled import Case, bucket_id
from ..examples.terms import read_units
from ..progress import track

UNITS = 2
"""Exceptions or errors of a log that are learnt from: the likeliest roots."""
FEW = 5
"""Different failures below which a bucket is warned about."""
_NAMES = re.compile(r"(?<![\w./\\:-])(?:(?:[\w-]+\.)+[a-z]{2,}(?![\w.(])|(?=[a-z-]*\d)[a-z0-9]+(?:-[a-z0-9]+)*\b)")
"""Names of machines, ids, versions; of an exception the last part has capitals."""
ALIKE = 0.9
"""Share of common terms from which on two logs count as copies of one failure."""


@dataclass(slots=True, frozen=True)
class OwnRow:
    """What is learnt from one log."""

    case: Case
    bucket: str
    units: tuple[tuple[str, ...], ...]
    """The terms of its likeliest roots."""
    nameless: tuple[str, ...] = ()
    """The terms of the likeliest one without names of machines."""
    group: int = 0
    """Copies of one failure have the same."""


@dataclass(slots=True)
class OwnSet:
    """The rows of a training, and what is to be said about them."""

    rows: list[OwnRow] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    """Titles of the buckets that no rule file has."""
    warnings: list[str] = field(default_factory=list)
    copies: int = 0
    """Logs that are copies of another."""

    @property
    def buckets(self) -> list[str]:
        """The buckets learnt."""
        return sorted({row.bucket for row in self.rows})

    def groups(self, bucket: str) -> int:
        """Return how many different failures of a bucket there are."""
        return len({row.group for row in self.rows if row.bucket == bucket})

    def sha256(self) -> str:
        """Return the digest that names the training set."""
        told = sorted((row.bucket, row.units) for row in self.rows)
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def own_set(cases: Sequence[Case], known: Iterable[str]) -> OwnSet:
    """Read cases into rows; secrets are masked before anything is looked at.

    Args:
        cases: The labelled logs.
        known: Buckets that there are.
    """
    made, known = OwnSet(), set(known)
    made.titles, names = _names(cases, known, made.warnings)
    silent: list[Case] = []
    rows: list[OwnRow] = []
    untold = 0
    for case in track(cases, "reading logs"):
        if not case.bucket:
            untold += 1
            continue
        text = "\n".join(mask(line) for line in case.whole().split("\n"))
        roots = _roots(text, case.stage)
        if roots:
            rows.append(OwnRow(case, names[case.bucket], roots, (_roots(_nameless(text), case.stage) or roots)[0]))
        else:
            silent.append(case)
    if untold:
        made.warnings.append(f"{untold} rows of feedback say 'wrong' but not what it was: left out")
    if silent:
        told = f"{len(silent)} logs show no failure that could be read, so nothing can be learnt from them"
        made.warnings.append(f"{told}: {_some(silent)}")
    grouped = _grouped(rows)
    made.rows = _without_contradictions(grouped, made.warnings)
    made.copies = len(made.rows) - len({row.group for row in made.rows})
    for bucket in made.buckets:
        if (count := made.groups(bucket)) < FEW:
            told = "one failure" if count == 1 else f"{count} different failures"
            made.warnings.append(f"{bucket}: only {told}; expect little from fewer than {FEW}")
    return made


def _roots(text: str, stage: str) -> tuple[tuple[str, ...], ...]:
    """Return the terms of a log's likeliest roots; none where the classifier would find nothing to judge."""
    return tuple(tuple(sorted(unit.terms)) for unit in read_units(text, stage)[:UNITS])


def _names(cases: Sequence[Case], known: set[str], warnings: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the titles of new buckets, and the id of each label: what is no id becomes one, the label its title."""
    from difflib import get_close_matches

    titles: dict[str, str] = {}
    names: dict[str, str] = {}
    for label in sorted({case.bucket for case in cases if case.bucket}):
        name = bucket_id(label)
        names[label] = name
        if name in known:
            continue
        words = label.replace("_", " ").replace("-", " ").strip()
        titles[name] = words[:1].upper() + words[1:]
        near = get_close_matches(name, sorted(known), 1, 0.85)
        hint = f"; did you mean {near[0]}?" if near else ""
        warnings.append(f"{name} is a new bucket: no rule file has it, so answers come without fixes{hint}")
    return titles, names


def _grouped(rows: Sequence[OwnRow]) -> list[OwnRow]:
    """Return the rows with their groups: same group by label of the data, or nearly the same terms; in one bucket, names aside."""
    groups: list[int] = []
    named: dict[str, int] = {}
    firsts: list[tuple[frozenset[str], frozenset[str], str, int]] = []
    for row in rows:
        found = named.get(row.case.group) if row.case.group else None
        first, plain = _compared(row.units[0]), _compared(row.nameless)
        if found is None:
            for other, words, bucket, group in firsts:
                if _alike(first, other) or (bucket == row.bucket and _alike(plain, words)):
                    found = group
                    break
        if found is None:
            found = len(firsts)
            firsts.append((first, plain, row.bucket, found))
        if row.case.group:
            named.setdefault(row.case.group, found)
        groups.append(found)
    return [replace(row, group=group) for row, group in zip(rows, groups, strict=True)]


def _compared(terms: Iterable[str]) -> frozenset[str]:
    # How far the start had got differs between copies of one failure.
    return frozenset(term for term in terms if not term.startswith("s:"))


def _nameless(text: str) -> str:
    """Return a log without names of machines, ids and versions in its messages: copies of one failure differ in them."""
    lines = text.split("\n")
    return "\n".join(line if line.lstrip().startswith('File "') else _NAMES.sub("name", line) for line in lines)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    small, large = sorted((len(one), len(other)))
    return small >= ALIKE * large and len(one & other) >= ALIKE * len(one | other)


def _without_contradictions(rows: list[OwnRow], warnings: list[str]) -> list[OwnRow]:
    """Leave out copies that are labelled otherwise than most; all, where there is no majority."""
    by_group: dict[int, list[OwnRow]] = defaultdict(list)
    for row in rows:
        by_group[row.group].append(row)
    kept: list[OwnRow] = []
    for items in by_group.values():
        counts = Counter(row.bucket for row in items).most_common()
        if len(counts) == 1:
            kept += items
            continue
        told = ", ".join(
            f"{bucket} ({next(row.case.where for row in items if row.bucket == bucket)})" for bucket, _ in counts
        )
        clear = counts[0][1] > counts[1][1]
        taken = f"taken as {counts[0][0]}, like most" if clear else "all left out"
        warnings.append(f"contradictory labels of copies of one failure: {told}; {taken}")
        kept += [row for row in items if clear and row.bucket == counts[0][0]]
    order = {id(row): place for place, row in enumerate(rows)}
    return sorted(kept, key=lambda row: order[id(row)])


def _some(cases: Sequence[Case], most: int = 3) -> str:
    more = f" and {len(cases) - most} more" if len(cases) > most else ""
    return ", ".join(case.where for case in cases[:most]) + more
