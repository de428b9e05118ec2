"""For people who add rules: run a rule file's examples through the real engine, assert what a log is answered with.

Example:
    RULES = RuleFile("rules/acme_plugin.toml")

    def test_examples():
        assert RULES.complaints() == []

    def test_a_log():
        assert_verdict(Path("tests/crash.log"), "acme_plugin/bad_cache", line=17, rules=RULES)
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..corpus.check import check_bucket, check_rules
from ..corpus.compiler import read_bucket
from ..corpus.places import CorpusError
from ..corpus.types import Bucket, Rule
from .api import Triage, shared
from .errors import RuleError
from .facts.types import Facts
from .incidents.types import Incident
from .input.read import read_blocks
from .log_source import checked
from .matching.match import match_frames
from .report.model import Report
from .verdict.case import Case

if TYPE_CHECKING:
    from .log_source import Source

CORPUS = Path(__file__).parent.parent / "corpus"


class RuleFile:
    """One rule file, loaded on top of the built-in corpus (or a file of that corpus itself).

    Args:
        path: The TOML file.

    Raises:
        RuleError: The file breaks the format; the message says what and where.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.bucket: Bucket = read_bucket(self.path)
        except (CorpusError, OSError) as error:
            raise RuleError(str(error)) from None
        self._built_in = self.path.resolve().is_relative_to(CORPUS.resolve())
        self.triage = shared() if self._built_in else Triage([self.path])
        problems = [problem for problem in self.triage.corpus.problems if self.path.name in problem]
        if problems:
            raise RuleError("; ".join(problems))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules as they stand in the file, with their examples."""
        return self.bucket.rules

    def complaints(self) -> list[str]:
        """Return what is wrong: format, literals, costs, every example, every confuser (none: all is well)."""
        check = check_bucket if self._built_in else check_rules
        found = check(self.bucket, self.path.name)
        for rule in self.bucket.rules:
            found += check_examples(rule, self.triage)
        return found + check_confusers(self.bucket, self.triage)


def check_examples(rule: Rule, triage: Triage | None = None) -> list[str]:
    """Return complaints about the examples of one rule, each run through the engine by itself.

    Every ``match`` must make the rule fire. A ``reject`` must not, where the rule's own words decide; a rule that asks
    for a stage or for other rules is tried in that company (:func:`company`).
    """
    engine = triage or shared()
    before = company(rule)
    silent = [text for text in rule.match if not fires(rule.id, before + text, engine)]
    complaints = [f"{rule.id}: does not fire on its example {text[:100]!r}" for text in silent]
    if not (rule.requires or rule.stages or rule.unless or rule.not_frames):
        loud = [text for text in rule.reject if fires(rule.id, text, engine)]
        complaints += [f"{rule.id}: fires on its counter-example {text[:100]!r}" for text in loud]
    return complaints


def check_confusers(bucket: Bucket, triage: Triage | None = None) -> list[str]:
    """Return complaints about excerpts that look like the bucket, are not, and are answered with it all the same."""
    engine = triage or shared()
    taken = [text for text in bucket.confusers if engine.report(text).bucket == bucket.id]
    return [f"{bucket.id}: its confuser is answered with it: {text[:100]!r}" for text in taken]


def fires(rule: str, log: Source, triage: Triage | None = None) -> bool:
    """Return whether the rule with the full id ``rule`` fires on a log and nothing in that log speaks against it."""
    for incident in read_incidents(log, triage):
        if rule in incident.fired:
            return True
        case = Case(incident)
        for hit in incident.hits:
            if hit.rule.id != rule or not match_frames(hit.rule, hit.trace) or not case.holds(hit):
                continue
            if hit.rule.role not in ("cause", "symptom") or not case.cancelled(hit):
                return True
    return False


def standing(log: Source, triage: Triage | None = None) -> set[str]:
    """Return the full ids of the rules for a failure that fire on a log, and that nothing in it speaks against."""
    found: set[str] = set()
    for incident in read_incidents(log, triage):
        case = Case(incident)
        failures = [hit for hit in incident.hits if hit.rule.role in ("cause", "symptom") and not hit.quoted]
        found.update(hit.rule.id for hit in failures if case.stands(hit))
    return found


def read_incidents(log: Source, triage: Triage | None = None) -> list[Incident]:
    """Return what the engine reads out of a log before it decides: hits, exceptions, stages, facts."""
    analysis = (triage or shared()).start()
    for block in read_blocks(checked(log)):
        analysis.feed(block)
    return analysis.finish()


def company(rule: Rule) -> str:
    """Return log lines that give a rule what it asks for: a stage of its ``stages``, a rule of its ``requires``."""
    lines = []
    if rule.stages:
        lines += [_stage_lines()[stage] for stage in rule.stages if stage in _stage_lines()][:1]
    if rule.requires:
        lines += [found[0] for name in rule.requires if (found := _corpus_examples().get(name))][:1]
    return "".join(f"{line}\n" for line in lines)


def assert_verdict(
    log: Source,
    expected: str,
    *,
    line: int | None = None,
    facts: Facts | None = None,
    rules: RuleFile | Triage | None = None,
) -> Report:
    """Assert what a log is answered with, and return the answer.

    Args:
        log: The log itself, a path object, a file, or lines.
        expected: A bucket (``kv_cache_oom``) or a cause (``kv_cache_oom/context_exceeds_cache``).
        line: The line that must be the first evidence.
        facts: Facts that the log must yield, by name.
        rules: A rule file, or an engine, to answer with.

    Raises:
        AssertionError: It is not; the message holds the answer and why it was given.
    """
    engine = rules.triage if isinstance(rules, RuleFile) else rules or shared()
    answer = engine.report(log)
    given = answer.cause if "/" in expected else answer.bucket
    if given != expected:
        why = "\n  ".join(answer.explanation[:5] or ["no rule fired"])
        raise AssertionError(f"expected {expected}, got {answer.cause} ({answer.confidence}):\n  {why}")
    first = [(item.line, item.text[:200]) for item in answer.evidence[:1]]
    if line is not None and [number for number, _ in first] != [line]:
        raise AssertionError(f"expected line {line} as the first evidence, got {first}")
    for name, value in (facts or {}).items():
        if answer.facts.get(name) != value:
            raise AssertionError(f"fact {name}: expected {value!r}, got {answer.facts.get(name)!r}")
    return answer


def corpus_files() -> Iterable[Path]:
    """Return the rule files of the built-in corpus."""
    return [*sorted((CORPUS / "buckets").glob("*.toml")), CORPUS / "facts.toml"]


@cache
def _corpus_examples() -> dict[str, tuple[str, ...]]:
    buckets = [read_bucket(path) for path in corpus_files()]
    return {rule.id: rule.match for bucket in buckets for rule in bucket.rules}


@cache
def _stage_lines() -> dict[str, str]:
    """Return for each stage a line by which a start is known to have reached it."""
    lines: dict[str, str] = {}
    for rule in read_bucket(CORPUS / "facts.toml").rules:
        if rule.stage and rule.pattern:
            lines.setdefault(rule.stage, rule.match[0])
    return lines
