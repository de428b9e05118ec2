"""Rules are held by more than their own examples: none vanishes, none asks for less or other words without being seen.

``TRIAGE_BLESS=1 pytest tests/corpus/test_held.py`` writes ``held/`` anew (holding.py says what stands there); the
difference shows what a change of a rule does.
"""

from __future__ import annotations

import json
import os
import random
from collections import defaultdict
from functools import cache

import pytest

from tests.corpus.holding import FOLDER, Held, fires, held, read, write
from vllm_triage.classifier.testing import company, corpus_files, standing
from vllm_triage.corpus.compiler import read_bucket
from vllm_triage.corpus.types import Bucket, Rule
from vllm_triage.training.record.publish import INDEX, RECORDED
from vllm_triage.training.text_model.rows.other_software import other_logs

BLESS = os.environ.get("TRIAGE_BLESS")
NAMES = [path.stem for path in corpus_files()]

# Rules that fire on a recorded log of a server that had no failure, and why that is no fault of theirs.
HEALTHY = {
    "client_connection/unauthorized-access-line": "one request without its key was refused",
    "engine_dead/v1-core-failed-to-start": "a stop while it started, reported as wrappers",
    "engine_dead/v1-core-fatal-error": "a stop from outside, reported as wrappers",
    "engine_dead/v1-core-init-failed": "a stop while it started, reported as wrappers",
    "engine_dead/v1-engine-dead-error": "a stop from outside, reported as wrappers",
    "engine_dead/v1-workerproc-init-failed": "a stop while it started, reported as wrappers",
    "kv_cache_oom/concurrency-below-one": "a cache that is too small is told before it is refused",
    "nccl_hang/shm-no-block": "a wait that ended",
    "nccl_hang/stats-standstill": "a stop while requests ran: they stood still",
    "unknown/answered-500": "a stop while requests ran",
    "unknown/exception-caught": "one request was refused, with its traceback",
}


@cache
def _read(name: str) -> Bucket:
    return read_bucket(next(path for path in corpus_files() if path.stem == name))


def _rules() -> dict[str, Rule]:
    return {rule.id: rule for name in NAMES for rule in _read(name).rules}


@pytest.mark.parametrize("name", NAMES)
def test_no_rule_vanishes_and_none_asks_for_less(name: str) -> None:
    """Every rule fires on what it fired on, keeps silent where it did, and needs the words that it needed."""
    now = {rule.id: held(rule) for rule in _read(name).rules}
    if BLESS:
        write(name, now)
    rules, before = _rules(), read(name)

    assert [rule for rule in before if rule not in rules] == [], (
        "gone: an id is never dropped by accident, nor used again"
    )
    lost = {rule: [text for text in told.drawn if not fires(rules[rule], text)] for rule, told in before.items()}
    assert {rule: texts for rule, texts in lost.items() if texts} == {}, "it fired on these"
    loud = {rule: [text for text in told.barred if fires(rules[rule], text)] for rule, told in before.items()}
    assert {rule: texts for rule, texts in loud.items() if texts} == {}, "it did not fire on these"
    assert {rule: told.carried for rule, told in before.items()} == {rule: told.carried for rule, told in now.items()}
    assert now == before, "review the difference that TRIAGE_BLESS=1 makes"


def test_nothing_is_held_of_a_bucket_that_is_gone() -> None:
    assert sorted(NAMES) == sorted(path.stem for path in FOLDER.glob("*.txt"))


def test_every_rule_is_held() -> None:
    """By its examples, and by texts drawn from it: of nearly all something can be drawn, of failures of all but two."""
    found: dict[str, Held] = {rule: told for name in NAMES for rule, told in read(name).items()}

    assert [rule for rule, told in found.items() if not told.carried] == []
    bare = [rule for rule, told in found.items() if not told.drawn and not rule.startswith("facts/")]
    assert bare == ["gpu_arch_unsupported/rocm-unsupported-arch", "tokenizer_mismatch/remote-tokenizer-requires"]


def test_a_rule_that_fires_on_examples_of_another_bucket_says_so() -> None:
    """Its key ``overlaps`` names the buckets; one that no longer overlaps says so no longer. Guesses fire anywhere."""
    rules = _rules()
    found: dict[str, set[str]] = defaultdict(set)
    for rule in rules.values():
        # A fact often stands on the very line of a failure.
        for example in rule.match if rule.bucket != "facts" else ():
            for name in standing(company(rule) + example):
                if rules[name].bucket != rule.bucket and rules[name].strength != "guess":
                    found[name].add(rule.bucket)
    declared = {rule.id: set(rule.overlaps) for rule in rules.values() if rule.overlaps}

    assert declared == dict(found)


def test_no_rule_for_a_failure_fires_on_a_healthy_log() -> None:
    """Recorded servers without a failure; what fires all the same is known, with the reason."""
    entries = [json.loads(line) for line in (RECORDED / INDEX).read_text(encoding="utf-8").splitlines()]
    healthy = [entry["file"] for entry in entries if entry["bucket"] == "no_failure"]
    fired = {rule for file in healthy for rule in standing((RECORDED / file).read_bytes())}

    assert len(healthy) > 50
    assert sorted(HEALTHY) == sorted(fired)


def test_words_of_vllms_own_are_said_by_no_other_program() -> None:
    """A rule whose source is vLLM alone is silent on the logs of some ninety other programs."""
    rules = _rules()
    logs = list(other_logs(random.Random(7), 4))
    fired = {rule for log in logs for rule in standing(log.text)}

    assert len(logs) > 300
    assert [rule for rule in sorted(fired) if rules[rule].source in ("", "vllm")] == []
    assert fired, "rules on words of torch, CUDA or Python do fire on those of others"
