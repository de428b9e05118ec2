"""The command as a process: pipes that close, terminals, Ctrl-C, and what is not imported."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.service.conftest import COMMAND, FAILED, process
from vllm_triage.service.cli.main import main

HEAVY = ("pydantic", "sklearn", "numpy", "fastapi", "rich", "importlib.metadata", "joblib", "asyncio")
"""Modules that cost more than an answer does."""
TRIAGE = " ".join(COMMAND)
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="terminals and signals of POSIX")


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in bash."""
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)


def test_the_json_path_imports_nothing_heavy(failed):
    """An answer for a program takes some fifty milliseconds: none of them for modules that it does not need."""
    ask = (
        "import sys; from vllm_triage.service.cli.main import main; "
        f"main([{str(failed)!r}, '-f', 'json']); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=120, check=True)

    assert (json.loads(ran.stdout)["bucket"], ran.stderr.strip()) == ("kv_cache_oom", "[]")


@POSIX
def test_a_reader_that_has_seen_enough_is_no_error(failed):
    """`vllm-triage … | head -1` is quiet, and the exit code is that of the answer."""
    ran = shell(f"{{ {TRIAGE} {failed} {failed} -v; echo $? >&2; }} | head -1")

    assert (ran.stderr, ran.stdout.count("\n")) == ("1\n", 1)


@POSIX
def test_an_output_that_is_closed_is_no_error(failed):
    """The same with nobody at the other end at all."""
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run([*COMMAND, str(failed)], stdout=writer, stderr=subprocess.PIPE, timeout=120, check=False)
    os.close(writer)

    assert (ran.returncode, ran.stderr) == (1, b"")


@POSIX
def test_a_list_that_nobody_reads_to_its_end_is_no_error():
    """`vllm-triage rules | head -1`."""
    ran = shell(f"{{ {TRIAGE} rules; echo $? >&2; }} | head -1")

    assert (ran.stderr, ran.stdout.count("\n")) == ("0\n", 1)


@POSIX
@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("{log} >/dev/full", "the answer cannot be written: No space left on device"),
        ("{log} -f json >/dev/full", "the answer cannot be written: No space left on device"),
        ("rules >/dev/full", "the answer cannot be written: No space left on device"),
        ("{log} >&-", "standard output is closed: there is nowhere to write the answer"),
        ("rules >&-", "standard output is closed: there is nowhere to write the answer"),
    ],
)
def test_an_answer_that_cannot_be_written_ends_with_two(command, complaint, failed):
    """One line, and never 1: that says that a failure was found."""
    ran = shell(f"{TRIAGE} {command.format(log=failed)}")

    assert (2, f"vllm-triage: {complaint}\n") == (ran.returncode, ran.stderr)


@POSIX
def test_without_standard_error_nothing_of_it_gets_into_the_output(failed):
    """A complaint that cannot be made does not stand among the answers."""
    ran = shell(f"{TRIAGE} /no/such/file {failed} -f jsonl 2>&-")

    assert (2, ["kv_cache_oom", None]) == (
        ran.returncode, [json.loads(line).get("bucket") for line in ran.stdout.splitlines()],
    )  # fmt: skip


@pytest.mark.parametrize(("words", "traced"), [([], False), (["--debug"], True)])
def test_an_error_of_our_own_ends_with_two_and_one_line(words, traced, failed):
    """With ``--debug`` its traceback as well."""
    ask = (
        "import sys, vllm_triage.classifier.api as api\n"
        "def broken(*_): raise RuntimeError('a bug at hf_' + 'a' * 30)\n"
        "api.build = broken\n"
        "from vllm_triage.service.cli.main import main\n"
        f"sys.exit(main([{str(failed)!r}, *{words!r}]))\n"
    )
    ran = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=120, check=False)
    last = ran.stderr.splitlines()[-1]

    assert (2, "") == (ran.returncode, ran.stdout)
    assert (
        "vllm-triage: internal error, please report it: RuntimeError: a bug at <hf-token> (--debug shows where)" == last
    )
    assert traced is ("Traceback" in ran.stderr)


@POSIX
@pytest.mark.parametrize("module", ["vllm_triage.service.cli.main", "vllm_triage.classifier.api", "json"])
def test_ctrl_c_while_modules_are_imported_ends_quietly(module, failed):
    """As early as the command can help it."""
    ask = (
        "import builtins, sys, _thread\n"
        "real = builtins.__import__\n"
        "def slow(name, globals=None, locals=None, fromlist=(), level=0):\n"
        f"    if {module.rpartition('.')[2]!r} in (name.rpartition('.')[2], *(fromlist or ())): raise KeyboardInterrupt\n"
        "    return real(name, globals, locals, fromlist, level)\n"
        "from vllm_triage.service.__main__ import main\n"
        "builtins.__import__ = slow\n"
        f"sys.argv = ['vllm-triage', {str(failed)!r}]\n"
        "sys.exit(main())\n"
    )
    ran = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=120, check=False)

    assert (130, "", "") == (ran.returncode, ran.stdout, ran.stderr)


@POSIX
@pytest.mark.parametrize(
    ("words", "code", "words_seen"), [([], 2, "usage: vllm-triage"), (["-"], 2, "standard input is a terminal")]
)
def test_a_terminal_as_input_gets_help_not_silence(words, code, words_seen):
    """Nobody types a log: waiting for one would look like hanging."""
    import pty

    keyboard, terminal = pty.openpty()
    ran = process(words, stdin=terminal)
    os.close(terminal)
    os.close(keyboard)

    assert (ran.returncode, words_seen in (ran.stdout + ran.stderr).decode()) == (code, True)


@POSIX
def test_a_terminal_as_output_gets_colours(failed):
    """And a file does not."""
    import pty

    screen, terminal = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")} | {
        "TERM": "xterm"
    }
    subprocess.run([*COMMAND, str(failed)], stdout=terminal, timeout=120, check=False, env=environment)
    os.close(terminal)
    shown = os.read(screen, 1 << 16)
    os.close(screen)

    assert b"\x1b[" in shown


@POSIX
def test_closed_input_is_refused():
    """A daemon starts programs like this."""
    ran = subprocess.run(
        ["bash", "-c", f"{' '.join(COMMAND)} - <&-"], capture_output=True, text=True, timeout=120, check=False
    )

    assert (ran.returncode, "Traceback" in ran.stderr) == (2, False)


class _Endless:
    """A log that never ends, on the standard input of a running command."""

    def __init__(self, *, flowing: bool) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "-", "-f", "json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._flowing = flowing
        self._written = 0
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        file = self.process.stdin
        assert file is not None
        try:
            file.write(FAILED.encode())
            file.flush()
            self._written = len(FAILED)
            while self._flowing:
                self._written += file.write(b"INFO: one more line\n" * 400)
                file.flush()
                time.sleep(0.01)
        except BrokenPipeError:
            pass

    def end(self) -> None:
        """Stop both and close what is between them."""
        self.process.kill()
        self.process.wait(60)
        self._flowing = False
        self._thread.join(60)
        for file in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert file is not None
            with contextlib.suppress(BrokenPipeError):
                file.close()

    def wait_until_read(self) -> None:
        """Return when the command reads, by which time its handler for Ctrl-C is in place."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            # More written than a pipe holds, or all of it taken out.
            if self._written > 1 << 18 or (self._written and not self._flowing and self._waiting() == 0):
                return
            time.sleep(0.02)
        raise AssertionError("the command never read its input")

    def _waiting(self) -> int:
        import fcntl
        import termios

        assert self.process.stdin is not None
        answer = fcntl.ioctl(self.process.stdin.fileno(), termios.FIONREAD, bytes(4))
        return int.from_bytes(answer, sys.byteorder)


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize(("flowing", "presses"), [(True, 1), (False, 1), (False, 2)])
def test_ctrl_c_on_an_endless_log_ends_with_the_answer(flowing, presses):
    """The server goes on writing, or says nothing any more: one Ctrl-C, a few seconds, the answer. Two: at once."""
    log = _Endless(flowing=flowing)
    try:
        log.wait_until_read()
        for _ in range(presses):
            log.process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        assert log.process.stdout is not None
        answer = json.loads(log.process.stdout.read())
        code = log.process.wait(60)
    finally:
        log.end()

    assert (code, answer["bucket"]) == (1, "kv_cache_oom")
    assert "Ctrl-C" in answer["notes"][-1]


@POSIX
@pytest.mark.parametrize(("before", "code"), [(b"", 130), (FAILED.encode(), 1)])
def test_ctrl_c_before_anything_came_ends_with_130(before, code, monkeypatch, capsys):
    """There is nothing to answer then; what was read before is answered."""

    class Pressed(io.BytesIO):
        """A pipe at which Ctrl-C is pressed while more is waited for."""

        def read1(self, size: int | None = -1) -> bytes:
            if not (data := super().read1(-1 if size is None else size)):
                signal.raise_signal(signal.SIGINT)
            return data

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Pressed(before)))

    assert (code, "") == (main(["-"]), capsys.readouterr().err)
