"""Whose code an error comes from, and by which words others report it."""

from __future__ import annotations

import pytest

from vllm_triage import triage
from vllm_triage.classifier.advice import track_record
from vllm_triage.classifier.incidents.types import Incident
from vllm_triage.classifier.lines.types import Frame, Trace
from vllm_triage.classifier.verdict.culprit import culprit, searched


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
    assert {"other_engine": "SGLang"} == culprit(None, incident)
    assert {} == culprit(None, Incident(1))


def test_a_program_without_vllm_is_sent_to_its_own_line_and_to_the_library_that_it_calls() -> None:
    """Not to vLLM's issues; only where the stack has its head and nothing of vLLM."""
    script, library = ("/srv/job/quant.py", "<module>"), ("somequantizer/solve.py", "invert")
    found = culprit(None, started(script, ("/srv/job/steps.py", "run"), library))
    assert ("/srv/job/steps.py:run", "somequantizer") == (found["program"], found["library"])
    assert culprit(None, started(script))["program"] == "/srv/job/quant.py"
    assert "library" not in culprit(None, started(script))
    for places in ([library], [script, ("vllm/entrypoints/llm.py", "generate"), library]):
        assert "program" not in culprit(None, started(*places))
    assert "program" not in culprit(None, started(script, library, message="vllm has no such attribute"))


def test_a_whole_answer_about_another_program_offers_nothing_of_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its issues nor a start with its messages, were all shown that is proposed."""
    for name, share in (("FIRST", 0.0), ("LATER", 0.0), ("REFUTED", 1.0)):
        monkeypatch.setattr(track_record, name, share)
    text = (
        "Traceback (most recent call last):\n"
        '  File "/srv/job/quant.py", line 4, in <module>\n    model.quantize(rows)\n'
        '  File "/srv/env/lib/python3.11/site-packages/somequantizer/solve.py", line 9, in invert\n    raise ValueError(words)\n'
        "ValueError: the matrix has no inverse\n"
    )
    fixes = triage(text).fixes
    assert [fix.title for fix in fixes] == [
        "Look at the innermost frame that is the program's own",
        "Search the issues of somequantizer for this error",
    ]
    assert not [fix.change for fix in fixes if "vllm" in fix.change.lower()]
    other = triage(
        "llama_model_load: error loading model: missing tensor 'a.b'\nError: 500 Internal Server Error: gone\n"
    )
    assert not [fix.change for fix in other.fixes if "VLLM_LOGGING_LEVEL" in fix.change or "vllm-project" in fix.change]


def test_names_of_requests_are_not_searched_for() -> None:
    """Each report has its own."""
    assert "KeyError" == searched("KeyError: 'chatcmpl-86b7f9c5d1a94f0e-bb1ac0d3'")
    assert "KeyError: cmpl-bot" == searched("KeyError: cmpl-bot")
