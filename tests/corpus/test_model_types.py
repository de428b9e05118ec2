"""Model types against what the released packages of transformers and vLLM hold."""

from __future__ import annotations

import pytest

from vllm_triage.corpus import model_types, options


@pytest.mark.parametrize(
    ("model_type", "first"),
    [("llama", "4.40.2"), ("qwen3", "4.51.3"), ("gemma3", "4.50.3"), ("qwen3_next", "4.57.6"), ("gpt_oss", "4.55.4")],
)
def test_first_transformers_that_knows_a_type(model_type: str, first: str) -> None:
    """Of each minor version the last release is listed."""
    assert next(model_types.transformers_with(model_type)) == first


def test_types_that_no_release_knows() -> None:
    """A type of a checkpoint's own code."""
    assert list(model_types.transformers_with("acme9")) == []


@pytest.mark.parametrize(
    ("version", "asked"),
    [("0.5.2", ">=4.42.4"), ("0.10.2", ">=4.55.2"), ("0.12.0", "<5,>=4.56.0"), ("0.33.0", "<5.21.0,>=5.16.1"), ("0.4.0", "")],
)  # fmt: skip
def test_what_vllm_asks_for(version: str, asked: str) -> None:
    """As the wheel's metadata has it."""
    assert model_types.asked_by(version) == asked


def test_types_that_vllm_reads_by_a_class_of_its_own() -> None:
    """From the release on whose registry has them."""
    assert model_types.own_class("qwen3_next", "0.10.2")
    assert not model_types.own_class("qwen3_next", "0.10.1.1")
    assert not model_types.own_class("llama", "0.33.0")


def test_later_releases() -> None:
    """Behind one; all for one that is older than the table."""
    assert model_types.later_than("")[0] == options.releases()[0]
    assert model_types.later_than("0.32.0") == ("0.33.0",)
    assert model_types.newest_transformers().startswith("5.")
