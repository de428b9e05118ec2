"""Whose class a processor is: by the model types of transformers and by what vLLM has of its own."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.values.models import own_processor_since, remote_processor
from vllm_triage.corpus import model_types


@pytest.mark.parametrize(
    ("name", "release", "remote", "since"),
    [
        ("MiniCPMOProcessor", "0.8.0", True, "0.23.0"),
        ("MiniCPMOProcessor", "0.23.0", False, ""),
        ("MiniCPMOProcessor", "", True, "0.23.0"),
        ("MolmoProcessor", "0.8.0", True, ""),
        ("Qwen2_5_VLProcessor", "0.8.0", False, ""),
        ("LlavaNextImageProcessorFast", "0.8.0", False, ""),
        ("WhisperFeatureExtractor", "0.8.0", False, ""),
        ("AutoProcessor", "0.8.0", False, ""),
        ("", "0.8.0", False, ""),
    ],
)
def test_where_a_processor_comes_from(name: str, release: str, remote: bool, since: str) -> None:
    """Only what neither transformers nor the release has comes with the model's repository."""
    facts = {"processor": name, "vllm_version": release}
    assert bool(remote_processor(facts)) is remote
    assert own_processor_since(facts).value == since


def test_model_types_of_transformers_are_those_of_all_its_releases() -> None:
    """Old ones and new ones, and none that only a repository's code has."""
    known = model_types.of_transformers()
    assert {"llama", "qwen2_vl", "whisper"} <= known
    assert "minicpmo" not in known
