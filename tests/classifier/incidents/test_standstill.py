"""A server at work whose statistics stand still: a stall only while nothing moves again."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import shared

START = [
    "INFO 11-21 10:00:00 [api_server.py:1] vLLM API server version 0.19.1",
    "INFO:     Application startup complete.",
]
STATS = (
    "INFO 11-21 10:01:{second} [loggers.py:259] Engine 000: Avg prompt throughput: 0.0 tokens/s,"
    " Avg generation throughput: {tokens} tokens/s, Running: {running} reqs, Waiting: 0 reqs,"
    " GPU KV cache usage: 3.5%, Prefix cache hit rate: 0.0%"
)
BUSY = STATS.format(second=10, tokens="912.4", running=8)
STILL = STATS.format(second=20, tokens="0.0", running=8)


def answer(*lines: str) -> str:
    return shared().report("\n".join([*START, *lines])).bucket


def test_a_log_that_ends_with_requests_and_no_tokens_is_a_stall():
    """Eight requests run, and not one token came in ten seconds."""
    assert "mqllmengine_stall" == answer(BUSY, STILL)


@pytest.mark.parametrize(
    "after",
    [
        BUSY,
        STATS.format(second=30, tokens="0.0", running=0),
        'INFO:     127.0.0.1:51234 - "POST /v1/completions HTTP/1.1" 200 OK',
    ],
)
def test_what_moves_again_is_no_stall(after):
    """Tokens, an empty engine, or an answer: it was a long prefill."""
    assert "no_failure" == answer(BUSY, STILL, after)


def test_an_idle_server_is_no_stall():
    """No tokens, because nobody asks."""
    assert "no_failure" == answer(BUSY, STATS.format(second=20, tokens="0.0", running=0))
