"""What the tests of live logs share: the command as a process, on pipes or on a terminal, and a stand-in for a server."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.service.conftest import COMMAND

FAKE = [sys.executable, str(Path(__file__).with_name("fake_server.py"))]
RECORDED = Path(__file__).parents[3] / "corpus" / "logs" / "recorded"
RUN = [*COMMAND, "run"]
LONGEST = 60.0
"""Seconds that anything may take before a test gives up."""


class Live:
    """A process that runs, with its output so far."""

    def __init__(self, command: list[str], terminal: bool = False, **options: object) -> None:
        self.out = b""
        self.master = -1
        if terminal:
            self.master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
            options |= {"stdin": slave, "stdout": slave, "stderr": slave, "start_new_session": True}
            self.process = subprocess.Popen(command, preexec_fn=_take_terminal, **options)  # type: ignore[call-overload]  # noqa: PLW1509
            os.close(slave)
            self._source = self.master
        else:
            options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **options}
            self.process = subprocess.Popen(command, **options)  # type: ignore[call-overload]
            self._source = self.process.stdout.fileno()

    @property
    def pid(self) -> int:
        return int(self.process.pid)

    def until(self, words: str) -> str:
        """Read until some words have come; return all output so far."""
        return self.wait_for(lambda: words.encode() in self.out, words)

    def wait_for(self, met: Callable[[], bool], name: str = "") -> str:
        """Read until something is so."""
        end = time.monotonic() + LONGEST
        while not met():
            assert time.monotonic() < end, f"no {name!r} in {self.out.decode(errors='replace')[-3000:]}"
            if select.select([self._source], [], [], 0.05)[0]:
                data = b""
                with contextlib.suppress(OSError):
                    data = os.read(self._source, 65536)
                self.out += data
                if not data:
                    assert met(), f"ended without {name!r}: {self.out.decode(errors='replace')[-3000:]}"
        return self.text

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """Read to the end; return the exit code, below 0 for a signal."""
        end = time.monotonic() + LONGEST
        while True:
            assert time.monotonic() < end, self.text[-3000:]
            # Asked before the wait: what it wrote between a wait and its end would be lost.
            ended = self.process.poll() is not None
            if not select.select([self._source], [], [], 0.05)[0]:
                if ended:
                    break
                continue
            try:
                data = os.read(self._source, 65536)
            except OSError:
                break
            if not data:
                break
            self.out += data
        return int(self.process.wait(LONGEST))

    def children(self) -> list[int]:
        """Return the ids of its child processes."""
        path = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        return [int(word) for word in path.read_text().split()]

    def close(self) -> None:
        for file in (self.process.stdin, None if self.master < 0 else self.process.stdout):
            if file is not None:
                file.close()
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            self.process.wait()
        if self.master >= 0:
            os.close(self.master)
        elif self.process.stdout:
            self.process.stdout.close()


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)


@pytest.fixture
def live() -> Iterator[Callable[..., Live]]:
    """Start commands; whatever still runs at the end is ended."""
    made: list[Live] = []

    def start(command: list[str], terminal: bool = False, **options: object) -> Live:
        made.append(Live(command, terminal, **options))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Undo what `nohup` and a shell's `&` ignore: what ignores a signal here would ignore it in every command that is started."""
    ignored = [
        name for name in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT) if signal.getsignal(name) is signal.SIG_IGN
    ]
    for name in ignored:
        signal.signal(name, signal.default_int_handler if name == signal.SIGINT else signal.SIG_DFL)
    yield
    for name in ignored:
        signal.signal(name, signal.SIG_IGN)


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "VLLM_TRIAGE_RULES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
