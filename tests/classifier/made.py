"""Rules and sessions made for a test: a few your own rules instead of the corpus."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vllm_triage.classifier.incidents.session import Session
from vllm_triage.classifier.incidents.types import Incident
from vllm_triage.classifier.input.read import read_blocks
from vllm_triage.classifier.matching.engine import Engine
from vllm_triage.classifier.matching.match import TraceRules
from vllm_triage.classifier.matching.plan import plan_of
from vllm_triage.corpus.records import replace
from vllm_triage.corpus.types import Rule


def line_rule(name: str, words: str, role: Any = "cause", **keys: Any) -> Rule:
    """Return a rule on lines that hold ``words``, unless ``pattern`` is given."""
    rule = Rule(name, role, **{"pattern": words, "literals": (words,), "cause": "x", **keys})
    rule.prepare({}, {})
    return rule


def trace_rule(name: str, exception: str, **keys: Any) -> Rule:
    """Return a rule on exceptions of one class."""
    rule = Rule(name, "cause", **{"exception": exception, "cause": "x", **keys})
    rule.prepare({"names": [exception]}, {})
    return rule


def session(*rules: Rule) -> Session:
    """Return a session that knows these rules alone."""
    return Session(Engine(list(rules)))


def incidents(lines: Iterable[str], *rules: Rule) -> list[Incident]:
    """Return what a log of ``lines`` is read as."""
    return fed(session(*rules), lines).finish()


def fed(reading: Session, lines: Iterable[str]) -> Session:
    """Return the session after it was fed with ``lines``, which follow what it was fed with before."""
    before = reading.lines
    for block in read_blocks("".join(f"{line}\n" for line in lines).encode()):
        reading.feed(replace(block, number=before + block.number))
    return reading


def trace_rules(rules: list[Rule]) -> TraceRules:
    """Return rules on exceptions, ready to be tried."""
    return TraceRules(rules, plan_of(rules).on_traces)


def told(incident: Incident) -> list[tuple[str, int]]:
    """Return the rules that matched, with the number of the line of each."""
    return [(hit.rule.id, hit.line.number) for hit in incident.hits]
