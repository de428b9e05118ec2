"""Every fix of a failure says how to see that it has worked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.classifier.advice.test_gate import fix, situation
from vllm_triage.classifier.advice.check import add_checks


@pytest.mark.parametrize(
    ("change", "title", "reached", "request_failed", "facts", "words"),
    [
        ("--max-num-seqs 8", "Serve fewer", "weights", False, {}, "gets to 'Model loading took'"),
        (
            "--max-num-seqs 8",
            "Serve fewer",
            "weights",
            False,
            {"vllm_version": "0.6.3"},
            "'Loading model weights took'",
        ),
        ("--max-num-seqs 8", "Serve fewer", "profile", False, {}, "gets to 'KV cache size'"),
        ("--max-num-seqs 8", "Serve fewer", "profile", False, {"engine": "V0"}, "gets to 'blocks: '"),
        ("--max-num-seqs 8", "Serve fewer", "kv_cache", False, {}, "'Application startup complete'"),
        ("--max-num-seqs 8", "Serve fewer", "launch", False, {}, "'LLM engine'"),
        ("--max-num-seqs 8", "Serve fewer", "serving", True, {}, "After a restart send the same request"),
        ("NCCL_DEBUG=INFO vllm serve …", "Let NCCL name it", "distributed_init", False, {}, "take the next fix"),
    ],
)
def test_the_check_names_what_vllm_logs_next(
    change: str, title: str, reached: str, request_failed: bool, facts: dict[str, Any], words: str
) -> None:
    """By the stage that failed; a request is sent again; a look shows something new."""
    advice = fix(change, title=title)
    add_checks([advice], situation(**facts), reached, request_failed)
    assert words in advice.verify


def test_what_a_rule_file_says_stands() -> None:
    """It is more exact than what holds for every fix."""
    advice = fix("--max-num-seqs 8")
    advice.verify = "The log prints 1.0x."
    add_checks([advice], situation(), "weights", False)
    assert "The log prints 1.0x." == advice.verify
