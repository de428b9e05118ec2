"""A key beside a JSON value would replace all of it: it is put into the value."""

from __future__ import annotations

import pytest

from tests.fixes import made as fix
from vllm_triage.classifier import triage
from vllm_triage.classifier.advice.adapters.options import within_json

KEY = "--speculative-config.num_speculative_tokens 2"


@pytest.mark.parametrize("given", [{"method": "mtp"}, '{"method": "mtp"}'])
def test_the_whole_value_is_told_where_the_log_has_it(given: object) -> None:
    made = within_json(fix(KEY), {"speculative_config": given})
    assert made.change == """--speculative-config '{"method": "mtp", "num_speculative_tokens": 2}'"""


def test_several_keys_and_other_options() -> None:
    made = within_json(fix(f"{KEY} --seed 1 --speculative-config.method ngram"), {"speculative_config": {"model": "x"}})
    assert (
        made.change
        == """--speculative-config '{"model": "x", "num_speculative_tokens": 2, "method": "ngram"}' --seed 1"""
    )


def test_where_nobody_knows_how_it_was_given_both_forms_are_told() -> None:
    assert (
        within_json(fix(KEY), {}).change
        == f'{KEY}   # or within the JSON of --speculative-config: "num_speculative_tokens": 2'
    )


def test_where_nothing_was_given_the_key_stands_alone() -> None:
    assert within_json(fix(KEY), {"seed": 1}).change == KEY


@pytest.mark.parametrize(
    "change", ["--seed 1", "--gpu-memory-utilization 0.9", "leave out --hf-overrides.a", "pip install 'x>=1.2'"]
)
def test_others_stay(change: str) -> None:
    assert within_json(fix(change), {"speculative_config": {"a": 1}}).change == change


def test_in_an_answer() -> None:
    """The command that is pasted keeps what was given."""
    log = (
        "INFO 11-22 10:00:00 [api_server.py:100] vLLM API server version 0.33.0\n"
        "INFO 11-22 10:00:00 [utils.py:100] non-default args: {'model': 'acme/x', 'speculative_config': {'method': 'ngram', 'num_speculative_tokens': 4}}\n"
        "ValueError: Either prompt_lookup_max or prompt_lookup_min must be provided when using the ngram method.\n"
    )
    report = triage(log)
    value = """'{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 5}'"""
    assert report.fixes[0].change == f"--speculative-config {value}"
    assert report.corrected_command == f"vllm serve acme/x --speculative-config {value}"


def test_an_option_that_was_given_as_a_key_stays_one() -> None:
    """vLLM refuses the option beside the key."""
    given = {"compilation_config": {"mode": 3, "max_cudagraph_capture_size": 64}}
    made = within_json(fix("--max-cudagraph-capture-size 32"), given)
    assert made.change == """--compilation-config '{"mode": 3, "max_cudagraph_capture_size": 32}'"""
    assert (
        within_json(fix("--max-cudagraph-capture-size 32"), {"compilation_config": {"mode": 3}}).change
        == "--max-cudagraph-capture-size 32"
    )
