"""How sure each way of deciding may be: what it says, held against how often it is right, and with ``--write`` what it says from now on.

``python benchmarks/calibrate.py --cases FILE…`` reads labelled logs (JSONL: ``id``, ``text``, ``bucket``, perhaps ``also``), each as it
is and with its message or its words hidden (``benchmarks/unseen.py``); without ``--cases`` the logs of the repository. Logs that rules
were written from tell how sure a way is when its rules are there, hidden ones when they are not; a log that nobody has seen may be
either, so hidden ones count, but less. What stands for new logs is the error held out: each fifth of the logs by numbers that
the other four gave, the logs of one thread or file in one fifth. ``--folds`` names models that have not seen the hidden rules.
"""

from __future__ import annotations

import argparse
import re
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.damage import cases
from tests.damaged import Log, recorded, written
from tests.hidden import Hider, Way
from vllm_triage.classifier.verdict import measured

HIDDEN: dict[Way, float] = {"message": 0.4, "words": 0.1}
"""What a hidden log counts for against one in full sight: with these, logs of users are answered at 0.89, as first looks are."""
FIFTHS, BINS = 5, 10
ENOUGH = 10
"""Answers of a way from which on they tell how sure it is; a way of fewer keeps its number."""
LEAST, MOST = 0.05, 0.97
"""Bounds of what is written: the most is below what a certain rule says."""
EVEN = 0.5
"""The chance above which the text model's probability is trusted in part."""
_PART = re.compile(r"[@#\-]\w*$")
"""Which excerpt of a thread or a file it is."""


@dataclass(frozen=True)
class Seen:
    """One answer to a labelled log."""

    way: str
    confidence: float
    right: bool
    hidden: Way | None
    group: str
    """The thread or file that the log is from."""

    @property
    def weight(self) -> float:
        """What it counts for."""
        return HIDDEN[self.hidden] if self.hidden else 1.0


Numbers = dict[str, float]
"""By way: what is added to a confidence, or for the text model the factor of what is above an even chance."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print what each way says and how often it is right, then the errors."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--cases", type=Path, nargs="+", default=[], metavar="FILE", help="labelled logs")
    parser.add_argument(
        "--test", type=Path, nargs="+", default=[], metavar="FILE", help="others, scored by the numbers"
    )
    parser.add_argument("--folds", type=Path, metavar="FOLDER", help="models that have not seen the hidden rules")
    parser.add_argument("--write", action="store_true", help="write classifier/verdict/measured.py")
    options = parser.parse_args(argv)
    logs = [log for path in options.cases for log in cases(path)] or [*written(), *recorded()]
    hider = Hider(str(folder) for folder in sorted(options.folds.iterdir())) if options.folds else Hider()
    seen = list(answers(logs, hider))
    numbers = fitted(seen)
    print(f"{'way':26}{'sight':>6}{'hidden':>7}{'right':>7}{'says':>7}{'to say':>8}")
    for way, items in sorted(by_way(seen).items(), key=lambda item: (-len(item[1]), item[0])):
        sight = sum(item.hidden is None for item in items)
        share, says = shares(items)
        now = (
            f"{sum(item.weight * moved(item, numbers) for item in items) / weight(items):8.2f}"
            if way in numbers
            else ""
        )
        print(f"{way:26}{sight:6}{len(items) - sight:7}{share:7.2f}{says:7.2f}{now}")
    apart = held_out(seen)
    parts = {
        "in sight and hidden": apart,
        "in sight": [pair for pair in apart if pair[0].hidden is None],
        "message hidden": [pair for pair in apart if pair[0].hidden == "message"],
    }
    for name, some in parts.items():
        before = error((item, item.confidence) for item, _ in some)
        print(
            f"{name}: {len(some)} answers, calibration error {before:.3f} as it is, {error(some):.3f} fitted, held out"
        )
    if options.test:
        shipped = Hider()
        others = [plain(log, shipped) for path in options.test for log in cases(path)]
        before = error((item, item.confidence) for item in others)
        print(
            f"others: {len(others)}, calibration error {before:.3f}, {error((i, moved(i, numbers)) for i in others):.3f} fitted"
        )
        for way, items in sorted(by_way(others).items(), key=lambda item: (-len(item[1]), item[0])):
            right, says = (sum(i.right for i in items), sum(moved(i, numbers) for i in items))
            print(f"    {way:26}{len(items):4} right {right / len(items):.2f} fitted {says / len(items):.2f}")
    if options.write:
        Path(measured.__file__).write_text(module(numbers), encoding="utf-8")
    return 0


def answers(logs: Iterable[Log], hider: Hider) -> Iterator[Seen]:
    """Yield the answers to logs as they are, then those where something is hidden."""
    shipped, logs = Hider(), list(logs)
    for log in logs:
        yield plain(log, shipped)
    for way in HIDDEN:
        for item in hider.answers(logs, way):
            right = item.outcome == "right"
            yield Seen(item.answer.way, item.answer.confidence, right, way, group(item.name))


def plain(log: Log, hider: Hider) -> Seen:
    """Return the answer to a log with everything in sight."""
    answer = hider.plain(log)
    return Seen(answer.way, answer.confidence, answer.bucket in log.accepted, None, group(log.name))


def group(name: str) -> str:
    """Return the thread or file that an excerpt is from."""
    return _PART.sub("", name)


def by_way(seen: Iterable[Seen]) -> dict[str, list[Seen]]:
    """Return the answers of each way."""
    found: dict[str, list[Seen]] = defaultdict(list)
    for item in seen:
        found[item.way].append(item)
    return found


def weight(seen: Iterable[Seen]) -> float:
    """Return what answers count for together."""
    return sum(item.weight for item in seen)


def shares(seen: Sequence[Seen]) -> tuple[float, float]:
    """Return the share of answers that are right, one of each added for what was not seen yet, and the mean confidence."""
    total = weight(seen)
    right = sum(item.weight for item in seen if item.right)
    return (right + 1) / (total + 2), sum(item.weight * item.confidence for item in seen) / total


def fitted(seen: Iterable[Seen]) -> Numbers:
    """Return what makes the mean confidence of each way the share of its answers that are right.

    Only ways that name a failure have such numbers. Rules that know their words are left as they are: on logs that they were written
    from they are always right. So are 'unknown' and 'no failure': what is hidden is always a failure, and never shows them right.
    """
    numbers: Numbers = {}
    for way, items in by_way(seen).items():
        share, says = shares(items)
        if len(items) < ENOUGH:
            continue
        if way in measured.SURE:
            numbers[way] = share - says
        elif way in measured.TRUST:
            numbers[way] = max(0.0, (share - EVEN) / (says - EVEN)) if says > EVEN else 1.0
    return numbers


def moved(item: Seen, numbers: Numbers) -> float:
    """Return the confidence of an answer by new numbers."""
    if item.way in measured.TRUST and item.way in numbers:
        return EVEN + min(1 / measured.TRUST[item.way], numbers[item.way]) * (item.confidence - EVEN)
    return min(MOST, max(LEAST, item.confidence + numbers[item.way])) if item.way in numbers else item.confidence


def held_out(seen: Sequence[Seen]) -> list[tuple[Seen, float]]:
    """Return the answers with the confidence that the other four fifths give them."""
    found = []
    for fifth in range(FIFTHS):
        own = [item for item in seen if zlib.crc32(item.group.encode()) % FIFTHS == fifth]
        numbers = fitted(item for item in seen if zlib.crc32(item.group.encode()) % FIFTHS != fifth)
        found += [(item, moved(item, numbers)) for item in own]
    return found


def error(said: Iterable[tuple[Seen, float]]) -> float:
    """Return the expected calibration error over ten bins, hidden logs counting less."""
    bins: dict[int, float] = defaultdict(float)
    total = 0.0
    for item, confidence in said:
        bins[min(BINS - 1, int(confidence * BINS))] += item.weight * (confidence - item.right)
        total += item.weight
    return sum(abs(gap) for gap in bins.values()) / total if total else 0.0


def module(numbers: Numbers) -> str:
    """Return the text of ``classifier/verdict/measured.py`` with new numbers."""
    before = Path(measured.__file__).read_text(encoding="utf-8")

    def number(found: re.Match[str]) -> str:
        way, value = found["way"], float(found["value"])
        if way in measured.TRUST:
            value = min(1.0, value * numbers.get(way, 1.0))
        else:
            value = min(MOST, max(LEAST, value + numbers.get(way, 0.0)))
        return f'    "{way}": {round(value, 2)},'

    return re.sub(r'^    "(?P<way>\w+)": (?P<value>[\d.]+),$', number, before, flags=re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main())
