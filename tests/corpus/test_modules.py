"""In which releases a module of vLLM can be imported."""

from __future__ import annotations

import pytest

from vllm_triage.corpus import modules


@pytest.mark.parametrize(
    ("module", "span"),
    [
        ("vllm.worker.worker", ("0.5.2", "0.10.2")),
        ("vllm.spec_decode", ("0.5.2", "0.9.2")),
        ("vllm.spec_decode.ngram_worker", ("0.5.2", "0.9.2")),
        ("vllm.tokenizers.mistral", ("0.12.0", "0.33.0")),
        ("vllm.engine.arg_utils", ("0.5.2", "0.33.0")),
        ("vllm.model_executor.models.neuron", None),
        ("vllm.worker.acme", None),
        ("vllm._C", None),
    ],
)
def test_the_first_and_last_release_with_a_module(module: str, span: tuple[str, str] | None) -> None:
    """By the package around it where it came and went with that; none for what never was one."""
    assert modules.span(module) == span
