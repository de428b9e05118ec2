"""Two answers side by side."""

from __future__ import annotations

import pytest

from tests.service.samples import failure, healthy, unknown
from vllm_triage.classifier.report.model import Startup
from vllm_triage.corpus.records import replace
from vllm_triage.service.comparison import Change, compare

FAILED, HEALTHY, UNKNOWN = failure().report, healthy().report, unknown().report


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (FAILED, HEALTHY, "The failure kv_cache_oom/context_exceeds_cache is gone: the second log shows none."),
        (HEALTHY, FAILED, "The second log shows a failure that the first has not: kv_cache_oom/context_exceeds_cache."),
        (HEALTHY, HEALTHY, "Neither log shows a failure."),
        (FAILED, FAILED, "The same failure in both: kv_cache_oom/context_exceeds_cache."),
        (UNKNOWN, FAILED, "Another failure: unknown/unrecognised_failure first; the second got further and failed with kv_cache_oom/context_exceeds_cache."),
        (FAILED, UNKNOWN, "Another failure: kv_cache_oom/context_exceeds_cache first; the second got less far and failed with unknown/unrecognised_failure."),
    ],
)  # fmt: skip
def test_the_outcome_is_told(before, after, told):
    assert compare(before, after).told.startswith(told)


def test_what_was_set_otherwise_is_told_with_the_outcome():
    """In the words in which two attempts of one log are told apart; nothing where they are alike."""
    after = replace(HEALTHY, facts={**FAILED.facts, "arguments": {"enforce_eager": True}})
    before = replace(FAILED, facts={**FAILED.facts, "arguments": {}})

    assert compare(before, after).told.endswith(" The second was set otherwise: with --enforce-eager True.")
    assert "otherwise" not in compare(FAILED, FAILED).told


def test_a_stage_without_name_is_not_compared():
    odd = replace(UNKNOWN, startup=Startup(reached=""))

    assert "second failed with" in compare(FAILED, odd).told


def test_arguments_stand_before_facts_and_what_is_the_same_is_left_out():
    before = replace(
        FAILED,
        facts={
            "model": "a",
            "max_model_len": 8192,
            "gpu_count": 1,
            "arguments": {"max_model_len": 8192, "dtype": "auto"},
        },
    )
    after = replace(
        FAILED,
        facts={
            "model": "a",
            "max_model_len": 4096,
            "gpu_count": 2,
            "arguments": {"max-model-len": 4096, "names": ["b", "c"]},
        },
    )

    assert compare(before, after).changes == (
        Change(name="--max-model-len", before="8192", after="4096"),
        Change(name="--dtype", before="auto"),
        Change(name="--names", after="b c"),
        Change(name="gpu_count", before="1", after="2"),
    ), "a fact that an option set is told once"


def test_the_line_that_proves_it_is_told_and_marks_of_our_own_are_not():
    both = compare(FAILED, HEALTHY)

    assert (both.before.line, both.after.line) == (37, 0)
