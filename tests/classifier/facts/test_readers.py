"""Fact rules are read by their keys: their names are anybody's choice, and a key that nobody knows is refused."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tests.fixtures.marked import FOLDER, read_marked
from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.facts.book import FactBook
from vllm_triage.classifier.facts.readers import READERS, Said, note
from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.testing import CORPUS, read_incidents
from vllm_triage.corpus import fact_keys
from vllm_triage.corpus.schema import CorpusError, parse_bucket

FACTS = tomllib.loads((CORPUS / "facts.toml").read_text(encoding="utf-8"))
LOGS = sorted(FOLDER.glob("*.log"))


def changed(rule: str, **keys: Any) -> dict[str, Any]:
    """Return facts.toml with keys of one rule changed."""
    rules = [{**item, **keys} if item["id"] == rule else item for item in FACTS["rule"]]
    return {**FACTS, "rule": rules}


@pytest.fixture(scope="module")
def renamed() -> Triage:
    """An engine whose fact rules have other ids."""
    triage = Triage()
    for number, rule in enumerate(rule for rule in triage.corpus.rules if rule.bucket == "facts"):
        rule.id = f"facts/renamed-{number}"
    return triage


def test_every_reader_that_a_rule_may_name_exists_and_is_used():
    """The corpus knows the names, the engine has the functions, facts.toml uses them all."""
    used = {rule["reader"] for rule in FACTS["rule"] if "reader" in rule}

    assert set(fact_keys.READERS) == set(READERS) == used


@pytest.mark.parametrize(
    ("rule", "keys", "words"),
    [
        ("engine-config", {"reader": "engine_confg"}, "engine-config: reader must be one of"),
        ("arguments", {"continues": "dots"}, "arguments: continues must be one of"),
        ("arguments", {"continues": "backslash"}, "continues = 'backslash' needs a capture 'command'"),
        ("answered", {"speaker": "nginx"}, "answered: speaker must be one of"),
        ("arguments", {"start": "lunch"}, "arguments: start must be one of"),
        ("arguments", {"start": True}, "start must be text"),
        ("warmup", {"role": "benign", "reader": "concurrency"}, "'reader' is for rules of role 'fact'"),
    ],
)
def test_a_key_that_nobody_reads_is_refused(rule, keys, words):
    """A slip is an error when the corpus is read, not a fact that is missing."""
    with pytest.raises(CorpusError, match=words):
        parse_bucket(changed(rule, **keys), "facts.toml")


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_renamed_rule_is_read_the_same(path, renamed):
    """Facts, stages and starts of a log do not hang on what a rule is called."""
    log = read_marked(path).log

    told = [
        [
            (item.first, item.last, item.reached, item.facts, [span.stage for span in item.stages])
            for item in read_incidents(log, triage)
        ]
        for triage in (None, renamed)
    ]

    assert told[0] == told[1]


def test_a_rule_without_a_reader_tells_its_captures():
    """Alternatives of one expression have a number at their end, which is no fact."""
    rule = next(rule for rule in Triage().corpus.rules if rule.id == "facts/total-capacity")
    book = FactBook()

    note(book, rule, split_line(1, "x"), {"gpu_memory_total_gib": "23.5", "gpu_memory_total_gib_2": "1"})

    assert {"gpu_memory_total_gib": 23.5} == book.facts()


@pytest.mark.parametrize(
    ("process", "source", "expected"),
    [
        ("EngineCore_DP0", "x.py:1", {"engine": "V1"}),
        ("VllmWorkerProcess pid=7", "x.py:1", {"engine": "V0"}),
        ("", "platforms/rocm.py:7", {"platform": "rocm"}),
        ("", "rocm_utils.py:7", {}),
    ],
)
def test_who_speaks_tells_something_too(process, source, expected):
    """Processes are named after their engine; one module runs on one platform alone."""
    rule = next(rule for rule in Triage().corpus.rules if rule.id == "facts/config-marks")
    line = split_line(1, "x")
    line.process, line.source = process, source
    book = FactBook()

    note(book, rule, line, {})

    assert expected == book.facts()


def test_what_stands_before_a_command_belongs_to_it():
    """Variables do; without a command nothing does."""
    line = split_line(1, "+ HF_HOME=/data vllm serve acme/tiny-7b")

    assert "HF_HOME=/data " == Said(line, {"command": "vllm serve acme/tiny-7b"}).front()
    assert "" == Said(line, {}).front()
