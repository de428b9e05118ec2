"""From a history to groups of what no rule names, on both databases."""

from __future__ import annotations

import sys
import tomllib
from typing import Any

import pytest

from tests.service.history.conftest import clock, history, opened, postgresql, server, sqlite, url  # noqa: F401 - fixtures
from tests.service.history.reports import report
from vllm_triage.classifier.report.model import Report
from vllm_triage.classifier.testing import RuleFile
from vllm_triage.service.unnamed.find import ALIKE, find

UNKNOWN = {
    "bucket": "unknown", "cause": "unknown/unrecognised_failure", "confidence": 0.5, "decided_by": "none",
    "title": "Not recognised", "alternatives": [{"bucket": "kv_cache_oom", "confidence": 0.2}],
}  # fmt: skip


def harbor(number: int, **more: Any) -> Report:
    """Return the answer to a failure of a plug-in that nobody knows; its words differ in their values."""
    words = f"RuntimeError: harbor plugin refused berth {number} at '/srv/dock-{number}': tide below {number}.5 m"
    return report(words, **{**UNKNOWN, **more})


def gangway(word: str) -> Report:
    """Return the answer to failures whose words differ a little."""
    return report(
        f"ValueError: the gangway of the {word} vessel is locked, ask the quartermaster for its key", **UNKNOWN
    )


def test_incidents_with_like_words_stand_together(history, clock):  # noqa: F811
    """However often each was seen; with days, releases, examples, the nearest bucket and a rule that passes the check."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    first = clock.now
    kept = [history.record(gangway(word), service=word) for word in ("second", "southern", "other")]
    history.record(gangway("second"), service="second")
    last = clock.forward(days=3)
    for service in ("chat", "chat", "chat", "search"):
        history.record(harbor(7), service=service)
    history.record(report("OSError: seldom seen, and never again", **UNKNOWN))
    history.record(report())

    found = find(history)

    assert (6, 1, "") == (found.incidents, found.alone, found.problem)
    assert [(4, 3), (4, 2)] == sorted([(group.logs, group.incidents) for group in found.groups], reverse=True)
    one, other = sorted(found.groups, key=lambda group: -group.incidents)
    assert (first, first, last, last) == (one.first_seen, one.last_seen, other.first_seen, other.last_seen)
    assert (("0.32.0",), "kv_cache_oom", "") == (one.releases, one.nearest, one.problem)
    assert {example.incident for example in one.examples} == {incident.id for incident in kept}
    assert {example.service for example in one.examples} == {"second", "southern", "other"}
    assert (3, 2) == (one.covers, other.covers)
    assert "quartermaster for its key" in tomllib.loads(one.rule)["cause"][0]["rule"][0]["pattern"]


def test_what_a_rule_or_a_person_has_named_is_left_out(history):  # noqa: F811
    """And what one of your own rules names since."""
    for number in range(3):
        history.record(harbor(1, decided_by="rule", bucket="lora", confidence=0.9), service=f"named-{number}")
        guess = harbor(2, decided_by="model", bucket="lora", confidence=0.9)
        guessed = history.record(guess, service=f"right-{number}")
        history.feedback(guessed.id, "right")
        history.record(harbor(3, decided_by="rule", bucket="lora", confidence=0.5), service=f"weak-{number}")

    [group] = find(history).groups
    assert 3 == group.incidents
    assert {"weak-0", "weak-1", "weak-2"} >= {example.service for example in group.examples}
    # Its words stand in the answers of a rule as well: another that matches them would speak against it.
    assert ("", True) == (group.rule, bool(group.problem))


def test_a_rule_that_was_accepted_empties_its_group(history, tmp_path):  # noqa: F811
    """The incidents stay unknown, as they were answered; the next log is not."""
    for number in range(3):
        history.record(harbor(number), service=str(number))
    [group] = find(history).groups
    (tmp_path / "mine.toml").write_text(group.rule, "utf-8")

    assert ((), 0) == ((found := find(history, rules=[str(tmp_path)])).groups, found.incidents)
    assert [] == RuleFile(tmp_path / "mine.toml").complaints()


def test_a_tenant_has_groups_of_its_own(history):  # noqa: F811
    """Of the same failure each sees its own logs."""
    for number in range(3):
        history.record(harbor(number), service=f"a-{number}", tenant="a")
        history.record(gangway("southern"), service=f"b-{number}", tenant="b")

    assert [] == list(find(history).groups)
    [mine], [theirs] = find(history, "a").groups, find(history, "b").groups
    assert "harbor" in mine.examples[0].line
    assert "gangway" in theirs.examples[0].line
    assert not {example.incident for example in mine.examples} & {example.incident for example in theirs.examples}


def test_without_scikit_learn_only_shapes_are_told_apart(history, monkeypatch):  # noqa: F811
    """And the answer says so."""
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    for number in range(3):
        history.record(harbor(number), service=str(number))
        history.record(gangway("second"), service=str(number))

    found = find(history)

    assert ([3, 3], ALIKE) == ([group.logs for group in found.groups], found.problem)


def test_the_mark_changes_with_the_history(history, clock):  # noqa: F811
    """With each log, with a removal, and for the tenant alone that it belongs to."""
    marks = [history.mark()]
    one = history.record(harbor(1))
    marks.append(history.mark())
    clock.forward(seconds=1)
    history.record(harbor(2))
    marks.append(history.mark())
    other = history.mark(tenant="a")
    history.record(harbor(3), tenant="a")
    assert (marks[-1], True) == (history.mark(), history.mark(tenant="a") != other)
    history.remove(one.id)
    assert ("", "") == (history.mark(), marks[0])
    assert len(marks) == len(set(marks))
