"""Answers by the references: first fixes before and after they were checked, what was killed, and what does not exist."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...classifier.advice import opinions
from ...classifier.advice.track_record import JUDGED
from ...classifier.api import shared
from ...classifier.errors import InputError
from ...classifier.proposal import Proposal, ProposedFix
from ...classifier.report.model import Report
from ...corpus import options as table
from ...corpus.actions import DropOption, DropVariable, SetOption, SetVariable, written
from ..advice.references import Referenced, read
from .logs import Log

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(?P<inner>.*?)\n?\s*```\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Killed:
    """A proposed fix that the checks withheld."""

    name: str
    title: str
    reason: str
    grade: str


@dataclass(frozen=True)
class Scored:
    """One answer."""

    name: str
    decided_by: str
    confidence: float
    rules: str
    """Grade of the first fix of the rules alone; "" where they show none."""
    before: str
    """Of the model's first fix, unchecked."""
    after: str
    """Of the first of its fixes that is left."""
    shown: str
    """Of the first fix of the joint answer."""
    three: tuple[str, ...]
    """Of the joint answer's first three."""
    proposed: int
    """Fixes that were proposed."""
    later: tuple[str, ...]
    """Of the model's other fixes, unchecked."""
    killed: tuple[Killed, ...]
    problem: str
    invented: int
    """Proposed fixes with an option or variable of vLLM that no release has."""
    invented_shown: int


def print_scores(given: Namespace, logs: Sequence[Log]) -> int:
    """Print the scores of the answers in a folder; return the exit code."""
    answers: Path = given.answers
    references = {Log(one.group, one.id, "").name: one for one in read(given.references, given.logs)}
    scored, unread = [], []
    for log in logs:
        path = answers / f"{log.name}.json"
        reference = references.get(log.name)
        if reference is None or not path.exists():
            continue
        try:
            text = path.read_text(encoding="utf-8")
            fenced = _FENCE.match(text)
            proposal = Proposal.from_json(json.loads(fenced["inner"] if fenced else text, strict=False), given.model)
        except (ValueError, InputError) as error:
            unread.append(f"{log.name}: {error}")
            continue
        scored.append(score(log, reference, proposal))
    print("\n".join(_told(scored, unread, given.list)))
    if given.fit:
        Path(opinions.FILE).write_text(json.dumps(fitted(scored, given.model), indent=1) + "\n", encoding="utf-8")
    return 0


def score(log: Log, reference: Referenced, proposal: Proposal) -> Scored:
    """Return the grades of an answer to a log."""
    text = log.text.encode("utf-8", "surrogateescape")
    alone = shared().report(text)
    report = shared().report(text, proposals=[proposal])
    raw = [reference.grade(_text(fix)) for fix in proposal.fixes]
    grades = [reference.grade(f"{fix.title} :: {fix.change}") for fix in report.fixes]
    left = [grade for grade, fix in zip(grades, report.fixes, strict=True) if "Proposed by " in fix.why]
    by_title = {f"{fix.title} (proposed by {proposal.source})": at for at, fix in enumerate(proposal.fixes)}
    killed = tuple(
        Killed(log.name, item.title, item.reason, raw[by_title[item.title]] if item.title in by_title else "other")
        for item in report.withheld
        if item.proposed_by and not item.reason.startswith(JUDGED)
    )
    told = report.proposals[0] if report.proposals else None
    return Scored(
        log.name, alone.decided_by, proposal.confidence, _first(alone, reference), raw[0] if raw else "", left[0] if left else "",
        grades[0] if grades else "", tuple(grades[:3]), len(raw), tuple(raw[1:]), killed, told.problem if told else "",
        sum(bool(_invented(fix, log)) for fix in proposal.fixes),
        sum(bool(_invented(proposal.fixes[by_title[one.title]], log)) for one in report.fixes if one.title in by_title),
    )  # fmt: skip


def fitted(scored: Sequence[Scored], model: str) -> dict[str, object]:
    """Return the record of proposals: right first fixes and all by way of deciding, and the same of those behind them."""
    counts: dict[str, list[int]] = {}
    later = [grade for one in scored for grade in one.later]
    for one in scored:
        if one.after:
            for key in (opinions.key_of(one.decided_by, one.confidence), ""):
                row = counts.setdefault(key, [0, 0])
                row[0] += one.after == "right"
                row[1] += 1
    return {
        "about": f"{model}, checked, by readers' references of {len(scored)} logs",
        "first": counts,
        "later": {"": [later.count("right"), len(later)]},
    }


def _told(scored: Sequence[Scored], unread: Sequence[str], every: bool) -> Iterator[str]:
    yield f"answers {len(scored)}, of another form {len(unread)}"
    yield from (f"  {line}" for line in unread)
    for name, part in _parts(scored):
        yield f"{name} (n {len(part)})"
        for what, grades in (
            ("rules alone", [one.rules for one in part]), ("model, unchecked", [one.before for one in part]),
            ("model, checked", [one.after for one in part]), ("joint answer", [one.shown for one in part]),
        ):  # fmt: skip
            yield f"  {what:18} {_shares(grades)}"
        refuted = sum("trap" in one.three for one in part)
        yield f"  joint answer: one of three refuted {refuted / max(1, len(part)):.3f}"
    killed = [fix for one in scored for fix in one.killed]
    by_grade = Counter(fix.grade for fix in killed)
    decided = by_grade["trap"] + by_grade["right"]
    yield (
        f"killed {len(killed)} of {sum(one.proposed for one in scored)}: refuted by the reference {by_grade['trap']}, right by it {by_grade['right']}, "
        f"fair {by_grade['fair']}, not in it {by_grade['other']}; truly wrong of those that it decides {by_grade['trap'] / max(1, decided):.3f}"
    )
    for reason, count in Counter(
        re.sub(r"\d[\w.]*|--[\w.-]+|VLLM_\w+", "#", fix.reason) for fix in killed
    ).most_common():
        yield f"  {count:4}  {reason}"
    yield f"answers of which nothing holds: {sum(bool(one.problem) for one in scored)}"
    yield f"fixes with an option that no release has: proposed {sum(one.invented for one in scored)}, shown {sum(one.invented_shown for one in scored)}"
    if every:
        yield from (f"killed {fix.name}: {fix.title} [{fix.grade}]: {fix.reason}" for fix in killed)
        yield from (f"first {one.name}: rules {one.rules or '-'}, before {one.before or '-'}, after {one.after or '-'}, shown {one.shown or '-'}" for one in scored)  # fmt: skip


def _parts(scored: Sequence[Scored]) -> Iterator[tuple[str, list[Scored]]]:
    yield "all", list(scored)
    for way in sorted({one.decided_by for one in scored}):
        yield f"decided by {way}", [one for one in scored if one.decided_by == way]


def _shares(grades: Sequence[str]) -> str:
    count, told = max(1, len(grades)), [grade for grade in grades if grade]
    right, trap = told.count("right"), told.count("trap")
    return (
        f"first right {right / count:.3f}  of shown {right / max(1, len(told)):.3f}  none {1 - len(told) / count:.3f}  "
        f"first refuted {trap / count:.3f}"
    )


def _first(report: Report, reference: Referenced) -> str:
    fix = report.fixes[0] if report.fixes else None
    return reference.grade(f"{fix.title} :: {fix.change}") if fix is not None else ""


def _text(fix: ProposedFix) -> str:
    return f"{fix.title} :: {written(fix.actions)}"


def _invented(fix: ProposedFix, log: Log) -> list[str]:
    """Return the options that neither a release has nor the log names: a fork's, or another engine's, are there."""
    kinds = (SetOption, DropOption, SetVariable, DropVariable)
    names = [each.name for each in fix.actions if isinstance(each, kinds)]
    ours = (name for name in names if name.startswith(("--", "VLLM_")))
    return [name for name in ours if not table.lifetime(name) and name not in log.text]
