"""A message is known by a part of it, wherever that stands."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import shared

WHOLE = (
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (5.12 GiB)."
)
HALF = "larger than the available KV cache memory (5.12 GiB)."
ROUND = {
    "alone": "{}", "prose": "Hi, since this morning I see {} when I run it, any idea?", "code": "The server says `{}` and stops.",
    "table": "| what | seen |\n|---|---|\n| error | {} |", "json": '{{"error": {{"message": "{}"}}}}', "prefix": "2026-03-01 node7 svc[311]: job | {}",
    "quote": "> {}\n\nSame here.", "list": '1. start it\n2. it prints "{}"',
}  # fmt: skip


@pytest.mark.parametrize("around", ROUND.values(), ids=list(ROUND))
def test_a_half_is_the_message_wherever_it_stands(around: str) -> None:
    """In prose, code, a table, JSON, after a prefix, in quotes."""
    assert shared().report(around.format(HALF)).bucket == "kv_cache_oom"


def test_a_message_broken_over_two_lines_is_the_message() -> None:
    words = WHOLE.split()
    text = " ".join(words[:14]) + "\n" + " ".join(words[14:])
    report = shared().report(text)
    assert report.bucket == "kv_cache_oom"


@pytest.mark.parametrize(
    "text",
    [
        "If it raises errors, usually it means you have a custom library that is not compatible with the version of PyTorch you are using.",
        "Use `docker exec -it node /bin/bash` and `ray list nodes` to check the status of the Ray cluster.",
        "The KV cache holds the keys and values of all running requests.",
        "INFO 03-01 10:00:00 [custom_all_reduce.py:137] Custom allreduce is disabled because it is not supported on more than two",
    ],
)
def test_sentences_about_vllm_are_no_messages(text: str) -> None:
    """Nor what a server says by the way."""
    assert shared().report(text).bucket in ("unknown", "no_failure")


def test_a_part_that_several_messages_have_names_none() -> None:
    """Their buckets differ."""
    assert shared().corpus.fragments().find("is not supported for this model. Please use") is None
