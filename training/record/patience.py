"""``python -m vllm_triage.training.record.patience``: writes corpus/patience.json from the recorded logs without a failure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from ...classifier.api import triage
from ...classifier.standstill.limits import FLOOR
from ...classifier.standstill.patience import LEARNT
from .publish import long_times

RECORDED = Path(__file__).resolve().parents[2] / "corpus" / "logs" / "recorded"


def learn() -> dict[str, dict[str, float]]:
    """Return, by stage, how many starts showed it, and in seconds how long it took and was silent."""
    took: dict[str, list[float]] = defaultdict(list)
    silence: dict[str, float] = defaultdict(float)
    for path in healthy():
        for stage, seconds, longest in spans(path):
            took[stage].append(seconds)
            silence[stage] = max(silence[stage], longest)
    return {stage: _row(sorted(took[stage]), silence[stage]) for stage in FLOOR if took[stage] and stage != "serving"}


def healthy() -> Iterator[Path]:
    """Yield the recorded logs of servers in which nothing was broken, of those whose arrival times were kept."""
    with (RECORDED / "index.jsonl").open(encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            path = RECORDED / row["file"]
            if row["bucket"] == "no_failure" and path.with_suffix(".times").exists():
                yield path


def spans(path: Path) -> Iterator[tuple[str, float, float]]:
    """Yield the stages of the last start in a recorded log: name, seconds that it took, longest time without a line."""
    times = [at / 1000 for at in long_times(path.with_suffix(".times").read_text("utf-8"))]
    if not times:
        return
    marks = sorted((span.line, span.stage) for span in triage(path).startup.stages)
    ends = [line for line, _ in marks[1:]]
    for (line, stage), end in zip(marks, ends, strict=False):
        own = times[line - 1 : end]
        if len(own) > 1:
            yield stage, round(own[-1] - own[0], 1), round(max(later - earlier for earlier, later in pairwise(own)), 1)


def _row(seconds: list[float], silence: float) -> dict[str, float]:
    count = len(seconds)
    return {
        "starts": count,
        "median": seconds[count // 2],
        "nine_of_ten": seconds[min(count - 1, count * 9 // 10)],
        "longest": seconds[-1],
        "silence": silence,
    }


if __name__ == "__main__":
    LEARNT.write_text(json.dumps(learn(), indent=2) + "\n", "utf-8")
