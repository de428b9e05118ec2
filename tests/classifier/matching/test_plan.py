"""The plan that a wheel holds is the one that the rules give."""

from __future__ import annotations

import shutil
from pathlib import Path

from vllm_triage.classifier.matching import plan
from vllm_triage.classifier.matching.engine import Engine
from vllm_triage.corpus import load
from vllm_triage.corpus.packed_rules import PackedRules

LOG = (Path(__file__).parents[3] / "corpus/logs/written/kv-cache-too-small.log").read_bytes()


def copied(folder: Path) -> PackedRules:
    """Return the shipped rules, as if their compiled form stood in another folder."""
    rules = load().rules
    assert isinstance(rules, PackedRules)
    shutil.copytree(rules.folder, folder)
    again = PackedRules(rules.by_position._packed, rules._places, True, str(folder))
    assert len(again) == len(rules)
    return again


def test_stored_and_read_again_it_is_the_same(tmp_path):
    """And the engine that is built with it finds the same, by needles."""
    rules = copied(tmp_path / "compiled")
    assert plan.stored(rules) is None
    worked_out = plan.plan_of(rules)
    plan.write(rules, LOG)
    stored = plan.stored(rules)
    assert stored is not None
    names = [name for name in plan.Plan.__slots__ if name != "needles"]
    assert [getattr(worked_out, name) for name in names] == [getattr(stored, name) for name in names]
    by_needles, by_words = Engine(rules).scanner, Engine(list(rules)).scanner
    assert by_words.find(LOG) == by_needles.find(LOG)
    assert None not in (by_needles.needles, by_needles._first)


def test_one_of_other_rules_is_not_taken(tmp_path):
    """Of another number of rules it was made for another corpus; a file that is damaged is as good as none."""
    rules = copied(tmp_path / "compiled")
    file = Path(rules.folder, plan.FILE)
    file.write_bytes(b"\x00")
    assert plan.stored(rules) is None
    plan.write(rules, b"")
    fewer = PackedRules([*rules.by_position._packed][1:], {}, True, rules.folder)
    assert plan.stored(fewer) is None


def test_rules_are_made_when_they_are_asked_for(tmp_path):
    """And once: all that speak of a rule speak of the same object."""
    rules = copied(tmp_path / "compiled")
    plan.write(PackedRules(rules.by_position._packed, {}, True, rules.folder), b"")
    engine = Engine(rules)
    assert [] == engine.made()
    first = engine.line_rules[0]
    assert [first] == engine.made()
    assert first is next(rule for rule in rules if rule.id == first.id)
    assert {rule.bucket for rule in rules.of(first.bucket)} == {first.bucket}
    assert () == rules.of("nothing")
