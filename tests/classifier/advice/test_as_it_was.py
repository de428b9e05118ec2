"""Reinstallations of an older vLLM bring the transformers of its time, and leave alone what has a bound of its own."""

from __future__ import annotations

import pytest

from tests.fixes import context
from tests.fixes import made as fix
from vllm_triage.classifier.advice.adapters.install import settle


@pytest.mark.parametrize(
    ("release", "change", "bound"),
    [
        ("0.4.2", "uv pip install --force-reinstall vllm==0.4.2 --torch-backend=auto", "transformers<=4.42.4"),
        ("0.6.2", "pip install --force-reinstall vllm==0.6.2", "transformers~=4.45.0"),
        ("0.8.5", "pip install --force-reinstall vllm==0.8.5 --no-deps", ""),
        ("0.8.5", "pip install vllm==0.8.5 'transformers<5'", ""),
        ("0.8.5", "pip install -U 'vllm>=0.9.0'", ""),
        ("0.12.0", "pip install --force-reinstall vllm==0.12.0", ""),
        ("0.12.0", "uv venv && . .venv/bin/activate && uv pip install vllm==0.7.2", "transformers~=4.48.2"),
        ("0.12.0", "pip install vllm==0.7.2", ""),
        ("0.27.0", "pip install --force-reinstall vllm==0.27.0", ""),
        ("0.33.0", "pip install --force-reinstall vllm==0.33.0", ""),
    ],
)
def test_transformers_is_bounded_where_the_release_does_not(release: str, change: str, bound: str) -> None:
    tags = ("environment",) if "venv" in change else ()
    ((made,), _) = settle([fix(change, "command", tags=tags)], context(release=release))
    assert made.change.replace(f" '{bound}'", "") == change
    assert (bound in made.change) if bound else made.change == change
