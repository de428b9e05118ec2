"""One cause, several messages: what a name, a frame or a number of the log excludes is not advised, and what it names comes first."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

HEAD = "INFO 11-02 10:00:00 [api_server.py:1805] vLLM API server version {}\n"
STACK = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/{}", line 5, in {}
    {}
{}
"""
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 79.25 GiB of which 90.50 MiB is free. "
    "{}Including non-PyTorch memory, this process has 8.31 GiB memory in use. Of the allocated memory 7.90 GiB is allocated by PyTorch"
)
SILENT = (
    HEAD.format("0.11.0")
    + """(APIServer pid=1) INFO 11-02 10:00:01 [utils.py:233] non-default args: {'model': 'acme/m-70b'}
(EngineCore_DP0 pid=9) INFO 11-02 10:00:12 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='acme/m-70b'
(EngineCore_DP0 pid=9) INFO 11-02 10:00:20 [gpu_model_runner.py:2602] Starting to load model acme/m-70b...
Loading safetensors checkpoint shards:  12% Completed | 1/8 [00:40<04:40, 40.1s/it]
"""
)
NOT_READY = (
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
)


def test_a_fault_on_amds_gpu_tries_the_other_attention_kernels_before_an_image() -> None:
    """Where the log tells that the kernels are those of ROCM_ATTN; elsewhere the switch is none."""
    fault = "(EngineCore_DP0 pid=9) torch.AcceleratorError: HIP error: an illegal memory access was encountered\n"
    named = HEAD.format("0.14.1") + "INFO 11-02 10:00:20 [rocm.py:301] Using Rocm Attention backend.\n" + fault
    assert triage(named.encode()).fixes[0].change == "--attention-backend TRITON_ATTN"
    assert all("TRITON_ATTN" not in fix.change for fix in triage((HEAD.format("0.14.1") + fault).encode()).fixes)


def test_stacks_with_bare_file_names_of_vllm_are_not_the_callers() -> None:
    """`llm_engine.py` and `weight_utils.py` are vLLM's, whatever folder was cut off."""
    own = (
        'Traceback (most recent call last):\n  File "run.py", line 9, in <module>\n    engine = AsyncLLMEngine.from_engine_args(args)\n'
        "  File \"{}.py\", line 5, in main\n    for row in rows:\nTypeError: 'Rows' object is not iterable\n"
    )
    assert triage(own.format("helper").encode()).cause == "unknown/callers_code"
    assert triage(own.format("weight_utils").encode()).cause != "unknown/callers_code"


HOLDERS = "Process 811 has 412.00 MiB memory in use. Process 4711 has {} GiB memory in use. "
PLACES = [
    ("vllm/v1/worker/gpu_model_runner.py", "profile_run", "self._dummy_run(n)"),
    ("vllm/v1/worker/gpu_model_runner.py", "capture_model", "self._capture(shape)"),
    ("vllm/model_executor/models/qwen2_vl.py", "_process_image_input", "self.visual(pixel_values)"),
    ("vllm/v1/worker/gpu_model_runner.py", "execute_model", "logits = self.model(tokens)"),
    ("vllm/model_executor/models/llama.py", "load_weights", "param.copy_(loaded_weight)"),
]


@pytest.mark.parametrize("place", PLACES)
def test_another_process_goes_before_what_takes_from_our_own(place: tuple[str, str, str]) -> None:
    """Wherever the allocation failed: what holds most of the GPU is looked at first, and less of our own is not offered."""
    log = HEAD.format("0.11.0") + STACK.format(*place, OOM.format(HOLDERS.format("60.80")))
    report = triage(log.encode())
    assert report.fixes[0].title == "Stop the other process, or wait until it is gone"
    assert "-p 4711" in report.fixes[0].change
    assert all(fix.kind != "flag" for fix in report.fixes)


@pytest.mark.parametrize(("held", "pid"), [("2.10", False), ("12.00", True)])
def test_a_process_that_holds_little_is_not_in_the_way(held: str, pid: bool) -> None:
    """Below a tenth of the GPU it is a desktop or a monitor; below a half our own settings still count."""
    log = HEAD.format("0.11.0") + STACK.format(*PLACES[0], OOM.format(HOLDERS.format(held)))
    report = triage(log.encode())
    assert any("-p 4711" in fix.change for fix in report.fixes) is pid
    assert any(fix.kind == "flag" for fix in report.fixes)


def test_a_trainer_shares_the_gpu_on_purpose() -> None:
    """What holds the memory there is the trainer itself."""
    log = "(WorkerDict pid=7) " + STACK.format(*PLACES[0], OOM.format(HOLDERS.format("60.80")))
    assert all("-p 4711" not in fix.change for fix in triage(log.encode()).fixes)


def test_a_line_that_two_rules_know_is_shown_once() -> None:
    """As evidence and as a symptom."""
    report = triage((SILENT + NOT_READY).encode())
    lines = [item.line for item in (*report.evidence, *report.symptoms)]
    assert len(lines) == len(set(lines)) > 0
