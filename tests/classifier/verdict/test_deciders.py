"""Who decides what: each decider answers its own case, and leaves all others to the next."""

from __future__ import annotations

import pytest

from tests.classifier.verdict.logs import (
    ANSWERED,
    DEAD,
    OOM,
    READY,
    START,
    STOPPED,
    STRANGE,
    TRIAGE,
    WITH_MODEL,
    findings,
)  # fmt: skip
from tests.classifier.verdict.test_policy import Guessed
from vllm_triage.classifier.verdict import policy
from vllm_triage.classifier.verdict.deciders import DECIDERS
from vllm_triage.classifier.verdict.deciders.model import surer_model

UNKNOWN_TO_RULES = "EngineCore ERROR\n"
MESSAGE = """(EngineCore_DP0 pid=77) ERROR 11-02 10:00:21 [core.py:710] Traceback (most recent call last):
(EngineCore_DP0 pid=77) ERROR 11-02 10:00:21 [core.py:710]   File "/opt/x/acme/start.py", line 3, in go
(EngineCore_DP0 pid=77) ERROR 11-02 10:00:21 [core.py:710]     check()
(EngineCore_DP0 pid=77) ERROR 11-02 10:00:21 [core.py:710] ValueError: {}
"""
CASES = {
    "other_software": '  File "/opt/sglang/python/sglang/srt/model.py", line 5, in load\n    x()\nRuntimeError: CUDA out of memory\n',
    "best_cause": START + OOM,
    "lone_wrapper": START + READY + DEAD,
    "part_of_a_message": "larger than the available KV cache memory (5.12 GiB).\n",
    "unexplained_trouble": START + STRANGE,
    "complained": f"It hangs after the first request.\n\n{START}{READY}",
    "silent_start": "INFO 11-02 10:00:00 [api_server.py:1090] vLLM API server version 0.11.0\n"
    "(VllmWorker TP0 pid=9) INFO 11-02 10:00:09 [pynccl.py:103] vLLM is using nccl==2.27.3\n",
    "nothing_recognised": "root:x:0:0:root:/root:/bin/bash\nbin:x:2:2:bin:/bin:/usr/sbin/nologin\n",
    "no_failure": START + READY + ANSWERED + STOPPED,
}


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_decided_by_its_decider(name: str) -> None:
    found = findings(CASES[name])
    answering = [decider.__name__ for decider in DECIDERS if decider(found) is not None]
    assert name == answering[0]


def test_the_order_is_part_of_the_method() -> None:
    """Rules before wrappers, wrappers before the unexplained, and health last."""
    assert [
        "other_software", "model_alone", "at_work", "surer_model", "best_cause", "watched_standstill", "lone_wrapper", "known_message",
        "part_of_a_message", "unexplained_trouble", "broken_off", "unaccounted", "silent_start", "complained", "nothing_recognised", "no_failure",
    ] == [decider.__name__ for decider in DECIDERS]  # fmt: skip


@pytest.mark.parametrize(
    "trouble",
    [
        STRANGE,
        "ERROR 11-02 10:05:01 [serving.py:33] CogError: widget 7 is gone\n",
        "(APIServer pid=5) CRITICAL 11-02 10:05:01 [launcher.py:99] the widget watchdog saw nothing, terminating\n",
        "Traceback (most recent call last):\n  File \"/srv/a.py\", line 3, in go\n    x['b']\nKeyError: 'b'\n",
        "vllm-1 exited with code 3\n",
        '(APIServer pid=5) INFO:     10.0.0.9:41000 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error\n',
    ],
)
@pytest.mark.parametrize("after", ["", STOPPED])
def test_nothing_unexplained_is_healthy(trouble: str, after: str) -> None:
    """In a server that had come up and answered, also where a shutdown follows."""
    answer = TRIAGE.report(START + READY + ANSWERED + trouble + after)
    assert "unknown" == answer.bucket
    assert {item.text for item in answer.evidence} & set(trouble.splitlines())


def test_what_was_overcome_on_the_way_up_does_not_fail_a_healthy_server() -> None:
    error = "ERROR 11-02 10:00:02 [registry.py:3] optional widget could not be imported\n"
    assert "no_failure" == TRIAGE.report(START + error + READY + ANSWERED).bucket


def test_a_wait_that_ended_is_no_failure() -> None:
    wait = (
        "INFO 11-02 10:04:00 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds.\n"
    )
    assert "no_failure" == TRIAGE.report(START + READY + wait + ANSWERED).bucket


def test_the_catalogue_names_what_no_rule_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm_triage.corpus.messages.matching import Matcher
    from vllm_triage.corpus.messages.row import Label, Row

    row = Row("vllm", "the {} cog needs oil of kind {}", "raise", "ValueError", "x", "y", 1, "0.9.0", "",
              Label("lora", "", "user", "start", True, "read"))  # fmt: skip
    monkeypatch.setattr(type(TRIAGE.corpus), "messages", lambda self: Matcher([row]))
    answer = TRIAGE.report(START + MESSAGE.format("the seventh cog needs oil of kind W40"))
    assert ("lora", "rule") == (answer.bucket, answer.decided_by)
    assert answer.evidence[0].text.endswith("cog needs oil of kind W40")


@pytest.mark.parametrize(
    ("frame", "bucket"),
    [
        ('File "/usr/lib/python3.12/site-packages/vllm/entrypoints/llm.py", line 9, in __init__\n    x()', "lora"),
        ('File "/usr/lib/python3.12/site-packages/openai/_client.py", line 9, in post\n    x()', "lora"),
        ('File "/usr/lib/python3.12/site-packages/acme/trainer.py", line 9, in train\n    x()', "unknown"),
    ],
)
def test_words_of_vllm_said_by_another_program_are_not_vllms(
    monkeypatch: pytest.MonkeyPatch, frame: str, bucket: str
) -> None:
    """Where the whole stack is there, and leads through neither vLLM nor a client of it."""
    from vllm_triage.corpus.messages.matching import Matcher
    from vllm_triage.corpus.messages.row import Label, Row

    row = Row("vllm", "the {} cog needs oil of kind {}", "raise", "ValueError", "x", "y", 1, "0.9.0", "",
              Label("lora", "", "user", "start", True, "read"))  # fmt: skip
    monkeypatch.setattr(type(TRIAGE.corpus), "messages", lambda self: Matcher([row]))
    stack = f'Traceback (most recent call last):\n  File "/srv/run.py", line 3, in <module>\n    main()\n  {frame}\n'
    assert bucket == TRIAGE.report(f"{stack}ValueError: the seventh cog needs oil of kind W40\n").bucket


def test_a_message_of_the_shipped_catalogue_is_named() -> None:
    text = "Cannot find a config for the cog. This model does not have any cog; and nothing in it is known"
    assert "unknown" == TRIAGE.report(START + MESSAGE.format(text)).bucket


def test_an_unread_message_of_a_neighbour_is_named_by_its_module_and_less_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all neighbours that are shipped nearly every message was read; a release mined anew brings such rows."""
    from vllm_triage.corpus.messages.matching import Matcher
    from vllm_triage.corpus.messages.row import Label, Row

    row = Row("outlines", "the grammar matcher rejected cog {}", "raise", "ValueError", "x", "y", 1, "1.0", "",
              Label("structured_output", "", "package", "request"))  # fmt: skip
    monkeypatch.setattr(type(TRIAGE.corpus), "messages", lambda self: Matcher([row]))
    answer = TRIAGE.report(START + MESSAGE.format("the grammar matcher rejected cog 17"))
    assert "structured_output" == answer.bucket
    assert answer.confidence == policy.MESSAGE_OF_MODULE < policy.MESSAGE


def test_a_death_is_less_sure_than_a_wrapper_that_names_its_cause() -> None:
    """What killed the worker may stand there in words that nobody has read, or not at all."""
    died = "ERROR 11-02 10:05:03 [multiproc_executor.py:146] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.\n"
    alone, beside = TRIAGE.report(START + died), TRIAGE.report(START + STRANGE + died)

    assert "worker_died" == alone.bucket == beside.bucket
    assert policy.WRAPPER["process_died"] == alone.confidence == beside.confidence < policy.WRAPPER["wrapper"]


def test_where_a_rule_and_the_model_agree_the_rule_names_the_cause() -> None:
    """Although its strength alone would have been outvoted."""
    found = findings(START + READY + DEAD, WITH_MODEL)
    found.__dict__["guess"] = Guessed("engine_dead", 0.99)
    assert surer_model(found) is None


@pytest.mark.parametrize("kind", ["TypeError", "AttributeError", "KeyError", "IndexError", "AssertionError"])
def test_an_exception_of_pythons_own_in_the_engine_is_its_bug(kind: str) -> None:
    """Where nobody knows its words: also with its stack cut off, and with the wrapper behind it."""
    line = f"(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710] {kind}: the seventh cog\n"
    trace = f"(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710] Traceback (most recent call last):\n{line}"
    for log in (START + trace, START + READY + ANSWERED + trace + DEAD):
        answer = TRIAGE.report(log)
        assert "engine_bug" == answer.bucket
        assert "the seventh cog" in answer.evidence[0].text


@pytest.mark.parametrize(
    "text",
    [
        "I run this:\nvllm serve acme/tiny-7b --port 8000\nand it does not work\n",
        "+ vllm serve acme/tiny-7b --port 8000\n",
        "docker run --gpus all vllm/vllm-openai:v0.8.5 --model acme/tiny-7b\n",
        "E 04-22 10:13:09 instance.py:143] acme.errors.QuotaError: no capacity\nrun: |\n  vllm serve acme/tiny-7b --port 8000\n",
    ],
)
def test_a_start_command_alone_is_no_start(text: str) -> None:
    """It tells what somebody typed: neither that a server starts, nor that what stood before it is overcome."""
    assert "unknown" == TRIAGE.report(text).bucket


def test_the_same_exception_of_somebodys_own_program_is_not() -> None:
    log = 'Traceback (most recent call last):\n  File "/srv/a.py", line 3, in go\n    x()\nTypeError: the seventh cog\n'
    assert "unknown" == TRIAGE.report(START + READY + ANSWERED + log).bucket


def test_what_an_executor_passes_on_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm_triage.corpus.messages.matching import Matcher
    from vllm_triage.corpus.messages.row import Label, Row

    row = Row("x", "the seventh cog is gone", "raise", "CogError", "x", "y", 1, "0.9.0", "",
              Label("lora", "", "user", "start", True, "read"))  # fmt: skip
    monkeypatch.setattr(type(TRIAGE.corpus), "messages", lambda self: Matcher([row]))
    log = "RuntimeError: Worker failed with error 'the seventh cog is gone', please check the stack trace above for the root cause\n"
    assert "lora" == TRIAGE.report(f"Traceback (most recent call last):\n{log}").bucket


def test_a_certain_rule_is_never_outvoted() -> None:
    found = findings(START + OOM, WITH_MODEL)
    assert surer_model(found) is None


ADVISED = """CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
"""


def test_advice_below_an_exception_does_not_explain_it() -> None:
    answer = TRIAGE.report(START + STRANGE + ADVISED)

    assert "unknown" == answer.bucket
    assert any("CogError" in line.text for line in answer.evidence)


PLACE = """Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 9, in execute_model
    raise ValueError(text)
ValueError: the seventh cog is gone
"""


def test_known_words_go_before_a_rule_that_knows_the_place_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm_triage.corpus.messages.matching import Matcher
    from vllm_triage.corpus.messages.row import Label, Row

    before = TRIAGE.report(START + PLACE)
    row = Row("vllm", "the seventh cog is gone", "raise", "ValueError", "x", "y", 1, "0.9.0", "",
              Label("lora", "", "user", "start", True, "read"))  # fmt: skip
    monkeypatch.setattr(type(TRIAGE.corpus), "messages", lambda self: Matcher([row]))

    assert ("engine_bug", "rule") == (before.bucket, before.decided_by)
    assert "lora" == TRIAGE.report(START + PLACE).bucket


def test_a_guess_from_a_place_gives_way_to_an_exception_that_no_rule_knows() -> None:
    """The first exception is the root; that the API server met the death of its engine somewhere is not."""
    guessed = PLACE.replace("execute_model", "output_handler").replace(
        "v1/worker/gpu_model_runner", "v1/engine/async_llm"
    )
    answer = TRIAGE.report(START + STRANGE + guessed)

    assert "engine_bug" == TRIAGE.report(START + guessed).bucket
    assert any("CogError" in line.text for line in answer.evidence)


def test_an_exception_before_a_refused_request_is_not_overcome() -> None:
    """The server goes on answering; that it refuses one shows no next step."""
    raised = "acme.errors.CogError: the seventh cog is gone\n"
    refused = 'INFO:     10.0.0.7:51234 - "POST /v1/chat/completions HTTP/1.1" 400 Bad Request\n'

    assert "no_failure" != TRIAGE.report(raised + refused).bucket
    assert "no_failure" == TRIAGE.report(raised + ANSWERED).bucket
