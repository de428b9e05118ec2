"""Every rule of every bucket, tried with its own examples; what the files must hold together."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from vllm_triage import classifier
from vllm_triage.classifier.conditions import holds
from vllm_triage.classifier.testing import check_confusers, check_examples, company, corpus_files
from vllm_triage.classifier.testing import fires as rule_fires
from vllm_triage.classifier.values import COMPUTED
from vllm_triage.corpus.check import check_file
from vllm_triage.corpus.compiler import read_bucket
from vllm_triage.corpus.types import Bucket, Rule

FILES = list(corpus_files())

# Examples that another rule cancels; the words of both are right, one of the two must go or be narrowed.
PENDING = {
    "no_gpu/unspecified-platform": "its DEBUG line is cancelled by install_mismatch/optional-import-noise",
}

# Examples on the border of two buckets, and the bucket that is answered: moving one is a decision, not an accident.
BORDER = {
    "kv_transfer/connector-install": "install_mismatch",
    "lora/max-lora-rank-pydantic": "invalid_argument",
    "multimodal/extra-missing": "install_mismatch",
    "parallel_config/pipeline-conflicts": "invalid_argument",
    "speculative_decoding/tokens-missing": "invalid_argument",
    "tokenizer_mismatch/remote-tokenizer-requires": "install_mismatch",
    "tool_calling/options-incomplete": "invalid_argument",
}


@cache
def _read(name: str) -> Bucket:
    return read_bucket(next(path for path in FILES if path.stem == name))


def _rules() -> list[Rule]:
    return [rule for path in FILES for rule in _read(path.stem).rules]


@pytest.fixture(params=[path.stem for path in FILES])
def bucket(request) -> Bucket:
    """One rule file after the other."""
    return _read(request.param)


def test_examples(bucket):
    """Every `match` makes its rule fire, no `reject` does, in the engine itself."""
    found = [text for rule in bucket.rules if rule.id not in PENDING for text in check_examples(rule)]

    assert found == []


def test_confusers(bucket):
    """What looks like a bucket and is not, is not answered with it."""
    assert check_confusers(bucket) == []


def test_sure_examples_are_answered_with_their_bucket(bucket, triage):
    """The example of a cause that is certain or strong is a log of its bucket, alone as it stands."""
    got = {}
    for rule in bucket.rules:
        if rule.role != "cause" or rule.strength not in ("certain", "strong") or rule.id in PENDING:
            continue
        for text in rule.match:
            answer = triage.report(company(rule) + text).bucket
            if answer != bucket.id:
                got[rule.id] = answer

    assert got == {name: answer for name, answer in BORDER.items() if name.startswith(f"{bucket.id}/")}


def test_files_pass_their_own_check(bucket):
    """Format, literals, cost of patterns: what `python -m vllm_triage.corpus.check` says."""
    assert check_file(next(path for path in FILES if path.stem == bucket.id)) == []


def test_rule_ids_are_unique():
    """A full id names one rule."""
    counts = Counter(rule.id for rule in _rules())

    assert [name for name, count in counts.items() if count > 1] == []


def test_requires_and_unless_name_rules_that_exist():
    """A condition on a rule that does not exist never holds."""
    known = {rule.id for rule in _rules()}
    missing = [
        f"{rule.id}: {name}" for rule in _rules() for name in [*rule.requires, *rule.unless] if name not in known
    ]

    assert missing == []


def test_every_cause_has_a_fix(bucket):
    """Whoever is told a cause is told what to do."""
    without = (
        [cause.id for cause in bucket.causes if not cause.fixes] if bucket.id not in ("no_failure", "unknown") else []
    )

    assert without == []


def test_every_cause_can_be_answered(bucket):
    """Each cause is one that a rule names, or one that the engine concludes."""
    named = {rule.cause for rule in bucket.rules} - {""}
    concluded = {cause.id for cause in bucket.causes if cause.concluded_from}

    assert {cause.id for cause in bucket.causes} == named | concluded


def test_fix_texts_are_whole(bucket):
    """Flags name their option, every fix says what it costs, conditions can be read."""
    wrong = []
    for cause in bucket.causes:
        for fix in cause.fixes:
            if fix.kind in ("flag", "env") and not fix.option:
                wrong.append(f"{cause.id}: {fix.title}: no option")
            if not fix.cost.strip() or not fix.why.strip():
                wrong.append(f"{cause.id}: {fix.title}: no cost or why")
            for condition in fix.when:
                holds(condition, {"max_model_len": 1})

    assert wrong == []


@cache
def _fillers() -> frozenset[str]:
    """Return what slots can be filled with: values, captures of any expression, and names that the classifier's code writes."""
    texts = [path.read_text("utf-8") for path in (*FILES, *Path(classifier.__file__ or "").parent.rglob("*.py"))]
    found = {name for text in texts for name in re.findall(r"\(\?P<(\w+)>|[\"'](\w+)[\"']", text) for name in name}
    return frozenset(found | set(COMPUTED))


def test_every_slot_of_a_fix_can_be_filled(bucket):
    """A misspelt one takes its fix away in silence."""
    texts = [
        text
        for cause in bucket.causes
        for fix in cause.fixes
        for text in (fix.change, fix.value, fix.why, fix.title, fix.cost, fix.verify)
    ]
    names = {name for text in texts for name in re.findall(r"\{([a-z_]\w*)(?:\|[^{}]*)?\}", text)}

    assert set() == names - _fillers()


def test_pending_names_rules_that_exist():
    """Nothing is excused that is not there."""
    known = {rule.id for rule in _rules()}

    assert set(PENDING) | set(BORDER) <= known


def test_a_rule_that_does_not_fire_is_seen():
    """The check itself: a rule is not said to fire on a line of another."""
    assert not rule_fires("kv_cache_oom/max-seq-len-v1", "INFO: all is well")
