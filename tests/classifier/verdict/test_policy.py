"""Every number of the policy is held: without it some log is answered otherwise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.classifier.verdict.logs import ANSWERED, DEAD, OOM, READY, START, STRANGE, TRIAGE, WITH_MODEL, findings
from tests.classifier.verdict.test_signals import ALIGNED, DRIVER, EAGER, GRAPHS, TOO_LONG, TWO_RANKS
from vllm_triage.classifier.report.model import Alternative
from vllm_triage.classifier.serving.types import FULL, STALLED
from vllm_triage.classifier.testing import corpus_files
from vllm_triage.classifier.verdict import policy
from vllm_triage.classifier.verdict.deciders.at_work import confidence
from vllm_triage.classifier.verdict.deciders.doubt import unaccounted
from vllm_triage.classifier.verdict.deciders.model import surer_model
from vllm_triage.classifier.verdict.deciders.trouble import unexplained_trouble
from vllm_triage.corpus.compiler import read_bucket


def example(rule: str) -> str:
    """Return the first example of a rule of the corpus."""
    bucket, _, _ = rule.partition("/")
    path = next(path for path in corpus_files() if path.stem == bucket)
    return next(item.match[0] for item in read_bucket(path).rules if item.id == rule)


QUOTED = """Traceback (most recent call last):
  File "/srv/app.py", line 3, in main
    raise ValueError("No available memory for the cache blocks. Try increasing gpu_memory_utilization")
  File "/srv/app.py", line 9, in other
    return 1 / 0
ZeroDivisionError: division by zero
"""
CACHE = "ERROR 11-02 10:00:30 [core.py:710] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
PORT = "ERROR 11-02 10:00:30 [api_server.py:1] OSError: [Errno 98] Address already in use\n"
SILENT = """INFO 11-02 10:00:00 [api_server.py:1090] vLLM API server version 0.11.0
(VllmWorker TP0 pid=9) INFO 11-02 10:00:09 [pynccl.py:103] vLLM is using nccl==2.27.3
"""
SERVED = START + READY + ANSWERED
WEAK = """Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 2300, in execute_model
    x = y[3]
IndexError: list index out of range
"""
BUG = """(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710] Traceback (most recent call last):
(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710] TypeError: unsupported operand type(s) for *: 'int' and 'NoneType'
"""
BROKEN = """(Worker_TP0 pid=78) ERROR 11-02 10:05:01 [multiproc_executor.py:596] Traceback (most recent call last):
(Worker_TP0 pid=78) ERROR 11-02 10:05:01 [multiproc_executor.py:596]   File "/usr/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 2300, in execute_model
(Worker_TP0 pid=78) ERROR 11-02 10:05:01 [multiproc_executor.py:596]     x = y[3]
(Worker_TP0 pid=78) ERROR 11-02 10:05:01 [multiproc_executor.py:596] IndexError: list index out of range
"""
TIMED_OUT = "(Worker_TP1 pid=79) [rank1]:[E1102 10:15:41.201 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=882, OpType=ALLREDUCE, NumelIn=8192, NumelOut=8192, Timeout(ms)=600000) ran for 600081 milliseconds before timing out.\n"
KERNEL = """(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710] Traceback (most recent call last):
(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710]   File "/usr/lib/python3.12/site-packages/vllm/model_executor/layers/mhc.py", line 161, in mhc_pre
(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710]   File "/usr/lib/python3.12/site-packages/tilelang/cogs/layout.py", line 15, in turn
(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710] ValueError: the seventh cog is gone
"""
STOP = "INFO:     Shutting down\nINFO:     Application shutdown complete.\n"
LOGGED = "INFO 11-02 10:00:00 [importing.py:17] Triton is here, and nothing starts\n"
ODD = "ERROR 11-02 10:00:25 [cogs.py:7] a cog that nobody knows turned late\n"
FOREIGN = (
    '  File "/opt/sglang/python/sglang/srt/model.py", line 5, in load\n    x()\nRuntimeError: CUDA out of memory\n'
)
HELD: dict[str, list[tuple[Any, str]]] = {
    "STRENGTH": [({"certain": 0.1, "strong": 0.1, "weak": 0.1, "guess": 0.1}, START + OOM)],
    "ACCEPT": [(9.0, START + OOM)],
    "RIVAL": [(0.0, example("cuda_graph_crash/capture-frames"))],
    "SPECIFIC": [(0.0, example("compile_failure/triton-frames"))],
    "OUTDONE": [(0.0, example("cuda_graph_crash/replay-frames"))],
    "WORDS_AND_PLACE": [(0.0, example("model_unsupported/words-task"))],
    "QUOTED": [(0.0, QUOTED)],
    "QUIET": [(-9.0, START + DRIVER.format("WARNING"))],
    "QUIET_LEAD": [(0.0, START + DRIVER.format("WARNING") + PORT)],
    "CONFIRMED": [(0.0, TWO_RANKS + GRAPHS + ALIGNED)],
    "REFUTED": [(0.0, EAGER + GRAPHS + PORT)],
    "REFUTED_LESS": [(0.0, EAGER + GRAPHS)],
    "WAITED": [(0.0, START + BROKEN + TIMED_OUT)],
    "REQUEST_WHILE_DYING": [(9.0, START + TOO_LONG + OOM + DEAD)],
    "REQUEST": [(9.0, SERVED + TOO_LONG + OOM)],
    "CONFIDENCE": [({"certain": 0.5, "strong": 0.5, "weak": 0.5, "guess": 0.5}, START + OOM)],
    "QUOTED_LESS": [(0.0, QUOTED)],
    "THIN_BELOW": [(9.0, START + OOM)],
    "THIN_LESS": [(0.4, example("client_connection/unauthorized-client"))],
    "CLOSE": [(90.0, START + CACHE + PORT)],
    "CLOSE_LESS": [(0.0, example("compile_failure/compile-innermost"))],
    "WRAPPER": [
        (dict.fromkeys(policy.WRAPPER, 0.3), log)
        for log in (example("worker_died/v1-worker-died"), START + READY + DEAD, example("nccl_hang/shm-no-block"))
    ],
    "SILENT_END": [(0.3, SILENT)],
    "UNEXPLAINED": [(0.9, START + STRANGE)],
    "UNEXPLAINED_AFTER_READY": [(0.9, SERVED + STRANGE)],
    "BUG": [(0.2, START + BUG)],
    "PLACE": [(0.2, START + KERNEL)],
    "STOPPED": [(0.3, SERVED + STOP)],
    "CAME_UP": [(0.3, SERVED)],
    "STARTING": [(0.3, START)],
    "NO_SIGN": [(0.3, LOGGED)],
    "ERRORS_LESS": [(0.4, START + ODD + READY)],
    "SILENT_WITHIN": [(-1, SILENT)],
    "OTHER_SOFTWARE": [(0.3, FOREIGN)],
    "PART": [(0.2, "larger than the available KV cache memory (5.12 GiB).\n")],
    "COMPLAINED": [(0.2, f"It hangs after the first request.\n\n{SERVED}")],
    "NOTHING": [(0.3, "root:x:0:0:root:/root:/bin/bash\nbin:x:2:2:bin:/bin:/usr/sbin/nologin\n")],
}
BY_MODEL = {
    "GUESS",
    "GUESS_OVER_BUG",
    "GUESS_OVER_WEAK",
    "GUESS_OVER_DEATH",
    "GUESS_TRUST",
    "MESSAGE",
    "MESSAGE_OF_MODULE",
    "FRAMES_MUCH",
    "FRAMES_SOME",
}
"""Held by the tests below, those of the frames in test_frames.py: they need a guess, or a row of the catalogue, that does not change when either is made anew."""


WATCHED_LIVE = {"STOOD_STILL"}
"""Held in test_standstill.py: it needs a log that is followed."""


def answer_to(log: str) -> tuple[str, float, list[int], tuple[Alternative, ...]]:
    answer = TRIAGE.report(log)
    return answer.cause, answer.confidence, [item.line for item in answer.evidence], answer.alternatives


@pytest.mark.parametrize(("name", "value", "log"), [(name, *case) for name, cases in HELD.items() for case in cases])
def test_a_number_moves_an_answer(name: str, value: object, log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = answer_to(log)
    monkeypatch.setattr(policy, name, value)
    assert before != answer_to(log)


def test_every_number_is_held() -> None:
    numbers = {name for name in vars(policy) if name.isupper()} - {"SURE", "TRUST"}
    assert numbers == set(HELD) | set(AT_WORK) | BY_MODEL | WATCHED_LIVE


AT_WORK: dict[str, tuple[float, str, float, int]] = {
    "WATCHED": (9e9, STALLED, 60.0, 2),
    "WATCHED_LINES": (99, FULL, 1.0, 12),
    "STALLED": (0.5, STALLED, 1.0, 3),
    "STALLED_BRIEFLY": (0.5, STALLED, 1.0, 1),
    "DEGRADED": (0.5, FULL, 60.0, 2),
    "DEGRADED_BRIEFLY": (0.5, FULL, 1.0, 2),
}
"""Number, another value for it, and a state of a server at work (kind, seconds, lines) that has another confidence then."""


@pytest.mark.parametrize("name", AT_WORK)
def test_a_number_moves_how_sure_a_state_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value, kind, seconds, lines = AT_WORK[name]
    state: Any = SimpleNamespace(stalled=kind == STALLED, seconds=seconds, lines=lines)
    before = confidence(state)
    monkeypatch.setattr(policy, name, value)
    assert before != confidence(state)


class Guessed:
    """A guess of the text model with a probability of our choosing."""

    threshold = 0.7
    own = False

    def __init__(self, bucket: str, probability: float) -> None:
        self.bucket, self.probability = bucket, probability
        self.ranked = [(bucket, probability)]
        self.reasons: list[Any] = []
        self.evidence: list[Any] = []
        self.terms: set[str] = set()
        self.frames: list[str] = []
        self.cause = ""

    def described(self) -> str:
        return "guessed"


@pytest.mark.parametrize(
    ("least", "log", "decider"),
    [
        (policy.GUESS, START + STRANGE, unexplained_trouble),
        (policy.GUESS_OVER_BUG, START + BUG, unexplained_trouble),
        (policy.GUESS, START + "cogs.cpp:62: Assertion `cog < teeth` failed\n", unaccounted),
        (policy.GUESS_OVER_WEAK, START + WEAK, surer_model),
        (policy.GUESS_OVER_DEATH, SERVED + DEAD, surer_model),
    ],
)
def test_the_model_answers_from_its_threshold_on(least: float, log: str, decider: Any) -> None:
    """And not below; another threshold would move one of the two."""
    answers = []
    for probability in (least - 0.01, least + 0.01):
        found = findings(log, WITH_MODEL)
        found.__dict__["guess"] = Guessed("kv_transfer", probability)
        answer = decider(found)
        answers.append(answer is not None and answer.decided_by == "model")
    assert [False, True] == answers


def test_a_guess_beside_silent_rules_is_less_sure_than_the_model_says() -> None:
    """The model alone, or one of the user's own, says what it means; an even chance stays one."""
    found = findings(START + STRANGE, WITH_MODEL)
    told = []
    for probability in (0.5, 0.9):
        found.__dict__["guess"] = Guessed("kv_transfer", probability)
        told.append(unexplained_trouble(found).confidence)  # type: ignore[union-attr]
    own = Guessed("kv_transfer", 0.9)
    own.own = True
    found.__dict__["guess"] = own

    assert [0.5, round(0.5 + policy.GUESS_TRUST["model"] * 0.4, 3)] == told
    assert 0.9 == unexplained_trouble(found).confidence  # type: ignore[union-attr]


def test_what_the_catalogue_names_has_the_confidence_of_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm_triage.corpus.messages.matching import Matcher
    from vllm_triage.corpus.messages.row import Label, Row

    row = Row("vllm", "the seventh cog is gone", "raise", "CogError", "x", "y", 1, "0.9.0", "",
              Label("lora", "", "user", "start", True, "read"))  # fmt: skip
    monkeypatch.setattr(type(TRIAGE.corpus), "messages", lambda self: Matcher([row]))
    assert policy.MESSAGE == TRIAGE.report(START + STRANGE).confidence
