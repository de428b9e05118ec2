"""Upgrades of vLLM where the Python in the paths takes none of the releases that are wanted."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.advice.corrector.case import Case
from vllm_triage.classifier.advice.python_bound import as_installable
from vllm_triage.classifier.advice.situation import Situation
from vllm_triage.classifier.diagnosis import Advice


@pytest.mark.parametrize(
    ("python", "release", "change", "why", "expected"),
    [
        ("3.8", "0.5.4", "pip install -U vllm", "", "pip install -U vllm"),
        ("3.8", "0.6.3.post1", "pip install -U vllm", "", "uv venv --python 3.12 && uv pip install vllm"),
        ("3.8", "0.5.4", "pip install -U 'vllm>=0.6.2'", "", "pip install -U 'vllm>=0.6.2'"),
        ("3.8", "0.5.4", "pip install -U 'vllm>=0.8.5'", "", "uv venv --python 3.12 && uv pip install 'vllm>=0.8.5'"),
        ("3.8", "0.5.4", "pip install -U vllm", "Gone in 0.11.", "uv venv --python 3.12 && uv pip install vllm"),
        ("3.9", "0.5.4", "pip install -U vllm", "Gone in 0.9.2.", "pip install -U vllm"),
        ("3.9", "0.11.0", "pip install --upgrade vllm bitsandbytes", "", "uv venv --python 3.12 && uv pip install vllm bitsandbytes"),
        ("3.7", "0.5.4", "pip install -U vllm", "", "uv venv --python 3.12 && uv pip install vllm"),
        ("3.12", "0.11.0", "pip install -U vllm", "", "pip install -U vllm"),
        ("3.8", "0.6.3.post1", "pip install 'vllm==0.6.3'", "", "pip install 'vllm==0.6.3'"),
    ],
)  # fmt: skip
def test_an_upgrade_goes_where_it_can_be_installed(
    python: str, release: str, change: str, why: str, expected: str
) -> None:
    words = f'  File "/srv/env/lib/python{python}/site-packages/vllm/engine/llm_engine.py", line 5, in step'
    situation = Situation(Case("", {}, release), {}, release, words=words)
    fix = Advice(1, "Upgrade vLLM", "command", change, why, "none", "")
    made = as_installable(fix, situation)
    assert made.change == expected
    assert (f"Python {python}" in made.why) == (made.change != change)
