"""What `--inspect` runs: py-spy for each process that stands still, nvidia-smi, and what it says where they are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.classifier.masking.planted import A
from vllm_triage.classifier.standstill.types import Standstill
from vllm_triage.service.live.look_into import LINES, PROCESSES, look_into


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is all of the path."""
    monkeypatch.setenv("PATH", f"{tmp_path}")
    return tmp_path


def program(folder: Path, name: str, script: str) -> None:
    """Put a program into the folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def standing(*pids: int) -> Standstill:
    """Return a standstill of some processes."""
    return Standstill(
        verdict="stalled", stage="serving", seconds=20.0, usual=5.0, patience=10.0, evidence=("stopped",), pids=pids
    )


def test_without_py_spy_it_says_how_to_get_it(programs: Path) -> None:
    """And shows nothing else where there is no GPU either."""
    assert look_into(standing(1)) == "py-spy is not installed (pip install py-spy): no stacks"


def test_stacks_of_each_process_and_the_gpus(programs: Path) -> None:
    """Masked: a stack with its locals may show a key."""
    program(programs, "py-spy", f'echo "asked: $*"; echo "    step (core.py:20) key=hf_{A}"')
    program(programs, "nvidia-smi", 'echo "0, H100, 100 %"')

    told = look_into(standing(7, 9)).splitlines()

    assert told[:2] == ["$ py-spy dump --nonblocking --pid 7", "asked: dump --nonblocking --pid 7"]
    assert "$ py-spy dump --nonblocking --pid 9" in told
    assert told[-1] == "0, H100, 100 %"
    assert A not in "\n".join(told)


def test_what_it_shows_is_bounded(programs: Path) -> None:
    """So many processes, so many lines of each."""
    program(programs, "py-spy", "i=0; while [ $i -lt 99 ]; do echo line $i; i=$((i+1)); done")

    told = look_into(standing(*range(2, 40))).splitlines()

    assert len([line for line in told if line.startswith("$ ")]) == PROCESSES
    assert len(told) == PROCESSES * (LINES + 1)


def test_a_program_that_fails_is_told(programs: Path) -> None:
    """In a container without the right to trace, py-spy says so."""
    program(programs, "py-spy", 'echo "Permission Denied: try with sudo" >&2; exit 1')

    assert "Permission Denied: try with sudo" in look_into(standing(7))
