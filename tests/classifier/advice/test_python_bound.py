"""Upgrades of vLLM where the Python in the paths takes none of the releases that are wanted."""

from __future__ import annotations

import pytest

from tests.fixes import context
from tests.fixes import made as fix
from vllm_triage.classifier.advice.adapters.install import settle


@pytest.mark.parametrize(
    ("python", "release", "change", "fixed_in", "expected"),
    [
        ("3.8", "0.5.4", "pip install -U vllm", "", "pip install -U vllm"),
        ("3.8", "0.6.3.post1", "pip install -U vllm", "", "uv venv --python 3.12 && uv pip install vllm"),
        ("3.8", "0.5.4", "pip install -U 'vllm>=0.6.2'", "", "pip install -U 'vllm>=0.6.2'"),
        ("3.8", "0.5.4", "pip install -U 'vllm>=0.8.5'", "", "uv venv --python 3.12 && uv pip install 'vllm>=0.8.5'"),
        ("3.8", "0.5.4", "pip install -U vllm", "0.11.1", "uv venv --python 3.12 && uv pip install vllm"),
        ("3.9", "0.5.4", "pip install -U vllm", "0.9.2", "pip install -U vllm"),
        ("3.9", "0.11.0", "pip install -U vllm bitsandbytes", "", "uv venv --python 3.12 && uv pip install vllm bitsandbytes"),
        ("3.7", "0.5.4", "pip install -U vllm", "", "uv venv --python 3.12 && uv pip install vllm"),
        ("3.12", "0.11.0", "pip install -U vllm", "", "pip install -U vllm"),
        ("3.8", "0.6.3.post1", "pip install vllm==0.6.3", "", "pip install vllm==0.6.3"),
    ],
)  # fmt: skip
def test_an_upgrade_goes_where_it_can_be_installed(
    python: str, release: str, change: str, fixed_in: str, expected: str
) -> None:
    words = f'  File "/srv/env/lib/python{python}/site-packages/vllm/engine/llm_engine.py", line 5, in step'
    ((made,), _) = settle([fix(change, "command", fixed_in=fixed_in)], context(release=release, words=words))
    assert made.change == expected
    assert (f"Python {python}" in made.why) == (made.change != change)
