"""Logs to calibrate and judge by: made of rows as servers log, or whole ones; and what a fitted model makes of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....classifier.text_model.shipped import of_vllm
from ...examples.terms import read_units
from ..rows.dataset import Grown
from ..rows.recorded import LabelledLog
from .confidence import ABSTAINS, Verdict
from .export import as_shipped
from .fitted import Fitted

WRAPPERS = 400
"""Of each kind, the most that is put around a failure when a log is composed."""


@dataclass(slots=True, frozen=True)
class Case:
    """A log as the terms of its units, with what may be answered."""

    units: tuple[tuple[str, ...], ...]
    ours: tuple[bool, ...]
    """Whether vLLM itself says each unit."""
    fair: tuple[str, ...]
    """The label, then what is as fair."""
    weight: float = 1.0
    group: str = ""


def compose(
    grown: Grown, wrappers: Sequence[Sequence[str]], calm: Sequence[Sequence[str]], seed: random.Random
) -> list[Case]:
    """Return logs made of a row each: repeated, with wrappers after it and other words before it, as servers log.

    Args:
        grown: Rows with their terms, the roots of the logs.
        wrappers: Terms of what is said after a failure.
        calm: Terms of errors that stand in healthy logs.
        seed: Source of chance.
    """
    cases = []
    for row, found in grown:
        lists: list[Sequence[str]] = [found]
        if row.bucket not in ABSTAINS:
            if calm and seed.random() < 0.2:
                lists.insert(0, seed.choice(calm))
            if seed.random() < 0.3:
                lists.append(found)
            lists += [seed.choice(wrappers) for _ in range(seed.choice((0, 0, 0, 1, 2))) if wrappers]
        cases.append(
            Case(
                tuple(map(tuple, lists)), tuple(of_vllm(terms) for terms in lists), (row.bucket,), row.weight, row.group
            )
        )
    return cases


def around(grown: Grown) -> tuple[list[list[str]], list[list[str]]]:
    """Return what stands around failures: what is said after one, and errors of healthy logs."""
    wrappers = [found for row, found in grown if row.bucket == "engine_dead"]
    calm = [found for row, found in grown if row.bucket == "no_failure"]
    return wrappers[:WRAPPERS], calm[:WRAPPERS]


def of_logs(logs: Iterable[LabelledLog], weight: float = 1.0) -> list[Case]:
    """Return whole logs as cases; what holds nothing to judge is left out."""
    cases = []
    for log in logs:
        parts = read_units(log.text)
        if parts:
            lists = tuple(tuple(sorted(part.terms)) for part in parts)
            ours = tuple(of_vllm(part.terms) for part in parts)
            cases.append(Case(lists, ours, (log.bucket, *log.also), weight, log.group))
    return cases


def verdicts(model: Fitted, cases: Iterable[Case]) -> list[Verdict]:
    """Return what a model makes of cases; those whose bucket it cannot know are left out."""
    cases = [case for case in cases if case.fair[0] in model.buckets or case.fair[0] in ABSTAINS]
    if not cases:
        return []
    scores, known, like = model.scores([terms for case in cases for terms in case.units])
    weigher = as_shipped(model)
    found, at = [], 0
    for case in cases:
        end = at + len(case.units)
        joint, signs = weigher.weigh(scores[at:end].tolist(), known[at:end].tolist(), like[at:end].tolist(), case.ours)
        bucket = model.buckets[max(range(len(joint)), key=joint.__getitem__)]
        found.append(Verdict(bucket, tuple(signs), case.fair, case.weight))
        at = end
    return found
