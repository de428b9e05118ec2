"""How a server did is an answer where nothing else explains it."""

from __future__ import annotations

import pytest

from tests.classifier.serving.made import cache_full, log, queue_grows, stalled
from tests.classifier.verdict.logs import ANSWERED, READY, START, STOPPED
from vllm_triage.classifier.api import Triage, shared
from vllm_triage.classifier.serving.clock import span

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 1.00 GiB is free.\n"
TOO_LONG = "ERROR 05-01 10:00:00 [serving_chat.py:200] ValueError: This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8488 in the messages, 512 in the completion). Please reduce the length of the messages or completion.\n"
STOP = "INFO 05-30 10:00:00 [launcher.py:79] Shutting down FastAPI HTTP server.\nINFO:     Shutting down\n"
WAIT = "INFO 05-30 10:00:00 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work (e.g. compilation)\n"


def cause(text: str) -> str:
    return shared().report(text).cause


@pytest.mark.parametrize("maker", [stalled, queue_grows])
def test_a_cause_that_a_rule_names_explains_how_a_server_did(maker):
    assert cause(log(maker, 3, "0.32.0") + OOM).startswith("runtime_oom/")


def test_one_request_that_was_refused_does_not_explain_a_standstill():
    start, end = log(stalled, 3, "0.32.0").split("Application startup complete.\n")

    assert "mqllmengine_stall/request_unanswered" == cause(f"{start}Application startup complete.\n{TOO_LONG}{end}")


def test_a_wait_that_says_where_it_waits_is_the_answer():
    assert "nccl_hang/shm_broadcast_wait" == cause(log(stalled, 3, "0.32.0") + WAIT)


def test_a_wait_that_was_over_is_no_answer():
    """A worker compiled for a minute; thousands of tokens followed."""
    start, end = log(queue_grows, 3, "0.32.0").split("Application startup complete.\n")
    calm = "\n".join(line for line in end.splitlines() if "Engine" not in line)
    tokens = "(APIServer pid=5) INFO 05-30 10:0{}:00 [loggers.py:259] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {} tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: {}%\n"

    text = f"{start}Application startup complete.\n{calm}\n{tokens.format(0, '0.0', '2.0')}{WAIT}{tokens.format(2, '0.0', '4.0')}{tokens.format(3, '90.1', '4.1')}"

    assert "no_failure/healthy" == cause(text)


def test_what_held_when_the_server_was_stopped_is_the_answer():
    """People stop a server because it crawls."""
    assert "performance_degradation/kv_cache_saturated" == cause(log(cache_full, 3, "0.32.0") + STOP)


def test_an_answer_shows_its_lines_and_says_what_was_measured():
    answer = shared().report(log(queue_grows, 4, "0.32.0"))

    assert "stage" == answer.decided_by
    assert answer.evidence
    assert all("Waiting: " in item.text and item.process == "APIServer" for item in answer.evidence)
    assert [item.line for item in answer.evidence] == sorted({item.line for item in answer.evidence})
    assert "The queue grows by " in answer.summary
    assert "periodic lines " in " ".join(answer.explanation)
    chances = {item.bucket: item.confidence for item in answer.alternatives}
    assert pytest.approx((1 - answer.confidence) / 2, abs=0.001) == chances["no_failure"]


def test_what_nobody_wants_to_hear_of_is_not_answered():
    text = log(queue_grows, 4, "0.32.0").encode()

    for asked in (
        Triage(ignore=["performance_degradation"]),
        Triage(ignore=["performance_degradation/queueing"]),
        Triage(only=["runtime_oom"]),
    ):
        assert not asked.report(text).failed


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (119, "119 s"), (120, "2 min"), (7100, "118 min"), (7200, "2 h 0 min"), (93600, "26 h 0 min")],
)
def test_times_are_said_as_people_say_them(seconds, text):
    assert text == span(seconds)


UNOFFERED = 'INFO:     10.0.0.9:50000 - "POST /v1/embeddings HTTP/1.1" 404 Not Found\n'


@pytest.mark.parametrize("times", [1, 5])
def test_what_a_server_at_work_does_not_offer_is_no_failure(times):
    """Somebody asks a chat server for embeddings; where nobody else is answered, that is what the log is about."""
    assert cause(START + READY + ANSWERED + times * UNOFFERED + STOPPED).startswith("no_failure/")
    assert cause(times * UNOFFERED + 3 * ANSWERED).startswith("no_failure/")
    assert cause(START + READY + times * UNOFFERED) == "model_unsupported/task_unsupported"
    assert cause(times * UNOFFERED) == "model_unsupported/task_unsupported"
