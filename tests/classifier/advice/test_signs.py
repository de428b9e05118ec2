"""What an error's words, stack and processes tell where the lines of the start are missing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_triage.classifier import triage
from vllm_triage.classifier.advice.sources.cause import advise
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.situation import platforms
from vllm_triage.classifier.situation.platforms import ranks_of, told_by
from vllm_triage.corpus.types import Cause, Fix


@pytest.mark.parametrize(
    ("words", "facts", "platform"),
    [
        ("vllm_ascend/attention/attention_v1.py:build", {}, "npu"),
        ("RuntimeError: NPU out of memory. Tried to allocate 1.00 GiB", {}, "npu"),
        ("neuronx_distributed_inference/modules/attention/gqa.py:get_weight", {}, "neuron"),
        ("vllm/v1/worker/xpu_model_runner.py:__init__", {}, "xpu"),
        ("site-packages/vllm-0.11.0+xpu-py3.12.egg/vllm/v1/core.py", {}, "xpu"),
        ("vllm/executor/cpu_executor.py:_create_worker", {}, "cpu"),
        ("vllm/v1/worker/tpu_worker.py:compile_or_warm_up_model", {}, "tpu"),
        ("vllm-0.7.2+gaudi000-py3.10.egg/vllm/scripts.py", {}, "hpu"),
        ("Using ROCmFlashAttention backend.", {"platform": "cuda"}, "rocm"),
        ("Using ROCmFlashAttention backend.", {}, "rocm"),
        ("torch_npu is not installed", {"platform": "cuda"}, "cuda"),
        ("hipErrorNoBinaryForGpu", {"platform": "npu"}, "npu"),
        ("vllm/v1/worker/gpu_model_runner.py:execute_model", {}, ""),
        ("the cannon of documents", {}, ""),
    ],
)
def test_platform(words: str, facts: dict[str, Any], platform: str) -> None:
    """Facts go first, but for AMD's GPUs, which PyTorch calls CUDA's."""
    assert platform == told_by(words, facts).get("platform", "")


@pytest.mark.parametrize(
    ("words", "facts", "engine"),
    [
        ("vllm/worker/model_runner.py:capture_model", {}, "V0"),
        ("vllm/engine/llm_engine.py:_init_workers", {}, "V0"),
        ("vllm/v1/engine/llm_engine.py:step\nvllm/engine/llm_engine.py:step", {}, "V1"),
        ("vllm/model_executor/models/llama.py:forward", {}, ""),
        ("vllm/worker/model_runner.py:capture_model", {"engine": "V1"}, "V1"),
    ],
)
def test_engine(words: str, facts: dict[str, Any], engine: str) -> None:
    assert engine == told_by(words, facts).get("engine", "")


@pytest.mark.parametrize(
    ("processes", "ranks"),
    [
        (set(), 1),
        ({"EngineCore_DP0", "APIServer"}, 1),
        ({"Worker_TP0"}, 2),
        ({"Worker_TP3", "Worker_TP0"}, 4),
        ({"Worker_DP0_TP6_EP6"}, 7),
        ({"VllmWorker rank=5"}, 6),
        ({"VllmWorkerProcess"}, 2),
        ({"RayWorkerWrapper pid=7, ip=10.0.0.9"}, 2),
    ],
)
def test_ranks(processes: set[str], ranks: int) -> None:
    assert ranks == ranks_of(processes)


def shown(words: str, **keys: Any) -> list[str]:
    """Return the titles of the fixes that are left where a log says something."""
    fixes = (
        Fix("plain", "step", (("step", "x"),), "W.", "none"),
        Fix("presumes", "step", (("step", "y"),), "W.", "none", **keys),
    )
    cause = Cause("b/c", "t", "s", fixes=fixes)
    return [fix.title for fix in advise(cause, {}, {}, say=lambda pattern: pattern in words)]


def test_a_fix_is_shown_where_the_log_says_what_it_presumes() -> None:
    assert shown("flashinfer/jit/core.py", mentions="flashinfer") == ["plain", "presumes"]
    assert shown("triton/runtime/jit.py", mentions="flashinfer") == ["plain"]
    assert shown("Building editable", unless_mentions="Building") == ["plain"]
    assert shown("flashinfer", unless_mentions="Building") == ["plain", "presumes"]


def ordered(words: str, facts: dict[str, object], **keys: Any) -> list[str]:
    """Return the titles in order, of a plain fix and one that may lead."""
    fixes = (
        Fix("plain", "step", (("step", "x"),), "W.", "none"),
        Fix("leads", "step", (("step", "y"),), "W.", "none", **keys),
    )
    cause = Cause("b/c", "t", "s", fixes=fixes)
    return [fix.title for fix in advise(cause, facts, {}, say=lambda pattern: pattern in words)]


def test_a_fix_leads_where_the_log_asks_for_it() -> None:
    assert ordered("peer access", {}, first_mentions="peer") == ["leads", "plain"]
    assert ordered("invalid argument", {}, first_mentions="peer") == ["plain", "leads"]
    assert ordered("", {"exit_code": -15}, first_when=("exit_code == -15",)) == ["leads", "plain"]
    assert ordered("", {"exit_code": -9}, first_when=("exit_code == -15",)) == ["plain", "leads"]


def test_what_the_log_does_not_tell_puts_no_fix_first() -> None:
    assert ordered("", {}, first_when=("exit_code == -15",)) == ["plain", "leads"]
    assert ordered("", {"peer": "peer"}, first_when=("peer present", "exit_code == -15")) == ["plain", "leads"]


def test_without_words_only_what_presumes_nothing_is_left() -> None:
    cause = Cause("b/c", "t", "s", fixes=(Fix("presumes", "step", (("step", "y"),), "W.", "none", mentions="a"),))
    assert advise(cause, {}, {}) == []


ASCEND = """\
(EngineCore_DP0 pid=9) ERROR 01-02 10:00:00 [core.py:866] Traceback (most recent call last):
(EngineCore_DP0 pid=9) ERROR 01-02 10:00:00 [core.py:866]   File "/opt/vllm_ascend/worker/model_runner_v1.py", line 3, in execute_model
(EngineCore_DP0 pid=9) ERROR 01-02 10:00:00 [core.py:866]     self.x[y]
(EngineCore_DP0 pid=9) ERROR 01-02 10:00:00 [core.py:866] KeyError: 17
"""


def test_a_plug_ins_stack_keeps_the_registrys_wheel_away() -> None:
    fixes = shared().report(ASCEND).fixes
    assert fixes
    assert not [fix.change for fix in fixes if fix.change.startswith("pip install")]


LLAMA = """\
Traceback (most recent call last):
  File "/v/lib/python3.9/site-packages/vllm/model_executor/models/llama.py", line 415, in load_weights
    param = params_dict[name]
KeyError: '{name}'
"""


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("layers.0.attention.wk.weight", "Move consolidated.*"),
        ("base_model.model.model.layers.0.mlp.gate.weight", "model.merge_and_unload()"),
        ("model.layers.0.mlp.other.weight", "pip install -U 'vllm>="),
    ],
)
def test_the_name_of_a_parameter_tells_what_to_do(name: str, first: str) -> None:
    assert shared().report(LLAMA.format(name=name)).fixes[0].change.startswith(first)


@pytest.mark.parametrize(("needs", "marks"), [(needs, marks) for _, needs, marks in platforms._PLATFORMS])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_looked_for_first_is_in_every_match(needs, marks, data):
    """Whatever an expression matches holds one of the strings."""
    match = data.draw(st.from_regex(marks.made.pattern))
    assert any(need in match for need in needs)


def test_a_program_that_shares_vllms_log() -> None:
    """A proxy beside the server: its own stack is not vLLM's, whatever the rest of the log is of."""
    server = "(APIServer pid=7) INFO 01-02 10:00:00 [api_server.py:1] vLLM API server version 0.13.0\n"
    path = "OSError: Incorrect path_or_model_id: '/models/acme'. Please provide either the path to a local folder or the repo_id"
    stack = 'Traceback (most recent call last):\n  File "{}", line 4, in main\n    load()\n' + path
    theirs = triage(server + stack.format("/srv/proxy/main.py")).fixes
    ours = triage(server + stack.format("/srv/site-packages/vllm/config.py")).fixes
    assert not any("vllm serve" in (fix.change or "") for fix in theirs)
    assert any("vllm serve" in (fix.change or "") for fix in ours)


def test_platforms_that_vllm_only_asked_for_are_not_the_servers() -> None:
    """At DEBUG it names all that it knows, and the module that each lacks."""
    asked = (
        "Checking if TPU platform is available.\nTPU platform is not available because: No module named 'libtpu'\n"
        "CUDA platform is not available because: NVML Shared Library Not Found"
    )
    assert "platform" not in told_by(asked, {})
    assert told_by(f"{asked}\nvllm/v1/worker/tpu_worker.py:init_device: x", {})["platform"] == "tpu"
