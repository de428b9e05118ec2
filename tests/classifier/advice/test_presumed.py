"""Fixes that presume what the log does not bear out are left out: another program, features that are off, a start without requests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixes import context, guarded
from tests.fixes import made as fix
from vllm_triage.classifier import triage
from vllm_triage.classifier.advice.context import Context
from vllm_triage.classifier.lines.types import Frame, Trace


def trace(kind: str, *places: str, message: str = "boom") -> Trace:
    """Return an exception raised within places, ``path:function``, outermost first."""
    frames = [Frame(path, function, "code()") for path, _, function in (place.rpartition(":") for place in places)]
    return Trace(1, 1, "", kind, message, frames)


def situation(
    words: str = "vllm", raised: Trace | None = None, ranks: int = 1, stranger: bool = False, **facts: Any
) -> Context:
    """Return a failed start."""
    release = facts.pop("vllm_version", "0.19.1")
    return context(words, release, ranks=ranks, words=words, trace=raised, stranger=stranger, **facts)


def reason(change: str, kind: str = "flag", *tags: str, **situated: Any) -> str:
    """Return what speaks against a fix with these tags."""
    made = fix(change, kind, tags=tags)
    return guarded(made, situation(**situated))[1]


@pytest.mark.parametrize(
    ("change", "kind", "left_out"),
    [
        ("--max-model-len 8", "flag", True),
        ("VLLM_USE_V1=0", "env", True),
        ("NCCL_DEBUG=INFO", "env", False),
        ("VLLM_USE_V1=0 vllm serve m", "command", True),
        ("pip install -U vllm", "command", True),
        ("pip install -U torch", "command", False),
        ("Look at dmesg", "step", False),
    ],
)
def test_another_program_has_none_of_vllms_settings(change: str, kind: str, left_out: bool) -> None:
    """What is anybody's stays."""
    assert bool(reason(change, kind, stranger=True)) is left_out
    assert reason(change, kind) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("leave out --enable-lora", "lora_path=x"),
        ("--speculative-config '{}'", "draft model"),
        ("--master-port 8001", "--nnodes 2"),
        ("--moe-backend triton", "fused_moe/layer.py"),
        ("leave out --kv-transfer-config", "NixlConnector"),
    ],
)
def test_a_feature_must_show(change: str, words: str) -> None:
    """It is off by default, so without a word of it there is nothing to change."""
    assert reason(change, words=words) == ""
    assert reason(change, words="ValueError: boom").startswith("nothing in the log shows ")
    assert reason(change, words="") == ""


def test_graphs_that_are_off() -> None:
    """Eager mode records none."""
    graphs = '--compilation-config \'{"cudagraph_mode": "NONE"}\''
    assert reason(graphs, enforce_eager=True) == "CUDA graphs are off already (--enforce-eager)"
    assert reason(graphs, enforce_eager=False) == reason(graphs) == ""


@pytest.mark.parametrize(
    ("kind", "place", "message", "left_out"),
    [
        ("KeyError", "vllm/v1/core/sched/scheduler.py:schedule", "boom", True),
        ("RuntimeError", "vllm/v1/core/sched/scheduler.py:schedule", "boom", False),
        ("KeyError", "vllm/compilation/backends.py:call", "boom", False),
        ("TypeError", "vllm/v1/worker/gpu_worker.py:execute", "in the captured graph", False),
    ],
)
def test_eager_mode_does_not_change_pythons_errors(kind: str, place: str, message: str, left_out: bool) -> None:
    """But where something was compiled or captured."""
    raised = trace(kind, place, message=message)
    assert bool(reason("--enforce-eager", raised=raised)) is left_out
    assert reason("--seed 1", raised=raised) == ""
    assert reason("--enforce-eager", raised=trace(kind)) == ""


def test_no_request_was_there_before_the_start() -> None:
    """Steps of clients cannot help where profiling failed."""
    profiled = trace("RuntimeError", "vllm/v1/worker/gpu_model_runner.py:profile_run")
    asked = "the start failed: there was no request yet"
    assert reason("Shorten it", "step", "of_requests", raised=profiled) == asked
    assert reason("Set the file's name", "step", raised=profiled) == ""
    elsewhere = trace("RuntimeError", "vllm/v1/engine/core.py:step")
    assert reason("Shorten it", "step", "of_requests", raised=elsewhere) == ""


def test_containers_where_there_is_none() -> None:
    """An environment in a home folder is no image's."""
    home = "File /home/ada/miniconda3/envs/x/lib/python3.11/site-packages/vllm/a.py"
    assert reason("docker run --ipc=host", "command", "container", words=home)
    assert reason("docker run x", "command", words=home) == ""
    assert reason("docker run --ipc=host", "command", "container", words=f"{home} docker") == ""
    image = "File /usr/local/lib/python3.12/dist-packages/vllm/a.py"
    assert reason("docker run --ipc=host", "command", "container", words=image) == ""


@pytest.mark.parametrize(
    ("change", "facts", "left"),
    [
        ("--max-num-batched-tokens 1024 --max-num-seqs 64", {"engine": "V0", "max_model_len": 4096}, "--max-num-seqs 64"),
        ("--max-num-batched-tokens 1024 --max-num-seqs 64", {"engine": "V0"}, "--max-num-seqs 64"),
        ("--max-num-batched-tokens 4096", {"engine": "V0", "max_model_len": 4096}, "--max-num-batched-tokens 4096"),
        ("--max-num-batched-tokens 1024", {"engine": "V0", "max_model_len": 4096}, None),
        ("--max-num-batched-tokens 1024", {"engine": "V0", "arguments": {"enable_chunked_prefill": True}}, "--max-num-batched-tokens 1024"),
        ("--max-num-batched-tokens 1024", {"max_model_len": 4096}, "--max-num-batched-tokens 1024"),
        ("--max-num-batched-tokens 1024", {"max_model_len": 4096, "arguments": {"enable_chunked_prefill": False}}, None),
        ("--enforce-eager --disable-custom-all-reduce", {"tensor_parallel_size": 1}, "--enforce-eager"),
        ("--enforce-eager --disable-custom-all-reduce", {}, "--enforce-eager --disable-custom-all-reduce"),
        ("NCCL_P2P_DISABLE=1 vllm serve m … --disable-custom-all-reduce", {"tensor_parallel_size": 1}, None),
        ("NCCL_P2P_DISABLE=1 vllm serve m …", {"tensor_parallel_size": 2}, "NCCL_P2P_DISABLE=1 vllm serve m …"),
        ("--disable-custom-all-reduce", {"tensor_parallel_size": 1, "ranks": 2}, "--disable-custom-all-reduce"),
    ],
)  # fmt: skip
def test_parts_that_cannot_matter_go(change: str, facts: dict[str, Any], left: str | None) -> None:
    """A limit below the context without chunked prefill, an exchange between GPUs where there is one."""
    fitting, _ = guarded(fix(change), situation(**facts))
    assert (fitting.change if fitting else None) == left


def test_a_script_that_is_not_vllm() -> None:
    """Whole: none of the first fixes names vLLM's options, where the same words in vLLM's stack get them."""
    error = "RuntimeError: CUDA error: an illegal memory access was encountered"
    theirs = f'Traceback (most recent call last):\n  File "/srv/train/fit.py", line 4, in fit\n    step()\n{error}'
    ours = theirs.replace("/srv/train/fit.py", "/srv/site-packages/vllm/v1/worker/gpu_worker.py")
    assert not any("--" in (each.change or "") or "vllm serve" in (each.change or "") for each in triage(theirs).fixes)
    assert any("vllm serve" in (each.change or "") for each in triage(ours).fixes)


@pytest.mark.parametrize(
    ("words", "facts", "left_out"),
    [
        ("Tesla T4", {}, True),
        ("vllm", {"gpu_name": "Tesla V100-SXM2-16GB"}, True),
        ("compute capability 7.5", {}, True),
        ("vllm", {"gpu_name": "NVIDIA A100"}, False),
        ("vllm", {}, False),
    ],
)
def test_bfloat16_on_gpus_that_have_none(words: str, facts: dict[str, Any], left_out: bool) -> None:
    """It came with Ampere."""
    assert bool(reason("--dtype bfloat16", words=words, **facts)) is left_out
    assert reason("--dtype half", words=words, **facts) == ""


ASCEND = """\
(EngineCore_DP0 pid=66) ERROR 10-30 11:08:19 [core.py:708] Traceback (most recent call last):
(EngineCore_DP0 pid=66) ERROR 10-30 11:08:19 [core.py:708]   File "/usr/lib/python3.11/site-packages/{frame}", line 12, in prepare
(EngineCore_DP0 pid=66) ERROR 10-30 11:08:19 [core.py:708]     x = y[3]
(EngineCore_DP0 pid=66) ERROR 10-30 11:08:19 [core.py:708]   File "/usr/lib/python3.11/site-packages/{inner}", line 21, in _prepare_inputs
(EngineCore_DP0 pid=66) ERROR 10-30 11:08:19 [core.py:708]     x = y[3]
(EngineCore_DP0 pid=66) ERROR 10-30 11:08:19 [core.py:708] IndexError: index 3 is out of bounds for axis 0 with size 2
"""


@pytest.mark.parametrize(
    ("frame", "inner", "name"),
    [
        ("vllm/v1/engine/core.py", "vllm_ascend/worker/model_runner_v1.py", "vllm-ascend"),
        ("verl/workers/rollout.py", "vllm/v1/worker/gpu_model_runner.py", "verl"),
        ("vllm/v1/engine/core.py", "vllm/v1/worker/gpu_model_runner.py", ""),
    ],
)
def test_who_pins_vllm_is_upgraded_with_it(frame: str, inner: str, name: str) -> None:
    report = triage(ASCEND.format(frame=frame, inner=inner))
    upgrades = [fix.change for fix in report.fixes if "pgrade" in fix.change or "install" in fix.change]
    assert upgrades
    assert all(change.startswith(f"Upgrade {name}, and vLLM") for change in upgrades) is bool(name)


def test_a_log_of_debug_lines_is_not_asked_for_debug_lines() -> None:
    wrapper = "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
    debug = "(APIServer pid=1) DEBUG 10-30 11:08:19 [utils.py:708] Waiting for 1 local, 0 remote core engine proc(s) to connect.\n"
    asked = [
        any("VLLM_LOGGING_LEVEL=DEBUG" in fix.change for fix in triage(text).fixes)
        for text in (wrapper, debug + wrapper)
    ]
    assert asked == [True, False]


def test_a_share_of_a_gpu_of_unknown_size_goes_with_the_context_that_fits() -> None:
    line = (
        "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in "
        "KV cache ({}). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n"
    )
    shares = [
        [fix.change for fix in triage(line.format(fits)).fixes if "--gpu-memory-utilization" in fix.change]
        for fits in (8192, 30000)
    ]
    assert all("--max-model-len 8192" in change for change in shares[0])
    assert shares[0]
    assert not any("--max-model-len" in change for change in shares[1])


@pytest.mark.parametrize(
    ("process", "place", "left_out"),
    [
        ("EngineCore_DP0", "vllm/multimodal/processing.py:_call_hf_processor", True),
        ("APIServer", "vllm/multimodal/processing.py:_call_hf_processor", False),
        ("", "vllm/multimodal/profiling.py:_get_dummy_mm_inputs", True),
        ("EngineCore_DP0", "vllm/v1/worker/gpu_model_runner.py:execute_model", False),
    ],
)
def test_nobody_sent_the_media_on_which_vllm_profiles(process: str, place: str, left_out: bool) -> None:
    """Requests' media are processed in the API server; what helps is another release."""
    raised = trace("ValueError", place)
    raised.process = process
    assert bool(reason("Send RGB images", "step", "media", raised=raised)) is left_out


@pytest.mark.parametrize("change", ["--tensor-parallel-size 2", "--cpu-offload-gb 8"])
def test_a_machine_with_one_gpu_and_one_memory_gets_neither_more_gpus_nor_the_hosts_memory(change: str) -> None:
    """Jetson and its like."""
    assert reason(change, words="vllm\nNvMapMemAllocInternalTagged: 1 error 12")
    assert reason(change, words="vllm NVIDIA L4") == ""
    assert reason("--tensor-parallel-size 1", words="Jetson AGX Orin vllm") == ""


@pytest.mark.parametrize(("words", "left_out"), [("2x V100 32GB", True), ("Tesla T4", False), ("NVIDIA L4", False)])
def test_marlin_needs_turing(words: str, left_out: bool) -> None:
    """Releases differ on Turing; below it no release has the kernels."""
    assert bool(reason("--quantization gptq_marlin   # awq_marlin for AWQ", words=f"vllm {words}")) is left_out
