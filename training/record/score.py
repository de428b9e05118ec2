"""How the recorded logs are answered: `python -m vllm_triage.training.record score`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...classifier.api import Triage, shared
from .forms import FORMS, Form, Lines, joined, numbered
from .publish import INDEX, RECORDED, VERDICT, long_times

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

    @property
    def right(self) -> bool:
        """The cause, and the line that proves it."""
        return self.accepted and self.evident


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; 0 if no healthy log raises an alarm and nothing is missed."""
    options = _parser().parse_args(argv)
    examples = [
        example
        for example in read_examples(options.folder)
        if not options.release or example.release in options.release
    ]
    forms = {name: FORMS[name] for name in options.form or FORMS}
    triage = shared()
    others = list(read_examples(options.folder))
    answers = [
        marked
        for name, form in forms.items()
        for example in examples
        if (marked := ask(triage, example, name, form, others))
    ]
    for name in forms:
        print(f"\n{name}")
        _table([answer for answer in answers if answer.form == name])
    misses = [answer for answer in answers if not answer.right]
    if options.misses:
        print()
        for miss in misses:
            print(
                f"{miss.form}: {miss.example.file}: {miss.example.bucket} -> {miss.cause}"
                f"{'' if not miss.accepted else ', but not the line'}  | {miss.shown[:150]}"
            )
    return 1 if misses else 0


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


def _table(answers: Sequence[Marked]) -> None:
    print(f"{'release':10} {'failing':>8} {'accepted':>14} {'with evidence':>14} {'healthy':>8} {'alarms':>7}")
    releases = list(dict.fromkeys(answer.example.release for answer in answers))
    for release in [*releases, "all"]:
        of = [answer for answer in answers if release in ("all", answer.example.release)]
        failing = [answer for answer in of if answer.example.failing]
        healthy = [answer for answer in of if not answer.example.failing]
        accepted, right = sum(answer.accepted for answer in failing), sum(answer.right for answer in failing)
        print(
            f"{release:10} {len(failing):8} {_share(accepted, failing):>14} {_share(right, failing):>14}"
            f" {len(healthy):8} {sum(not answer.accepted for answer in healthy):7}"
        )


def _share(count: int, of: Sequence[object]) -> str:
    return f"{count} = {count / len(of):.3f}" if of else "-"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vllm_triage.training.record score",
        description="Diagnose the recorded logs, also wrapped, cut and interleaved, and compare with what they must be answered with.",
    )
    parser.add_argument("--release", nargs="+", default=[], metavar="X", help="only these releases")
    parser.add_argument("--form", nargs="+", default=[], choices=list(FORMS), help="only these forms")
    parser.add_argument("--misses", action="store_true", help="list what is answered wrongly")
    parser.add_argument("--folder", type=Path, default=RECORDED, help="logs with their index (default: %(default)s)")
    return parser
