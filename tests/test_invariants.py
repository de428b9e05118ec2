"""What must hold whatever the log: nothing unexplained is healthy, and what was survived is not the cause.

Failures are generated and put into every recorded healthy log; the matching line of every rule is planted, at the levels at
which a process says what it can live with, into healthy starts and before fatal errors.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.everyday import sample
from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.testing import corpus_files, read_incidents
from vllm_triage.classifier.verdict.case import Case
from vllm_triage.corpus.compiler import read_bucket

RECORDED = Path(__file__).parent.parent / "corpus" / "logs" / "recorded"
TRIAGE = Triage(engine="rules")
PER_RELEASE = 3
PREFIX = re.compile(
    r"^(?:\([\w =]+\) )?(?:INFO|WARNING|ERROR|CRITICAL|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d (?:\[[^\]]*\] |[\w.]+:\d+\] )"
)
ENGINE = "(EngineCore_DP0 pid=77) ERROR 11-21 12:00:01 [core.py:845] "
KINDS = ("FrobError", "TypeError", "KeyError", "acme.errors.CogError", "RuntimeError", "ValueError", "OSError")
WORDS = ("the seventh cog is gone", "'cog'", "widget 7 turned 12 times", "no marble left in drawer", "42")


@cache
def rows() -> list[dict[str, str]]:
    with (RECORDED / "index.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@cache
def text_of(file: str) -> str:
    return (RECORDED / file).read_text(encoding="utf-8", errors="replace")


def healthy() -> list[str]:
    """Return healthy logs of every release, the shortest of each: what is tested does not depend on their length."""
    files = [row["file"] for row in rows() if row["bucket"] == "no_failure" and "healthy" in row["fault"]]
    by_release: dict[str, list[str]] = {}
    for file in sorted(files, key=lambda name: len(text_of(name))):
        by_release.setdefault(file.partition("/")[0], []).append(file)
    return [file for found in by_release.values() for file in found[:PER_RELEASE]]


def failing() -> list[str]:
    """Return a sample of the failing logs, short ones."""
    files = [row["file"] for row in rows() if row["bucket"] not in ("no_failure", "unknown")]
    return sorted(files, key=lambda name: len(text_of(name)))[:120:2]


def failures(seed: random.Random) -> Iterator[tuple[str, str]]:
    """Yield made-up failures, each with its kind: exceptions, errors, aborts and exit codes that nobody knows."""
    kind, words, name = seed.choice(KINDS), seed.choice(WORDS), f"mod{seed.randrange(99)}"
    frames = [
        f'  File "/opt/plug/{name}/part{at}.py", line {seed.randrange(1, 900)}, in turn\n    self.turn()\n'
        for at in range(3)
    ]
    trace = f"Traceback (most recent call last):\n{''.join(frames)}{kind}: {words}\n"
    yield "a traceback of the engine", "".join(ENGINE + line for line in trace.splitlines(keepends=True))
    yield "a bare traceback", trace
    yield "an error line", f"(APIServer pid=5) ERROR 11-21 12:00:01 [serving.py:33] {kind}: {words}\n"
    yield "an error in words", f"ERROR 11-21 12:00:01 [serving.py:33] {name} gave up, {words}\n"
    yield (
        "a critical line",
        f"(APIServer pid=5) CRITICAL 11-21 12:00:01 [launcher.py:99] {name} watchdog: {words}, terminating\n",
    )
    yield (
        "an abort",
        f"terminate called after throwing an instance of '{name}::error'\n  what():  {words}\nAborted (core dumped)\n",
    )
    yield "a panic in Rust", f"thread 'main' panicked at src/{name}.rs:12:5:\n{words}\n"
    yield "a panic in Go", f"panic: runtime error: {words}\n\ngoroutine 1 [running]:\n"
    yield (
        "a request that failed",
        'INFO:     10.0.0.9:41000 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error\n',
    )
    yield "an exit code", f"vllm exited with code {seed.choice((1, 2, 3, 7, 42))}\n"
    yield "a service's end", f"Nov 21 12:00:01 {name} systemd[1]: vllm.service: Failed with result 'exit-code'.\n"
    yield "a kill", seed.choice(KILLS)
    yield "a client's exception", client(seed)
    yield "what a client was told", seed.choice(BODIES)
    yield "a crawl", crawl(seed)


KILLS = (
    "Killed\n",
    "Segmentation fault\n",
    "Aborted\n",
    "zsh: killed     vllm serve acme/harbor-8b\n",
    "run.sh: line 4:    71 Segmentation fault      vllm serve acme/harbor-8b\n",
    "vllm-1 exited with code 134\n",
    "vllm-1 exited with code 135\n",
    "vllm-1 exited with code 137\n",
    "systemd[1]: vllm.service: Main process exited, code=dumped, status=11/SEGV\n",
    "systemd[1]: vllm.service: Failed with result 'oom-kill'.\n",
)
BODIES = (
    '{"object":"error","message":"the seventh cog is gone","type":"InternalServerError","param":null,"code":500}\n',
    "Error code: 500 - {'error': {'message': 'no marble left', 'type': 'InternalServerError', 'code': 500}}\n",
    '{"error":"the seventh cog is asleep"}\n',
    "requests.exceptions.HTTPError: 500 Server Error: Internal Server Error for url: http://10.0.0.3:8000/v1/models\n",
)


def client(seed: random.Random) -> str:
    """Return the stack of a program that could not talk to the server."""
    package, words = seed.choice(
        (
            ("openai/_base_client.py", "openai.APIConnectionError: Connection error."),
            ("httpx/_transports/default.py", "httpx.ConnectError: All connection attempts failed"),
            (
                "requests/adapters.py",
                "requests.exceptions.ConnectionError: HTTPConnectionPool(host='h', port=80): Max retries exceeded with url: /health",
            ),
        )
    )
    return (
        f'Traceback (most recent call last):\n  File "/srv/bot/ask.py", line {seed.randrange(1, 99)}, in <module>\n'
        f'    ask()\n  File "/srv/venv/lib/python3.12/site-packages/{package}", line 99, in send\n    raise\n{words}\n'
    )


def crawl(seed: random.Random) -> str:
    """Return the lines of a server that gives each request less than a token a second for minutes."""
    return "".join(
        f"INFO 11-21 12:{10 + at // 6}:{at % 6}1 [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg "
        f"generation throughput: {seed.uniform(0.2, 0.9):.1f} tokens/s, Running: 1 reqs, Waiting: 0 reqs, "
        f"GPU KV cache usage: {1 + at / 10:.1f}%, Prefix cache hit rate: 0.0%\n"
        for at in range(15)
    )


SHUTDOWN = "INFO:     Shutting down\nINFO:     Application shutdown complete.\nINFO:     Finished server process [1]\n"
LATE = ("a critical line", "a traceback of the engine", "an error line")


def life(file: str) -> str:
    """Return a healthy log up to where it was stopped from outside."""
    text = text_of(file)
    stop = Case(read_incidents(text)[-1]).stop
    return "".join(text.splitlines(keepends=True)[: stop - 1 if stop else None])


@pytest.mark.parametrize("file", sample(healthy()))
def test_a_failure_that_nobody_knows_is_noticed_in_a_healthy_log(file: str) -> None:
    """As the last thing that it says, and where a shutdown follows."""
    seed = random.Random(file)
    text = life(file)
    logs = [
        (name, failure + end) for name, failure in failures(seed) for end in (("", SHUTDOWN) if name in LATE else ("",))
    ]
    silent = [(name, more) for name, more in logs if TRIAGE.report(text + more).bucket == "no_failure"]
    assert [] == silent


@pytest.mark.parametrize("file", sample(healthy()))
def test_a_clients_words_above_a_start_are_not_overcome_by_it(file: str) -> None:
    """Who pastes them above the server's log has them from elsewhere: a server that comes up below is no answer to them."""
    seed, text = random.Random(file), life(file)
    if len(read_incidents(text)) > 1:
        return  # then they are told of the first start, and the answer is about the last
    for words in (client(seed), *BODIES):
        answer = TRIAGE.report(f"{words}\nand the server:\n{text}")
        assert answer.bucket in ("client_connection", "unknown"), words


TIMED_OUT = (
    "requests.exceptions.ReadTimeout: HTTPConnectionPool(host='10.0.0.4', port=8000): Read timed out. (read timeout=30)\n",
    "openai.APITimeoutError: Request timed out.\n",
    "curl: (28) Operation timed out after 30001 milliseconds with 0 bytes received\n",
    "curl: (52) Empty reply from server\n",
)


@pytest.mark.parametrize("file", sample(healthy()))
def test_what_a_client_was_told_counts_below_a_server_that_was_stopped(file: str) -> None:
    """That it was refused a connection then is but the stop; that a request failed, or was not answered, is not."""
    # Where the engine's end is told as well, a time-out may come of it.
    ended = Case(read_incidents(text_of(file))[-1]).first_wrapper
    for words in BODIES if ended else (*BODIES, *TIMED_OUT):
        answer = TRIAGE.report(f"{text_of(file)}\n# client\n{words}")
        assert answer.bucket in ("client_connection", "unknown"), words


NOISE = (
    # Who waits for a server is refused until it is up.
    ("above", "curl: (7) Failed to connect to localhost port 8000 after 0 ms: Connection refused\n" * 4),
    ("above", "/opt/lib/acme/wheels.py:12: DeprecationWarning: turn() is deprecated, use spin()\n  turn()\n" * 8),
    (
        "above",
        "acme 2.1.0 requires numpy<2, but you have numpy 2.2.1 which is incompatible.\nSuccessfully installed vllm\n",
    ),
    ("below", 'INFO:     10.0.0.1:3311 - "GET /favicon.ico HTTP/1.1" 404 Not Found\n'),
    ("below", 'WARNING:  Invalid HTTP request received.\nINFO:     10.0.0.1:1 - "GET /.env HTTP/1.1" 404 Not Found\n'),
    ("below", "vllm-1 exited with code 0\n"),
    ("below", "Nov 21 12:00:03 node-1 systemd[1]: vllm.service: Deactivated successfully.\n"),
    (
        "below",
        "============ Serving Benchmark Result ============\nSuccessful requests:      1000\nFailed requests:          0\n",
    ),
)
"""What people paste around the log of a server that works, and what stands in it; no failure of the server."""


@pytest.mark.parametrize("file", sample(healthy()))
def test_what_is_pasted_around_a_healthy_log_raises_no_alarm(file: str) -> None:
    text = life(file)
    if not Case(read_incidents(text)[-1]).ready:
        return  # what was cut off may be the end of an exception
    logs = [words + text if where == "above" else text + words for where, words in NOISE]
    assert ["no_failure"] * len(logs) == [TRIAGE.report(log).bucket for log in logs]


@pytest.mark.parametrize("file", sample(healthy()))
def test_a_healthy_log_raises_no_alarm(file: str) -> None:
    assert "no_failure" == TRIAGE.report(text_of(file)).bucket


@cache
def sayings() -> list[tuple[str, str]]:
    """Return for every rule that may decide its id, and the line of its first example without a prefix."""
    found = []
    for path in corpus_files():
        for rule in read_bucket(path).rules:
            if rule.role in ("cause", "symptom") and rule.match:
                lines = rule.match[0].strip("\n").split("\n")
                found.append((rule.id, PREFIX.sub("", lines[-1]).strip()))
    return found


@pytest.mark.parametrize("level", ["INFO", "WARNING"])
def test_what_a_start_survived_fails_no_healthy_server(level: str) -> None:
    """The line of every rule, said quietly before the server came up."""
    seed = random.Random(level)
    logs = []
    for file in healthy():
        case = Case(read_incidents(text_of(file))[-1])
        if case.ready:
            marks = [
                line
                for stage, line in case.stages.items()
                if stage in ("config", "engine_init", "weights") and line < case.ready
            ]
            logs.append((text_of(file).split("\n"), marks or [case.ready - 1]))
    alarms = []
    for rule, words in sample(sayings(), 15):
        lines, marks = seed.choice(logs)
        at = seed.choice(marks)
        planted = [*lines[:at], f"{level} 11-21 12:00:01 [core.py:708] {words}", *lines[at:]]
        answer = TRIAGE.report("\n".join(planted))
        if answer.failed:
            alarms.append((rule, answer.cause))
    assert [] == alarms


@pytest.mark.parametrize("level", ["INFO", "WARNING"])
def test_what_was_said_quietly_before_a_fatal_error_leaves_the_verdict_as_it_was(level: str) -> None:
    """Where an error names the cause: of a death without a cause, or a server that was slow, a warning may well be the cause."""
    seed = random.Random(level)
    logs = []
    for file in failing():
        answer = TRIAGE.report(text_of(file))
        loud = answer.evidence and answer.confidence > 0.9 and answer.decided_by == "rule"
        if loud and answer.bucket not in ("performance_degradation", "mqllmengine_stall", "nccl_hang"):
            logs.append((text_of(file).split("\n"), answer.bucket, min(item.line for item in answer.evidence)))
    moved = []
    for rule, words in sample(sayings(), 15):
        lines, bucket, line = seed.choice(logs)
        at = max(0, line - 1 - seed.randint(1, 8))
        planted = [*lines[:at], f"{level} 11-21 12:00:01 [core.py:708] {words}", *lines[at:]]
        answer = TRIAGE.report("\n".join(planted))
        if answer.bucket != bucket:
            moved.append((rule, bucket, answer.cause))
    # A line that a rule takes for the start of another server begins a new incident, which is another question.
    assert len(moved) <= 0.01 * len(sample(sayings(), 15)), moved
