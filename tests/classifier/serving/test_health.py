"""Made-up servers, sick and healthy, in three wordings: the sick ones are noticed, the healthy ones left alone."""

from __future__ import annotations

import pytest

from tests.classifier.serving.made import HEALTHY, SICK, WORDINGS, Maker, log, preempted, stalled
from tests.everyday import sample
from vllm_triage.classifier.api import shared

VARIANTS = 20


def name(maker: Maker) -> str:
    return maker.__name__


def answers(maker: Maker, start: bool = True) -> list[str]:
    """Return what each variant of a server is answered with."""
    return [shared().report(log(maker, seed, wording, start)).cause for wording in WORDINGS for seed in range(VARIANTS)]


@pytest.mark.parametrize("maker", sample(HEALTHY, 3), ids=name)
def test_a_healthy_server_raises_no_alarm(maker):
    """Idle, bursty, growing, drained, with prompts that take minutes: none is a failure."""
    assert ["no_failure/healthy"] * len(WORDINGS) * VARIANTS == answers(maker)


@pytest.mark.parametrize("maker", sample(SICK, 3), ids=name)
def test_a_sick_server_is_noticed(maker):
    """At least 97 of 100, with the cause that its numbers show."""
    expected = {"/".join(shared().corpus.concluded_from(SICK[maker]))}
    if maker is preempted:
        # From 0.7.3 to 0.11.0 V1 counts no preemptions: what is left to see is the full cache.
        expected.add("performance_degradation/kv_cache_saturated")

    found = answers(maker)

    assert sum(cause in expected for cause in found) / len(found) >= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("maker", SICK, ids=name)
def test_a_sick_server_is_noticed_where_the_beginning_of_its_log_is_missing(maker):
    """As `docker logs --tail` cuts it."""
    bucket = shared().corpus.concluded_from(SICK[maker])[0]

    found = answers(maker, start=False)

    assert sum(cause.startswith(bucket) for cause in found) / len(found) >= 0.97


def test_a_stall_says_for_how_long_and_shows_its_lines():
    """The number of seconds is that of the stamps, from the last line with tokens to the end of the log."""
    text = "\n".join(
        [
            "INFO 05-01 10:00:00 [api_server.py:1] vLLM API server version 0.19.1",
            "INFO:     Application startup complete.",
            *(_line(f"10:01:{second}", "912.4") for second in (10, 20)),
            _line("10:01:30", "0.0"),
            'INFO:     10.0.0.1:40000 - "GET /health HTTP/1.1" 200 OK',
            "INFO 05-01 10:05:20 [logger.py:41] Received request chatcmpl-1: prompt: 'Hello', params: SamplingParams(n=1)",
        ]
    )

    answer = shared().report(text)

    assert "mqllmengine_stall/request_unanswered" == answer.cause
    assert "For 4 min the engine has computed nothing" in answer.summary
    assert "Before, it gave 912 tokens a second" in answer.summary
    assert [5] == [item.line for item in answer.evidence]


def test_what_was_overcome_is_no_alarm():
    """A standstill of half a minute, and then thousands of tokens."""
    still = log(stalled, 1, "0.32.0")

    assert "no_failure" == shared().report(still + _line("23:59:59", "912.4", day=30)).bucket


def _line(time: str, tokens: str, day: int = 1) -> str:
    return (
        f"INFO 05-{day:02d} {time} [loggers.py:259] Engine 000: Avg prompt throughput: 0.0 tokens/s,"
        f" Avg generation throughput: {tokens} tokens/s, Running: 8 reqs, Waiting: 0 reqs,"
        " GPU KV cache usage: 3.5%, Prefix cache hit rate: 0.0%"
    )
