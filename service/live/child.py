"""A command as a child process: what it reads and writes, the signals that it gets, and how it ends."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .pump import wide_pipe
from .signals import Came, Signals


class Stream(NamedTuple):
    """Something that the command writes to."""

    source: int
    """File descriptor to read it from."""
    out: int
    """File descriptor that it would have written to: 1 or 2."""


class NotStartedError(Exception):
    """The command cannot be started; ``code`` is the exit code that shells give for that."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class Child:
    """The command, started.

    Args:
        command: Its words.
        signals: Blocked already, not yet taken.
        environment: Variables to add.
        rows: Rows of the terminal that are the command's; 0 for all.

    Raises:
        NotStartedError: There is no such program, or it may not be run.
    """

    def __init__(
        self, command: Sequence[str], signals: Signals, environment: dict[str, str] | None = None, rows: int = 0
    ) -> None:
        self.streams: list[Stream] = []
        self.status: int | None = None
        """As ``os.waitpid`` tells it; None while it runs."""
        self.terminal = -1
        """Our end of its pseudo-terminal; -1 where it has none."""
        self._signals, self._rows = signals, rows
        theirs = self._outputs()
        standard_input = theirs[0] if self.terminal >= 0 and os.isatty(0) else None
        try:
            self._process = subprocess.Popen(  # noqa: S603 - to run the user's command is what we are for
                list(command),
                stdin=standard_input,
                stdout=theirs[0],
                stderr=theirs[1],
                env={**os.environ, **(environment or {})},
                preexec_fn=self._prepare(theirs[0]),  # noqa: PLW1509 - no thread runs yet
                close_fds=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            self._close(theirs)
            raise _not_started(command, error) from None
        self.pid = self._process.pid
        for file in set(theirs):
            os.close(file)

    def _outputs(self) -> tuple[int, int]:
        """Make what the command writes to: a terminal where we have one, one pipe where ours lead to one place, else two."""
        terminals = [os.isatty(file) for file in (1, 2)]
        slave = -1
        if any(terminals):
            self.terminal, slave = os.openpty()
            self.streams.append(Stream(os.dup(self.terminal), 1 if terminals[0] else 2))
            _as_ours(slave, 1 if terminals[0] else 2)
            self.resize()
        if all(terminals):
            return slave, slave
        reader, writer = wide_pipe()
        if any(terminals):
            self.streams.append(Stream(reader, 2 if terminals[0] else 1))
            return (slave, writer) if terminals[0] else (writer, slave)
        self.streams.append(Stream(reader, 1))
        if _same(1, 2):
            return writer, writer
        second, other = wide_pipe()
        self.streams.append(Stream(second, 2))
        return writer, other

    def _prepare(self, output: int) -> Callable[[], None]:
        before = self._signals.before
        terminal = self.terminal >= 0

        def prepare() -> None:
            if terminal:
                os.setsid()
                import fcntl
                import termios

                tty = output if os.isatty(output) else 2
                with contextlib.suppress(OSError):
                    fcntl.ioctl(tty, termios.TIOCSCTTY, 0)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

        return prepare

    def _close(self, theirs: tuple[int, int]) -> None:
        for file in {*theirs, *(stream.source for stream in self.streams)}:
            os.close(file)

    def send(self, came: Came) -> None:
        """Pass a signal on as the command would have got it."""
        if came.number == signal.SIGWINCH:
            self.resize()
            return
        if not came.keyboard:
            self._kill(self.pid, came.number)
        elif self.terminal >= 0:
            # Its terminal is ours to drive: the keyboard reaches all of its foreground group. Elsewhere it has done so.
            self._kill_group(came.number)

    def resize(self) -> None:
        """Give its terminal the size of ours."""
        if self.terminal < 0:
            return
        import fcntl
        import struct
        import termios

        with contextlib.suppress(OSError):
            size = os.get_terminal_size(1 if os.isatty(1) else 2)
            rows = max(1, size.lines - self._rows)
            fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, size.columns, 0, 0))

    def type(self, data: bytes) -> None:
        """Hand on what was typed; nothing: the end of the input."""
        if self.terminal >= 0:
            with contextlib.suppress(OSError):
                os.write(self.terminal, data or b"\x04")

    def reap(self) -> None:
        """Take note of every process that has ended: as the first process of a container we get all orphans."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.status = status
                self._process.returncode = os.waitstatus_to_exitcode(status)

    @property
    def exit_code(self) -> int:
        """The exit code; below 0 the number of the signal that ended it."""
        return 0 if self.status is None else os.waitstatus_to_exitcode(self.status)

    def _kill(self, pid: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.status is None:
                os.kill(pid, number)

    def _kill_group(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(os.tcgetpgrp(self.terminal), number)


def end_like(code: int, signals: Signals) -> int:
    """End this process as the command ended: by the same signal, or return the exit code for it."""
    if code >= 0:
        return code
    number = -code
    sys.stdout.flush()
    sys.stderr.flush()
    if os.getpid() != 1:
        # Its memory image was written, if it is wanted; ours is of no use.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        signals.release()
        os.kill(os.getpid(), number)
    return 128 + number


def _same(first: int, second: int) -> bool:
    try:
        one, other = os.fstat(first), os.fstat(second)
    except OSError:
        return False
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _as_ours(slave: int, ours: int) -> None:
    """Give the command's terminal the settings of ours, but let it change nothing: ours echoes and ends lines already."""
    import termios

    with contextlib.suppress(termios.error, OSError):
        settings = termios.tcgetattr(ours)
        settings[1] &= ~termios.OPOST
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, settings)


def _not_started(command: Sequence[str], error: Exception) -> NotStartedError:
    if isinstance(error, FileNotFoundError):
        return NotStartedError(f"{command[0]}: command not found", 127)
    if isinstance(error, OSError):
        return NotStartedError(f"{command[0]}: cannot be run ({error.strerror})", 126)
    return NotStartedError(f"{command[0]}: cannot be run ({error})", 126)
