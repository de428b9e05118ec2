"""``python -m vllm_triage.training.patience``: writes corpus/patience.json from the recorded logs without a failure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from ...classifier.api import triage
from ...classifier.report.model import Report
from ...classifier.serving.clock import Clock
from ...classifier.serving.types import UNTOLD
from ...classifier.standstill.limits import FLOOR
from ...classifier.standstill.patience import LEARNT

RECORDED = Path(__file__).resolve().parents[2] / "corpus" / "logs" / "recorded"
FRONT = 160
"""Bytes of a line in which its stamp stands."""
LONGEST = 3600.0
"""Seconds between two stamps beyond which they are of two clocks."""


def learn() -> dict[str, dict[str, float]]:
    """Return, by stage, how many starts showed it, and in seconds how long it took and was silent."""
    took: dict[str, list[float]] = defaultdict(list)
    silence: dict[str, float] = defaultdict(float)
    for path in healthy():
        report = triage(path)
        for span in report.startup.stages:
            if span.seconds is not None:
                took[span.stage].append(span.seconds)
        for stage, gap in _gaps(path, report):
            silence[stage] = max(silence[stage], gap)
    return {stage: _row(sorted(took[stage]), silence[stage]) for stage in FLOOR if took[stage] and stage != "serving"}


def healthy() -> Iterator[Path]:
    """Yield the recorded logs of servers in which nothing was broken."""
    with (RECORDED / "index.jsonl").open(encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            if row["bucket"] == "no_failure":
                yield RECORDED / row["file"]


def _row(seconds: list[float], silence: float) -> dict[str, float]:
    count = len(seconds)
    return {
        "starts": count,
        "median": seconds[count // 2],
        "nine_of_ten": seconds[min(count - 1, count * 9 // 10)],
        "longest": seconds[-1],
        "silence": silence,
    }


def _gaps(path: Path, report: Report) -> Iterator[tuple[str, float]]:
    """Yield the seconds between two lines with a stamp, each with the stage that ran."""
    marks = sorted((span.line, span.stage) for span in report.startup.stages)
    clock, last, stage = Clock(), UNTOLD, "launch"
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        while marks and marks[0][0] < number:
            stage = marks.pop(0)[1]
        now = clock.read(line[:FRONT])
        if now == UNTOLD:
            continue
        if last != UNTOLD and 0 < now - last < LONGEST:
            yield stage, now - last
        last = now


if __name__ == "__main__":
    LEARNT.write_text(json.dumps(learn(), indent=2) + "\n", "utf-8")
