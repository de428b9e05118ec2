"""What leads, and what is left out, by the frame that failed, the numbers of the message and the variables that were set."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage
from vllm_triage.classifier.values import COMPUTED

HEAD = "Traceback (most recent call last):\n"
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}. GPU 0 has a total capacity of 44.39 GiB of which 1.12 GiB is free. Of the "
    "allocated memory 36.80 GiB is allocated by PyTorch, and {} is reserved by PyTorch but unallocated."
)


def test_the_frames_behind_a_message_are_its_own_in_a_notebook() -> None:
    frames = [
        ("entrypoints/llm.py", "LLM.generate", "outputs = self._run_engine()"),
        ("engine/llm_engine.py", "LLMEngine.step", "self.execute_model(x)"),
    ]
    frames += [
        ("spec_decode/spec_decode_worker.py", "SpecDecodeWorker._run_no_spec", "self.previous_hidden_states.update(")
    ]
    log = (
        OOM.format("2.50 GiB", "100.00 MiB") + "\nFile <command-12>, line 1\n----> 1 answers = llm.generate(prompts)\n"
    )
    for path, function, code in frames:
        log += f"File /opt/venv/lib/python3.11/site-packages/vllm/{path}:44, in {function}(self)\n"
        log += (
            "".join(f"     {number} x = {number}\n" for number in range(40, 44)) + f"---> 44 {code}\n     45 return x\n"
        )
    assert "speculative" in triage(log).fixes[0].change


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"running": 400, "kv_cache_usage_percent": 99.5}, "360"),
        ({"running": 400, "kv_cache_usage_percent": 60.0}, ""),
        ({"running": 1, "kv_cache_usage_percent": 99.0}, ""),
        ({"kv_cache_usage_percent": 99.0}, ""),
    ],
)
def test_nine_tenths_of_what_runs_where_the_cache_is_full(facts: dict[str, object], expected: str) -> None:
    assert COMPUTED["below_running"](facts) == expected


def test_what_stood_behind_a_colon_has_an_option_of_its_own() -> None:
    """The wish is not lost without a word."""
    log = "vllm serve: error: argument --guided-decoding-backend: invalid choice: 'guidance:disable-any-whitespace' (choose from 'auto', 'guidance')"
    assert "--guided-decoding-disable-any-whitespace" in triage(log).fixes[0].why
    log = "vllm serve: error: argument --guided-decoding-backend: invalid choice: 'guidanc' (choose from 'auto', 'guidance')"
    assert "is lost" not in triage(log).fixes[0].why


def test_a_value_that_vllm_did_not_set_is_its_own_fault_and_the_egg_tells_the_release() -> None:
    log = (
        HEAD
        + '  File "/srv/venv/lib/python3.12/site-packages/vllm-0.10.1+xpu-py3.12.egg/vllm/v1/worker/gpu_worker.py", line 29, in init_device\n'
        "    self.largest = min(\nTypeError: '<' not supported between instances of 'NoneType' and 'int'"
    )
    report = triage(log)
    assert (report.bucket, report.facts["vllm_version"]) == ("engine_bug", "0.10.1+xpu")
