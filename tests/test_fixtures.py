"""Whole logs: each must be answered as it is marked, however it comes wrapped."""

from __future__ import annotations

import os

import pytest

from tests.everyday import sample
from tests.fixtures.marked import FOLDER, Marked, bless, complaints, read_marked
from tests.fixtures.servers import healthy_server
from tests.fixtures.wrappers import WRAPPERS, after_another_start
from vllm_triage.classifier.api import Triage, shared
from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.testing import CORPUS

PATHS = sorted(FOLDER.glob("*.log"))
LAST = 200

# A log in which another server goes on answering is not silent, and not a failed start.
SILENT = {"nccl_hang-0.19.1-silent", "unknown-0.26.0"}
# Logs in which no server says that it starts: what follows a stop belongs to that stop.
NO_START = {
    "client_connection-refused", "engine_dead-0.9.2", "install_mismatch-0.13.0", "platform_unsupported-windows", "process_start_method-0.7.3",
}  # fmt: skip


@pytest.fixture
def triage() -> Triage:
    """The engine with the built-in corpus."""
    return shared()


@pytest.fixture(params=PATHS, ids=lambda path: path.stem)
def marked(request) -> Marked:
    """One marked log after the other."""
    return read_marked(request.param)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_log_is_answered_as_it_is_marked(path, triage):
    """Cause, the line that proves it, and the values that were read out of it."""
    if os.environ.get("TRIAGE_BLESS"):
        bless(path, triage)
    marked = read_marked(path)

    assert complaints(marked, triage.report(marked.log), triage) == []


def test_every_bucket_has_a_log():
    """No kind of failure is known by its examples alone."""
    buckets = {path.stem for path in (CORPUS / "buckets").glob("*.toml")}

    assert buckets - {read_marked(path).bucket for path in PATHS} == set()


def test_file_names_tell_the_bucket():
    """A log is found by what it is."""
    assert [path.name for path in PATHS if path.stem.partition("-")[0] != read_marked(path).bucket] == []


def _told(marked: Marked, triage: Triage, log: str | bytes) -> tuple[str, bool]:
    """Return the bucket of a log, and whether the marked line is still what proves it."""
    answer = triage.report(log)
    proof = split_line(1, marked.proof).text.strip()
    shown = any(proof in item.text for item in answer.evidence)
    return answer.bucket, shown or marked.bucket == "no_failure"


@pytest.mark.parametrize(
    ("path", "wrapper"),
    sample(pytest.param(path, WRAPPERS[name], id=f"{path.stem}-{name}") for path in PATHS for name in WRAPPERS),
)
def test_a_wrapped_log_is_answered_the_same(path, wrapper, triage):
    """Containers, clusters, terminals, mails: the same bucket, proved by the same line."""
    marked = read_marked(path)
    if wrapper.__name__ == "beside_another_server" and marked.name in SILENT:
        pytest.skip("does not apply: the other server's lines change what the log says")

    assert _told(marked, triage, wrapper(marked.log)) == (marked.bucket, True)


def test_a_log_after_another_start_is_answered_the_same(marked, triage):
    """The last start counts; one before it that went well changes nothing."""
    if marked.name in NO_START:
        pytest.skip("does not apply: the log says nowhere that a server starts")

    assert _told(marked, triage, after_another_start(marked.log)) == (marked.bucket, True)


def test_the_end_of_a_long_log_is_answered_the_same(marked, triage):
    """What `docker logs --tail 200` shows: the start is gone, the failure is there."""
    lines = [*healthy_server(400, seed=11, start=False), *marked.log.rstrip("\n").split("\n")][-LAST:]

    assert _told(marked, triage, "\n".join(lines)) == (marked.bucket, True)


def flood(requests: int = 93, errors: int = 41_000) -> str:
    """Return the log of a server of four GPUs whose worker dies under load: the cause in 300 lines, the cascade in thousands.

    Every request in flight gets its own traceback from the API server; part of them is written before the worker's own
    error reaches the log.
    """
    path = "/usr/local/lib/python3.12/dist-packages/vllm"
    worker = "(Worker_TP2 pid=4202) ERROR 11-04 11:20:07 [multiproc_executor.py:671]"
    fault = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    stack = [
        f'  File "{path}/model_executor/models/llama.py", line {300 + depth}, in forward\n    hidden_states = self.layer_{depth}(hidden_states)'
        for depth in range(140)
    ]
    cause = [
        "WorkerProc hit an exception.", "Traceback (most recent call last):",
        f'  File "{path}/v1/executor/multiproc_executor.py", line 666, in worker_busy_loop', "    output = func(*args, **kwargs)",
        *"\n".join(stack).split("\n"), fault, "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1", "",
    ]  # fmt: skip
    cascade = []
    for request in range(requests):
        source = f"(APIServer pid=4127) ERROR 11-04 11:20:07 [serving_chat.py:{1000 + request % 7}]"
        frames = [
            f'  File "{path}/entrypoints/openai/serving_chat.py", line {500 + depth}, in step_{depth}\n    await self.next_{depth}()'
            for depth in range(218)
        ]
        end = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
        text = [
            "Error in chat completion stream generator.",
            "Traceback (most recent call last):",
            *"\n".join(frames).split("\n"),
            end,
        ]
        cascade.append([f"{source} {line}" for line in text])
    before, after = cascade[: requests // 3], cascade[requests // 3 :]
    lines = [
        *healthy_server(3000, seed=2), *(line for block in before for line in block), *(f"{worker} {line}" for line in cause),
        "(EngineCore_DP0 pid=4190) ERROR 11-04 11:20:07 [core.py:710] EngineCore encountered a fatal error.", *(line for block in after for line in block),
    ]  # fmt: skip
    assert sum(" ERROR " in line for line in lines) >= errors - 500
    return "\n".join(lines)


@pytest.mark.slow
def test_the_cause_is_found_under_the_cascade_of_all_requests_in_flight(triage):
    """One dead worker, 93 requests, 41,000 error lines: the answer is what the worker said."""
    answer = triage.report(flood())

    assert (answer.cause, answer.evidence[0].process) == ("gpu_fault/illegal_memory_access", "Worker_TP2")
    assert "EngineDeadError" in answer.symptoms[0].text


MARKED = "INFO: start\nValueError: No available memory for the cache blocks (⟦gib=⟧5.1⟦/⟧). ⟦kv_cache_oom/no_cache_blocks⟧\nbye\n"


def test_marks_are_taken_out(tmp_path):
    """The engine never sees them."""
    path = tmp_path / "x.log"
    path.write_text(MARKED)
    marked = read_marked(path)

    assert marked.log == "INFO: start\nValueError: No available memory for the cache blocks (5.1).\nbye\n"
    assert (marked.cause, marked.line, marked.values) == ("kv_cache_oom/no_cache_blocks", 2, [("gib", "5.1")])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            MARKED.replace("kv_cache_oom/no_cache_blocks", "nccl_hang/p2p_check"),
            "expected nccl_hang/p2p_check, got kv_cache_oom",
        ),
        (
            MARKED.replace(" ⟦kv_cache_oom/no_cache_blocks⟧", "").replace("bye", "bye ⟦kv_cache_oom/no_cache_blocks⟧"),
            "expected line 3",
        ),
        (MARKED, "gib: expected '5.1', got None"),
    ],
)
def test_a_log_that_moved_is_told(tmp_path, wrong, words, triage):
    """Another cause, another line, another value: each is named."""
    path = tmp_path / "x.log"
    path.write_text(wrong)
    marked = read_marked(path)

    assert words in " ".join(complaints(marked, triage.report(marked.log), triage))


def test_blessing_writes_what_is_answered_now(tmp_path, triage):
    """The verdict moves to where the engine lands, values that it does not read lose their mark."""
    path = tmp_path / "x.log"
    path.write_text("ValueError: No available memory for the cache blocks (⟦gib=⟧5.1⟦/⟧).\nbye ⟦nccl_hang/p2p_check⟧\n")
    bless(path, triage)

    assert (
        path.read_text()
        == "ValueError: No available memory for the cache blocks (5.1). ⟦kv_cache_oom/no_cache_blocks⟧\nbye\n"
    )


@pytest.mark.parametrize("text", ["no mark\n", "one ⟦a/b⟧\ntwo ⟦c/d⟧\n"])
def test_a_log_has_one_verdict(tmp_path, text):
    """None, or two, is a slip."""
    path = tmp_path / "x.log"
    path.write_text(text)

    with pytest.raises(ValueError, match="one line must end with the verdict"):
        read_marked(path)
