"""Upgrades of transformers stay within what the release of vLLM was written for."""

from __future__ import annotations

import pytest

from tests.fixes import context
from tests.fixes import made as fix
from vllm_triage.classifier.advice.adapters.install import adapt
from vllm_triage.corpus import model_types


def bounded(change: str, release: str) -> str:
    made, _ = adapt(fix(change, "command"), context(release=release))
    assert made is not None
    return made.change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("pip install -U transformers tokenizers", "pip install -U 'transformers<5' tokenizers"),
        ("pip install -U 'transformers>=4.57'", "pip install -U 'transformers>=4.57'"),
        ("pip install -U transformers vllm==0.10.2", "pip install -U transformers vllm==0.10.2"),
        ("pip install transformers-neuronx", "pip install transformers-neuronx"),
    ],
)  # fmt: skip
def test_an_upgrade_without_a_bound_gets_one(change: str, expected: str) -> None:
    assert bounded(change, "0.10.2") == expected


def test_releases_that_take_the_next_major_one() -> None:
    assert bounded("pip install -U transformers", "0.32.0") == "pip install -U 'transformers<6'"


@pytest.mark.parametrize(("release", "major"), [("0.6.3", 4), ("0.11.0", 4), ("0.32.0", 5), ("0.1.0", 0)])
def test_the_major_release_that_a_vllm_was_written_for(release: str, major: int) -> None:
    assert model_types.major_for(release) == major
