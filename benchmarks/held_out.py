"""How often the first fix is right where nobody has read a cause: its rules, catalogue rows, fixes and remedies are hidden.

``python benchmarks/held_out.py --references REFERENCE.jsonl LOGS.jsonl[.xz] …`` takes some minutes for 500 logs. A reference is a row with
``set`` and ``id`` of a log (``set`` is the file's name without its endings, a log's row has ``id`` and ``text``), and with patterns over a
fix's title and change: ``right``, ``fair``, ``trap``, each a list of ``{"re": …, "min": …, "max": …}`` (``min`` and ``max`` bound the number
that group 1 captures). Printed are the shares with everything in sight and with the cause hidden, for causes of at least two logs.
``first``: the first fix is right; ``trap``: one of the first three is refuted by the log or harmful; ``none``: no fix is shown.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.report.model import Report
from vllm_triage.corpus.records import replace

SHOWN = 3
"""Fixes of an answer that are judged."""
NOT_HELD = frozenset({"unknown", "no_failure"})
"""Buckets that hide nothing: no rule decided."""


@dataclass(frozen=True)
class Grade:
    """How an answer's fixes stand to its reference: ``right``, ``fair``, ``trap``, ``other`` each; none where none is shown."""

    cause: str
    decided_by: str
    fixes: tuple[str, ...]

    @property
    def first(self) -> str:
        """Grade of the first fix."""
        return self.fixes[0] if self.fixes else "none"


class HiddenCorpus:
    """A corpus in which one cause was never written: neither its fixes, nor the messages that stand for it, nor any remedy."""

    def __init__(self, corpus: Any, cause: str) -> None:
        self._corpus = corpus
        self._cause = cause

    def __getattr__(self, name: str) -> Any:
        return getattr(self._corpus, name)

    def bucket(self, name: str) -> Any:
        """Return a bucket without the hidden cause."""
        bucket = self._corpus.bucket(name)
        return replace(bucket, causes=tuple(one for one in bucket.causes if f"{name}/{one.id}" != self._cause))

    def messages(self) -> Any:
        """Return the catalogue without the rows of the hidden cause."""
        return _HiddenMessages(self._corpus.messages(), self._cause)

    def remedies(self) -> Any:
        """Return remedies that know no message."""
        return _NoRemedies()


class _HiddenMessages:
    def __init__(self, matcher: Any, cause: str) -> None:
        self._matcher = matcher
        self._cause = cause

    def __getattr__(self, name: str) -> Any:
        return getattr(self._matcher, name)

    def find(self, text: str) -> Any:
        return [
            match
            for match in self._matcher.find(text)
            if f"{match.row.label.bucket}/{match.row.label.cause}" != self._cause
        ]


class _NoRemedies:
    def find(self, *_: object) -> None:
        return None


def hidden(cause: str) -> Triage:
    """Return a library in which nobody has written this cause."""
    triage = Triage(without=[cause])
    triage.corpus = HiddenCorpus(triage.corpus, cause)  # type: ignore[assignment]
    return triage


def main(argv: Sequence[str] | None = None) -> int:
    """Print the shares, then those by who decided once the cause was hidden."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("logs", type=Path, nargs="+", metavar="FILE", help="logs as JSON lines")
    parser.add_argument("--references", type=Path, required=True, metavar="FILE")
    parser.add_argument("--least", type=int, default=2, metavar="N", help="logs that a cause must have (default: 2)")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="write a JSON line for each hidden answer")
    options = parser.parse_args(argv)
    texts = {(_name(path), row["id"]): row["text"] for path in options.logs for row in _rows(path)}
    references = [row for row in _rows(options.references) if (row["set"], row["id"]) in texts]
    whole = Triage()
    plain = [grade(whole.report(texts[row["set"], row["id"]]), row) for row in references]
    by_cause: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(plain):
        if one.cause.partition("/")[0] not in NOT_HELD:
            by_cause[one.cause].append(index)
    by_cause = {cause: held for cause, held in by_cause.items() if len(held) >= options.least}
    known = whole.corpus.causes()
    after: dict[int, Grade] = {}
    for cause, held in by_cause.items():
        triage = hidden(cause if cause in known else cause.partition("/")[0])
        for index in held:
            row = references[index]
            after[index] = grade(triage.report(texts[row["set"], row["id"]]), row)
    print(f"{len(after)} logs of {len(by_cause)} causes")
    print("in sight  ", _shares(plain[index] for index in after))
    print("hidden    ", _shares(after.values()))
    for way in sorted({one.decided_by for one in after.values()}):
        print(f"  {way:8}", _shares(one for one in after.values() if one.decided_by == way))
    if options.rows:
        with options.rows.open("w") as file:
            for index, one in sorted(after.items()):
                row = references[index]
                told = {"set": row["set"], "id": row["id"], "before": plain[index].cause, "after": one.cause}
                file.write(json.dumps(told | {"decided_by": one.decided_by, "fixes": one.fixes}) + "\n")
    return 0


def grade(report: Report, reference: Mapping[str, Any]) -> Grade:
    """Hold the first fixes of an answer against its reference."""
    texts = [f"{fix.title} :: {fix.change or ''}" for fix in report.fixes[:SHOWN]]
    return Grade(report.cause, report.decided_by, tuple(_grade(text, reference) for text in texts))


def _grade(text: str, reference: Mapping[str, Any]) -> str:
    right, trap = _holds(reference["right"], text), _holds(reference["trap"], text)
    if right != trap:
        return "right" if right else "trap"
    return "fair" if right or _holds(reference["fair"], text) else "other"


def _holds(patterns: Iterable[Mapping[str, Any]], text: str) -> bool:
    for pattern in patterns:
        for found in re.finditer(pattern["re"], text, re.IGNORECASE):
            low, high = pattern.get("min"), pattern.get("max")
            if low is None and high is None:
                return True
            try:
                value = float(found[1].replace(",", ""))
            except (IndexError, AttributeError, ValueError):
                return True
            if (low is None or value >= low) and (high is None or value <= high):
                return True
    return False


def _shares(grades: Iterable[Grade]) -> str:
    rows = list(grades)
    count = Counter(one.first for one in rows)
    shown = len(rows) - count["none"]
    traps = sum("trap" in one.fixes for one in rows)
    parts = [
        f"n {len(rows):4}",
        f"first {count['right'] / max(1, len(rows)):.3f}",
        f"none {count['none'] / max(1, len(rows)):.3f}",
    ]
    parts += [f"first of shown {count['right'] / max(1, shown):.3f}", f"trap in three {traps / max(1, len(rows)):.3f}"]
    return "  ".join(parts)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as file:
        yield from map(json.loads, file)


def _name(path: Path) -> str:
    return path.name.partition(".")[0]


if __name__ == "__main__":
    sys.exit(main())
