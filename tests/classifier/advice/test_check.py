"""Every fix of a failure says how to see that it has worked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixes import context, made
from vllm_triage.classifier.advice.pipeline import with_check


@pytest.mark.parametrize(
    ("change", "title", "reached", "facts", "words"),
    [
        ("--max-num-seqs 8", "Serve fewer", "weights", {}, "gets to 'Model loading took'"),
        (
            "--max-num-seqs 8",
            "Serve fewer",
            "weights",
            {"vllm_version": "0.6.3"},
            "'Loading model weights took'",
        ),
        ("--max-num-seqs 8", "Serve fewer", "profile", {}, "gets to 'KV cache size'"),
        ("--max-num-seqs 8", "Serve fewer", "profile", {"engine": "V0"}, "gets to 'blocks: '"),
        ("--max-num-seqs 8", "Serve fewer", "kv_cache", {}, "'Application startup complete'"),
        ("--max-num-seqs 8", "Serve fewer", "launch", {}, "'LLM engine'"),
        ("--max-num-seqs 8", "Serve fewer", "serving", {}, "After a restart send the same request"),
        ("NCCL_DEBUG=INFO vllm serve …", "Let NCCL name it", "distributed_init", {}, "take the next fix"),
    ],
)
def test_the_check_names_what_vllm_logs_next(
    change: str, title: str, reached: str, facts: dict[str, Any], words: str
) -> None:
    """By the stage that failed; a request is sent again; a look shows something new."""
    advice = made(change, title=title, tags=("look",) if "DEBUG" in change else ())
    assert words in with_check(advice, context(reached=reached, **facts)).verify


def test_what_a_rule_file_says_stands() -> None:
    """It is more exact than what holds for every fix."""
    advice = made("--max-num-seqs 8", verify="The log prints 1.0x.")
    assert advice is with_check(advice, context(reached="weights"))
