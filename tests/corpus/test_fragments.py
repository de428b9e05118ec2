"""A message is known by a part of it, wherever that stands."""

from __future__ import annotations

from random import Random

import pytest

from tests.quoted import SURROUNDINGS, count
from vllm_triage.classifier.api import shared

WHOLE = (
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (5.12 GiB)."
)
HALF = "larger than the available KV cache memory (5.12 GiB)."


@pytest.mark.parametrize("around", SURROUNDINGS.values(), ids=list(SURROUNDINGS))
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
        "At the moment AWQ quantization is not supported in this mode, but it will be soon.",
        "Please refer to this guide for more details.",
        "FileNotFoundError: [Errno 2] No such file or directory: '/srv/shop/profile.csv'",
        "INFO 03-01 10:00:00 [custom_all_reduce.py:137] Custom allreduce is disabled because it is not supported on more than two",
    ],
)
def test_sentences_about_vllm_are_no_messages(text: str) -> None:
    """Nor what a server says by the way."""
    assert shared().report(text).bucket in ("unknown", "no_failure")


def test_a_part_that_several_messages_have_names_none() -> None:
    """Their buckets differ."""
    assert shared().corpus.fragments().find("is not supported for this model. Please use") is None


@pytest.mark.slow
def test_halves_are_known_in_their_surroundings() -> None:
    """Of all rules' examples and 200 messages of the catalogue: 0.93 of the first halves, and of the second, that tell."""
    fared = count(Random(5), drawn=200, surroundings=1)
    for which in ("first", "second"):
        items = [item for (half, _), item in fared.items() if half == which]
        assert sum(item.asked for item in items) > 300
        assert sum(item.right for item in items) >= 0.93 * sum(item.asked for item in items)
