"""What the tests of the command share: logs, and the command in this process or as one of its own."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from vllm_triage.service.cli.main import main

FAILED = "INFO: start\nValueError: No available memory for the cache blocks.\n"
HEALTHY = (
    "INFO:     Application startup complete.\n" + 'INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'
)
COMMAND = [sys.executable, "-m", "vllm_triage.service"]


@dataclass
class Ran:
    """What a run of the command left."""

    code: int
    out: str
    err: str


class _Pipe(io.TextIOWrapper):
    def isatty(self) -> bool:
        return False


@pytest.fixture
def run(capsys, monkeypatch) -> Callable[..., Ran]:
    """Run the command in this process; ``stdin`` is what is piped in."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "VLLM_TRIAGE_RULES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words: str | Path, stdin: bytes | str = b"") -> Ran:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", _Pipe(io.BytesIO(data)))
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """A log with a failure."""
    path = tmp_path / "failed.log"
    path.write_text(FAILED)
    return path


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    """A log without one."""
    path = tmp_path / "healthy.log"
    path.write_text(HEALTHY)
    return path


def process(words: Sequence[str], **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a process of its own, as a shell does."""
    return subprocess.run([*COMMAND, *words], capture_output=True, timeout=120, check=False, **options)  # type: ignore[call-overload,no-any-return]
