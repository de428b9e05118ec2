"""Whose code an error comes from, and by which words others report it."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.advice.culprit import culprit, searched
from vllm_triage.classifier.incidents.types import Incident
from vllm_triage.classifier.lines.types import Frame, Trace


def started(*places: tuple[str, str], kind: str = "IndexError", message: str = "list index out of range") -> Incident:
    """Return a start with one exception."""
    incident = Incident(1)
    incident.traces = [Trace(9, 1, "", kind, message, [Frame(path, function) for path, function in places])]
    return incident


@pytest.mark.parametrize(
    ("places", "component", "owner"),
    [
        ([("vllm/v1/worker/gpu_model_runner.py", "execute_model"), ("vllm/v1/attention/backends/flash_attn.py", "build")], "attention", "vllm"),
        ([("vllm/lora/layers.py", "apply"), ("torch/nn/functional.py", "linear")], "lora", "vllm"),
        ([("vllm/v1/spec_decode/eagle.py", "propose"), ("vllm/v1/attention/backends/flash_attn.py", "build")], "attention", "vllm"),
        ([("vllm/model_executor/layers/fused_moe/layer.py", "forward"), ("flashinfer/fused_moe/core.py", "run")], "experts", "flashinfer"),
        ([("vllm/v1/worker/gpu_model_runner.py", "_execute_mm_encoder")], "media", "vllm"),
        ([("vllm/model_executor/models/llama.py", "forward")], "model", "vllm"),
        ([("vllm/v1/worker/gpu_worker.py", "annotate_profile")], "", "vllm"),
    ],
)  # fmt: skip
def test_the_innermost_part_that_is_known_is_named(places: list[tuple[str, str]], component: str, owner: str) -> None:
    """Below torch and Python; the part whose helper failed, not the one that called it first."""
    found = culprit(None, started(*places))
    assert (component, owner) == (found.get("component", ""), found["owner"])
    assert bool(component) == ("raised_in" in found)


def test_words_to_search_for_hold_nothing_of_this_machine() -> None:
    """No paths, addresses and large numbers; the file and function of the innermost frame."""
    frame = Frame("vllm/model_executor/models/deepseek_v2.py", "__init__")
    assert "KeyError deepseek_v2.py __init__" == searched("KeyError: '0f3a9c2b77d1e0'", frame)
    assert "RuntimeError: cannot open of bytes" == searched(
        "RuntimeError: cannot open /home/bob/models/x.bin of 123456 bytes"
    )
    assert "AssertionError" == searched("AssertionError", Frame("a.py", "f ~~~~^^^"))


def test_other_engines_logs_name_no_place_in_vllm() -> None:
    """Their errors are not searched for among vLLM's."""
    incident = started(("sglang/srt/model.py", "load"))
    incident.engine = "SGLang"
    assert {} == culprit(None, incident)
    assert {} == culprit(None, Incident(1))
