"""What PyTorch and CUDA say: scenarios as data, what a machine can show, and what is kept of a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from vllm_triage.corpus import load
from vllm_triage.training.record.gpu.__main__ import main, probe
from vllm_triage.training.record.gpu.provoke import SCENARIOS, TWO_RANKS
from vllm_triage.training.record.gpu.scenarios import Scenario, scenarios

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

TORCH = '''
"""A stand-in for torch, as far as the scenario that fills the host's memory needs it."""
__version__ = "2.99.0+stand.in"
uint8 = None
class version: cuda = None
class cuda:
    is_available = staticmethod(lambda: False)
def empty(size, dtype):
    raise RuntimeError(f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes.")
'''


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Return an interpreter that finds a torch of a few lines."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/torch.py").write_text(TORCH)
    command = tmp_path / "bin/python"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}/lib exec {sys.executable} "$@"\n')
    command.chmod(0o755)
    return command


def test_each_scenario_has_its_function_and_each_function_its_scenario():
    """A misspelt name would be found on a machine with a GPU only."""
    named = {scenario.function or scenario.id for scenario in scenarios()}

    assert named == set(SCENARIOS)
    assert TWO_RANKS - named == set()


def test_buckets_are_those_of_the_corpus():
    """A bucket that does not exist can never be answered."""
    named = {bucket for scenario in scenarios() for bucket in (scenario.bucket, *scenario.also)}

    assert named - set(load().buckets()) == set()


@pytest.mark.parametrize(
    ("machine", "needs", "missing"),
    [
        ({}, "torch", "no torch"),
        ({"torch": "2.13.0", "cuda": "", "gpus": 0}, "torch", ""),
        ({"torch": "2.13.0", "cuda": "", "gpus": 0}, "cuda", "torch is not built for CUDA"),
        ({"torch": "2.13.0", "cuda": "12.9", "gpus": 0}, "cuda", ""),
        ({"torch": "2.13.0", "cuda": "12.9", "gpus": 0}, "gpu", "no GPU"),
        ({"torch": "2.13.0", "cuda": "12.9", "gpus": 1}, "gpu", ""),
    ],
)
def test_what_a_machine_cannot_show_is_left_out_with_a_reason(machine, needs, missing):
    """No torch, a CPU build, no GPU."""
    scenario = Scenario(id="x", broken="x", bucket="gpu_fault", evidence=["x"], needs=needs)

    assert missing == scenario.missing(machine)


def test_an_interpreter_without_torch_is_told_so(tmp_path, capsys):
    """Everything is left out, nothing fails, nothing is written."""
    assert main(["--out", str(tmp_path / "out"), "--python", str(bare(tmp_path))]) == 0
    assert "host-memory: left out: no torch" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def bare(folder: Path) -> Path:
    """Return an interpreter that finds no installed packages."""
    command = folder / "bare/python"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    command.chmod(0o755)
    return command


def test_a_log_is_kept_with_its_proof(python, tmp_path, capsys):
    """Byte for byte but for the machine's names, with arrival times and an entry in the index."""
    out = tmp_path / "out"

    assert main(["--out", str(out), "--python", str(python), "--scenario", "host-memory"]) == 0
    entry = json.loads((out / "index.jsonl").read_text())
    log = (out / entry["file"]).read_text()

    assert entry["file"] == "torch-2.99.0-cpu/host-memory.log"
    assert log.split("\n")[entry["evidence_lines"][0] - 1] == entry["evidence"]
    assert "can't allocate memory" in entry["evidence"]
    assert 'File "/app/provoke.py"' in log
    assert str(tmp_path) not in log
    assert entry["machine"] == probe(str(python))
    assert "host-memory: host_memory, line" in capsys.readouterr().out


def test_recording_again_replaces_the_entry(python, tmp_path):
    """The index holds each scenario of a torch once."""
    for _ in range(2):
        main(["--out", str(tmp_path / "out"), "--python", str(python), "--scenario", "host-memory"])

    assert len((tmp_path / "out/index.jsonl").read_text().splitlines()) == 1


def test_a_scenario_that_shows_nothing_is_not_kept(python, tmp_path, capsys):
    """The stand-in knows no collectives: the log says something else than it must."""
    assert main(["--out", str(tmp_path / "out"), "--python", str(python), "--scenario", "store-time-out"]) == 1
    assert "store-time-out: NOT PROVOKED: no line matches clients joined" in capsys.readouterr().out
    assert not (tmp_path / "out/index.jsonl").exists()
