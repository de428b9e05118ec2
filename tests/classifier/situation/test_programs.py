"""Whose program printed a text, by marks that speak for it."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage
from vllm_triage.classifier.facts.changed import changed_in
from vllm_triage.classifier.lines.types import Frame
from vllm_triage.classifier.situation.programs import program_of


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("(APIServer pid=4) INFO 10-10 10:00:00 [api_server.py:12] Starting", "server", ""),
        ("llm = LLM(model='a/b')\nRuntimeError: x", "script", ""),
        ('  File "/opt/verl/workers/fsdp_workers.py", line 3, in f', "framework", "verl"),
        ("(ServeReplica:app:LLM pid=3) RuntimeError: x", "framework", "Ray Serve"),
        ("openai.APIConnectionError: Connection error.", "client", ""),
        ("curl: (7) Failed to connect to localhost port 8000", "client", ""),
        ("E       AssertionError: x\ntests/test_a.py:12: AssertionError", "test", "pytest"),
        ("ERROR: Failed building wheel for thing", "build", ""),
        ("slurmstepd: error: Detected 1 oom_kill event", "machine", ""),
        ('  File "/opt/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 3, in f', "vllm", ""),
        ("the openai answer was slow", "", ""),
    ],
)
def test_marks_tell_the_program(text: str, kind: str, name: str) -> None:
    """A word that merely names a program is no mark of it."""
    program = program_of(text)
    assert (kind, name) == (program.kind, program.name)


def test_a_folder_called_after_an_engine_is_not_that_engine() -> None:
    """A virtual environment within a folder of that name runs vLLM all the same."""
    line = "(RayWorkerWrapper pid=7) frame #1: c10d::check() (0x7f in /root/sglang/venv/lib/libtorch_cuda.so)\n"
    report = triage(line * 8 + "(RayWorkerWrapper pid=7) RuntimeError: NCCL watchdog timeout\n")
    assert not any("SGLang" in note for note in report.notes)


def frame(path: str, function: str, code: str) -> Frame:
    return Frame(path=path, number=1, function=function, code=code)


def test_code_that_no_release_has_is_a_changed_checkout() -> None:
    """Three lines are those of releases, the innermost is none's; what was cut is no proof."""
    stack = [
        frame("vllm/v1/engine/core.py", "run_busy_loop", "self._process_engine_step()"),
        frame("vllm/v1/engine/core.py", "_process_engine_step", "outputs, model_executed = self.step_fn()"),
        frame("vllm/v1/engine/core.py", "step", "model_output = future.result()"),
    ]
    own = frame("vllm/v1/engine/core.py", "step", "self.my_own_probe(model_output)")
    assert changed_in([*stack, own]) == "vllm/v1/engine/core.py:step"
    assert changed_in(stack) == ""
    assert changed_in([*stack, frame(own.path, own.function, "self.my_own_pro...")]) == ""
    assert changed_in([own]) == ""


def test_another_engine_gets_no_command_of_vllm() -> None:
    """With any exception: the words may be ours, the program is not."""
    log = (
        "[2026-03-01 10:00:00] server_args=ServerArgs(model_path='a/b')\n"
        '  File "/opt/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 3, in run\n'
        "RuntimeError: CUDA error: an illegal memory access was encountered\n"
    )
    assert not any("vllm" in fix.change for fix in triage(log).fixes)
