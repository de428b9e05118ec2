"""A failing test that captured vLLM's output has the diagnosis in its report."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOG = ROOT / "corpus/logs/recorded/0.32.0/kv-no-blocks.log"
TEST = """
from pathlib import Path
import pytest

def test_engine():
    print(Path({log!r}).read_text())
    raise RuntimeError("Engine core initialization failed.")

def test_other():
    print("nothing of the kind")
    assert 1 == 2

def test_passes():
    print(Path({log!r}).read_text())

@pytest.fixture
def engine():
    print(Path({log!r}).read_text())
    raise RuntimeError("Engine core initialization failed.")

def test_fixture(engine):
    pass
"""


def run(folder: Path, *words: str) -> str:
    """Run the tests above as a user would."""
    (folder / "test_it.py").write_text(TEST.format(log=str(LOG)))
    command = [sys.executable, "-m", "pytest", "-p", "vllm_triage.service.pytest_plugin"]
    # Whether it is installed as a plugin of this environment or not, it is loaded once.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(
        [*command, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert "2 failed, 1 passed, 1 error" in ran.stdout, ran.stdout + ran.stderr
    return ran.stdout


def test_the_diagnosis_stands_in_the_report_of_each_failing_test_that_shows_vllm(tmp_path):
    """Also where a fixture failed; a test of something else, and one that passes, have none."""
    told = run(tmp_path)

    assert told.count("- vllm-triage -") == 2
    assert told.count("[kv_cache_oom/context_exceeds_cache, ") == 2
    assert "max_model_len=524160" in told


def test_it_is_declared_as_a_plugin():
    """pytest finds it by its entry point."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]

    assert declared == {"vllm_triage": "vllm_triage.service.pytest_plugin"}
