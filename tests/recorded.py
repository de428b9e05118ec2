"""How the recorded logs are answered, as they came and in the forms in which others pass them on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.recorded_forms import Form, Lines, joined, numbered
from vllm_triage.classifier.api import Triage
from vllm_triage.training.record.publish import INDEX, RECORDED, VERDICT, long_times

OTHER = ("healthy-load", "healthy-serve")
"""Which healthy server stands beside a log: the first of these of another release than the log's own."""
HEALTHY = "no_failure"


@dataclass(frozen=True)
class Example:
    """A recorded log with what it must be answered with: one line of the index."""

    file: str
    release: str
    fault: str
    bucket: str
    also: tuple[str, ...]
    evidence_lines: frozenset[int]
    verdict: str
    """`bucket/cause` as the engine must name it; "" where nobody has looked yet."""
    lines: Lines

    @property
    def failing(self) -> bool:
        """Whether something is wrong in this log."""
        return self.bucket != HEALTHY


@dataclass(frozen=True)
class Marked:
    """How one example was answered in one form."""

    example: Example
    form: str
    bucket: str
    cause: str
    accepted: bool
    evident: bool
    """One of the lines that are shown is one that proves it; of a healthy log nothing need be proved."""
    shown: str


def read_examples(folder: Path = RECORDED) -> Iterator[Example]:
    """Yield the recorded logs in the order of the index."""
    for line in (folder / INDEX).read_text(encoding="utf-8").splitlines():
        entry: dict[str, Any] = json.loads(line)
        log = folder / entry["file"]
        times = long_times(log.with_suffix(".times").read_text())
        yield Example(
            file=entry["file"],
            release=entry["release"],
            fault=entry["fault"],
            bucket=entry["bucket"],
            also=tuple(entry["also"]),
            evidence_lines=frozenset(entry["evidence_lines"]),
            verdict=entry.get(VERDICT, ""),
            lines=numbered(log.read_bytes(), times),
        )


def ask(triage: Triage, example: Example, name: str, form: Form, examples: Sequence[Example]) -> Marked | None:
    """Return how an example is answered in a form; None if the form leaves nothing that could prove it."""
    lines = form(example.lines, _other(example, examples))
    if example.failing and not any(line.number in example.evidence_lines for line in lines):
        return None
    answer = triage.report(joined(lines))
    shown = [lines[item.line - 1].number for item in answer.evidence]
    return Marked(
        example=example,
        form=name,
        bucket=answer.bucket,
        cause=answer.cause,
        accepted=answer.bucket in (example.bucket, *example.also),
        evident=answer.bucket == HEALTHY or bool(example.evidence_lines.intersection(shown)),
        shown=" ".join(answer.evidence[0].text.split()) if answer.evidence else "",
    )


def _other(example: Example, examples: Sequence[Example]) -> Lines:
    fitting = [other for other in examples if other.release != example.release and other.fault in OTHER]
    return min(fitting, key=lambda other: OTHER.index(other.fault)).lines if fitting else []
