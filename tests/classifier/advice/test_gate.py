"""No fix is shown that the log itself excludes; what replaces it, or why it is left out, is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixes import context as situation
from tests.fixes import made, tried
from vllm_triage.classifier import triage
from vllm_triage.classifier.fix import CORRECTION, OF_ERROR, Fix


def fix(
    change: str, kind: str = "flag", *, option: str = "", moves: str = "", safety: str = "safe", title: str = "t"
) -> Fix:
    """Return a fix that can be pasted."""
    option = option or change.partition(" ")[0].partition("=")[0]
    return made(change, kind, title=title, option=option, safety=safety, moves=moves)


def shown(change: str, kind: str = "flag", *, moves: str = "", **situated: Any) -> str:
    """Return what the gate makes of one fix beside another that always holds; "" where it is left out."""
    tags = ("nvidia",) if "nvidia" in change else ("amd",) if "rocm" in change else ()
    this = made(change, kind, moves=moves, title="this", tags=tags, option=change.partition(" ")[0].partition("=")[0])
    kept, withheld = tried([this, fix("--seed 7", title="that")], situation(**situated))
    found = [each.change for each in kept if each.title == "this"]
    assert [] == [title for title, reason in withheld if title != "this" or not reason]
    assert len(found) + len(withheld) == 1
    return found[0] if found else ""


@pytest.mark.parametrize(
    ("change", "kind", "situated"),
    [
        ("--guided-decoding-backend xgrammar", "flag", {}),
        ("VLLM_USE_V1=0", "env", {}),
        ("--enforce-eager", "flag", {"arguments": {"enforce_eager": True}}),
        ("--enforce-eager", "flag", {"enforce_eager": True}),
        ("--max-num-seqs 64", "flag", {"arguments": {"max_num_seqs": 64}}),
        ("--gpu-memory-utilization 0.90", "flag", {"gpu_memory_utilization": 0.9}),
        ("--hf-overrides '{\"a\": 1}'", "flag", {"arguments": {"hf_overrides": {"a": 1}}}),
        ("VLLM_LOGGING_LEVEL=DEBUG", "env", {"command": "VLLM_LOGGING_LEVEL=DEBUG vllm serve a/b"}),
        ("--attention-backend TRITON_ATTN", "flag", {"platform": "cpu"}),
        ("nvidia-smi -q", "command", {"platform": "rocm"}),
        ("rocm-smi", "command", {"platform": "cuda"}),
        ("VLLM_CPU_KVCACHE_SPACE=8", "env", {"platform": "cuda"}),
        ("--trust-remote-code", "flag", {"text": "OSError: Can't load tokenizer"}),
        ("--allow-deprecated-quantization", "flag", {"text": "Unknown quantization method: awqq. Must be one of ['awq']"}),
        ("pip install -U vllm", "command", {"release": "0.33.0"}),
        ("--dtype half", "flag", {"text": "error: argument --dtype: invalid choice: 'half' (choose from 'auto', 'float32')"}),
        ("--dtype bfloat16", "flag", {"text": "error: argument --dtype: invalid choice: 'x' (choose from 'auto', 'float32')"}),
    ],
)  # fmt: skip
def test_what_the_log_excludes_is_left_out(change: str, kind: str, situated: dict[str, Any]) -> None:
    """Set already, refused, another release's, another platform's, unasked for."""
    assert "" == shown(change, kind, **situated)


@pytest.mark.parametrize(
    ("change", "kind", "situated"),
    [
        ("--guided-decoding-backend xgrammar", "flag", {"release": "0.8.5"}),
        ("--max-num-seqs 64", "flag", {}),
        ("--enforce-eager", "flag", {"arguments": {"enforce_eager": False}}),
        ("nvidia-smi -q", "command", {}),
        ("nvidia-smi -q", "command", {"platform": "cuda"}),
        ("VLLM_CPU_KVCACHE_SPACE=8", "env", {"platform": "cpu"}),
        ("--trust-remote-code", "flag", {"text": "Please pass the argument `trust_remote_code=True`"}),
        ("pip install -U vllm", "command", {}),
        ("pip install -U vllm", "command", {"release": "0.10.2+cu128"}),
    ],
)  # fmt: skip
def test_what_nothing_speaks_against_is_shown_as_it_is(change: str, kind: str, situated: dict[str, Any]) -> None:
    """What is not known excludes nothing."""
    assert change == shown(change, kind, **situated)


@pytest.mark.parametrize(
    ("change", "moves", "facts", "expected"),
    [
        ("--max-num-seqs 64", "down", {"arguments": {"max_num_seqs": 16}}, "--max-num-seqs 8"),
        ("--max-num-seqs 64", "down", {"arguments": {"max_num_seqs": 1}}, ""),
        ("--max-num-seqs 64", "down", {"arguments": {"max_num_seqs": 256}}, "--max-num-seqs 64"),
        ("--max-num-seqs 512", "up", {"arguments": {"max_num_seqs": 1024}}, "--max-num-seqs 2048"),
        ("--max-num-batched-tokens 2048", "down", {"max_num_batched_tokens": 2048}, "--max-num-batched-tokens 1024"),
        ("--gpu-memory-utilization 0.85", "down", {"gpu_memory_utilization": 0.8}, "--gpu-memory-utilization 0.75"),
        ("--gpu-memory-utilization 0.85", "down", {}, "--gpu-memory-utilization 0.85"),
        ("--gpu-memory-utilization 0.95", "up", {"gpu_memory_utilization": 0.97}, ""),
    ],
)  # fmt: skip
def test_a_value_moves_the_way_that_the_fix_says(change: str, moves: str, facts: dict[str, Any], expected: str) -> None:
    """One that would not is replaced by the next that does, or left out where there is none."""
    assert expected == shown(change, moves=moves, **facts)


@pytest.mark.parametrize(
    ("release", "platform"),
    [("0.11.0+local", ""), ("0.8.5.dev12+gabc1234", "cuda"), ("0.19.1", "ascend"), ("0.19.1", "cpu"), ("0.7.9", "")],
)
def test_a_build_of_ones_own_is_not_replaced_by_the_registrys(release: str, platform: str) -> None:
    """pip would put another program in its place."""
    facts = {"platform": platform} if platform else {}
    kept, _ = tried([fix("pip install -U vllm", "command")], situation(release=release, **facts))
    assert [("step", False)] == [(each.kind, "pip" in each.change) for each in kept]


def test_what_destroys_comes_last_and_an_answer_is_never_without_a_fix() -> None:
    """``ray stop --force`` stands behind what is mild; where nothing holds, the next thing to look at is told."""
    kept, _ = tried([fix("ray stop --force", "command", safety="destructive"), fix("--seed 1")], situation())
    assert ["--seed 1", "ray stop --force"] == [each.change for each in kept]
    assert [1, 2] == [each.rank for each in kept]
    kept, withheld = tried([fix("--enforce-eager")], situation(enforce_eager=True))
    assert (["VLLM_LOGGING_LEVEL=DEBUG"], 1) == ([each.change for each in kept], len(withheld))
    assert ([], []) == tried([], situation())


def test_a_correction_stands_before_what_says_less() -> None:
    """A fix on the same option that cannot be pasted goes without a word; others follow."""
    correction = made("--dtype half", option="--dtype", source=OF_ERROR, tier=CORRECTION)
    vague = made("--dtype <auto|half>", option="--dtype", whole=False)
    kept, withheld = tried([vague, fix("--seed 1")], situation(), [correction])
    assert (["--dtype half", "--seed 1"], []) == ([each.change for each in kept], withheld)


def test_another_value_for_what_is_corrected_is_not_shown() -> None:
    """A parser of a like name is another format; the model's own is told by its family."""
    log = (
        "INFO 11-22 10:00:00 [api_server.py:100] vLLM API server version 0.29.0\n"
        "INFO 11-22 10:00:00 [utils.py:100] non-default args: {'model': 'Qwen/Qwen3-32B', 'tool_call_parser': 'qwen3'}\n"
        "KeyError: 'invalid tool call parser: qwen3 (chose from { hermes,qwen3_coder,qwen3_xml,xlam })'\n"
    )
    changes = [fix.change or "" for fix in triage(log).fixes]
    assert changes[0] == "--tool-call-parser hermes"
    assert not any("qwen3_xml" in change for change in changes)


def test_a_failure_for_which_no_fix_is_known_is_searched_for() -> None:
    """An exception of a cause whose fixes are all for other words of it."""
    log = (
        "(APIServer pid=7) ERROR 02-08 13:22:41 [detokenizer.py:239] Encountered invalid token id: 18446744073709551615\n"
        "(APIServer pid=7) ERROR 02-08 13:22:41 [detokenizer.py:239] Traceback (most recent call last):\n"
        '(APIServer pid=7) ERROR 02-08 13:22:41 [detokenizer.py:239]   File "/v/lib/vllm/v1/engine/detokenizer.py", line 222, in _protected_step\n'
        "(APIServer pid=7) ERROR 02-08 13:22:41 [detokenizer.py:239] OverflowError: out of range integral type conversion attempted\n"
    )
    assert ["Search vLLM's issues for this error"] == [each.title for each in triage(log).fixes]


def test_a_guess_keeps_what_corrects_a_value() -> None:
    """Where vLLM's own code fails on a value that was given, the text model's bucket does not hide it."""
    log = (
        "INFO 11-22 13:57:52 [utils.py:263] non-default args: {'model': 'acme/tiny', 'num_gpu_blocks_override': 0}\n"
        "INFO 11-22 13:57:52 [api_server.py:1805] vLLM API server version 0.14.1\n"
        "(EngineCore_DP0 pid=24) ERROR 11-22 13:57:53 [core.py:936] EngineCore failed to start.\n"
        "(EngineCore_DP0 pid=24) ERROR 11-22 13:57:53 [core.py:936] Traceback (most recent call last):\n"
        '(EngineCore_DP0 pid=24) ERROR 11-22 13:57:53 [core.py:936]   File "/v/lib/python3.11/site-packages/vllm/v1/engine/core.py", line 109, in _initialize_kv_caches\n'
        "(EngineCore_DP0 pid=24) ERROR 11-22 13:57:53 [core.py:936]     kv_cache_configs = get_kv_cache_configs(\n"
        '(EngineCore_DP0 pid=24) ERROR 11-22 13:57:53 [core.py:936]   File "/v/lib/python3.11/site-packages/vllm/v1/core/kv_cache_utils.py", line 1601, in get_kv_cache_configs\n'
        "(EngineCore_DP0 pid=24) ERROR 11-22 13:57:53 [core.py:936]     assert tensor.size % num_blocks_old == 0\n"
        "(EngineCore_DP0 pid=24) ERROR 11-22 13:57:53 [core.py:936] ZeroDivisionError: integer modulo by zero\n"
    )
    assert any(each.change.startswith("leave out --num-gpu-blocks-override") for each in triage(log).fixes)
