"""A server as a session of its own: its output byte for byte with arrival times, its processes, its end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .environment import RecordError

PROC = Path("/proc")
SHARED = "/dev/shm/"  # noqa: S108 - looked at, and cleaned of what our own processes mapped
ENDING = 30
"""Seconds that a server has to stop after it was asked to."""


@dataclass(frozen=True)
class Member:
    """One process of the session."""

    pid: int
    command: str


class Server:
    """A command, started in a session of its own so that all that it starts is known.

    Attributes:
        output: Everything that was printed so far, stdout and stderr as they came.
        times: For each finished line, the milliseconds from the start until its end arrived.
    """

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        self.output = bytearray()
        self.times: list[int] = []
        self._started = time.monotonic()
        self._shared: set[str] = set()
        self._process = subprocess.Popen(  # noqa: S603 - the catalogue's commands
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        if self._process.stdout is None:
            raise RuntimeError("a pipe was asked for and is not there")
        self._pipe = self._process.stdout
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The main process, which is also the id of the session and of its first group."""
        return self._process.pid

    def exit_code(self) -> int | None:
        """Return how the main process ended, None while it runs."""
        return self._process.poll()

    def wait_for(self, text: str, seconds: float) -> bool:
        """Wait until ``text`` was printed; False if the server ended or the time is over before."""
        until = time.monotonic() + seconds
        sought = text.encode()
        while time.monotonic() < until:
            self.members()
            if sought in self.output:
                return True
            if self.exit_code() is not None:
                self._reader.join(5)
                return sought in self.output
            time.sleep(0.25)
        return False

    def members(self) -> list[Member]:
        """Return the session's living processes by age, and note which shared memory they use."""
        return sorted(members_of(self.pid, self._shared), key=lambda member: member.pid)

    def signal(self, name: str, pattern: str, which: int = 0) -> str:
        """Send a signal to the process whose command line matches; return that command line ('' if there is none)."""
        matching = [
            member
            for member in self.members()
            if re.search(pattern, member.command) and "resource_tracker" not in member.command
        ]
        if not matching:
            return ""
        os.kill(matching[which].pid, getattr(signal, name))
        return matching[which].command

    def stop(self, how: str) -> str:
        """End everything, in the way that ``how`` names (see ``faults.Stop``), and return what was done in words."""
        ending = "ended by itself"
        self.members()
        if self.exit_code() is None and how == "exit":
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(ENDING)
        if self.exit_code() is None:
            ending = self._ask(how)
        # What is left of the session, by its processes' own ids: none of them may outlive the recording.
        for attempt in range(30):
            left = self.members()
            if not left:
                break
            for member in left:
                if "resource_tracker" in member.command and attempt < 10:
                    # Python's own cleaner of shared memory: it goes by itself when the others are gone.
                    continue
                with suppress(ProcessLookupError):
                    os.kill(member.pid, signal.SIGKILL)
            time.sleep(0.2)
        self._process.wait()
        self._reader.join(5)
        if not self._reader.is_alive():
            self._pipe.close()
        for path in self._shared:
            with suppress(OSError):
                Path(path).unlink()
        return ending

    def _ask(self, how: str) -> str:
        match how:
            case "freeze":
                # The log ends here; what killing adds to it belongs to us, not to the fault.
                frozen, lines = bytes(self.output), len(self.times)
                for member in self.members():
                    with suppress(ProcessLookupError):
                        os.kill(member.pid, signal.SIGKILL)
                self._process.wait()
                self._reader.join(5)
                self.output[:] = frozen
                del self.times[lines:]
                return "log cut here, then SIGKILL to all"
            case "interrupt":
                os.killpg(self.pid, signal.SIGINT)
                said = "SIGINT to the group (Ctrl-C)"
            case "interrupt-main":
                os.kill(self.pid, signal.SIGINT)
                said = "SIGINT to the main process"
            case "kill":
                os.kill(self.pid, signal.SIGKILL)
                said = "SIGKILL to the main process"
            case _:
                os.kill(self.pid, signal.SIGTERM)
                said = "SIGTERM to the main process"
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            said += f", SIGKILL to all after {ENDING} s"
        return said

    def _read(self) -> None:
        pipe = self._pipe.fileno()
        while chunk := os.read(pipe, 1 << 16):
            now = round((time.monotonic() - self._started) * 1000)
            self.output += chunk
            self.times += [now] * chunk.count(b"\n")


def members_of(session: int, shared: set[str]) -> list[Member]:
    """Return the living processes of a session, and add to ``shared`` which shared memory they use."""
    found = [
        Member(int(entry.name), command)
        for entry in PROC.iterdir()
        if entry.name.isdigit() and (command := _command_in(entry, session))
    ]
    for member in found:
        with suppress(OSError):
            mapped = re.findall(rf"{SHARED}\S+", (PROC / str(member.pid) / "maps").read_text())
            shared.update(mapped)
    return found


def _command_in(entry: Path, session: int) -> str:
    """Return the command line of a process of the session; '' if it is of another one, ended or a zombie."""
    try:
        # After the name in parentheses, which may hold anything: state, parent, group, session.
        state, _, _, of = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        if int(of) != session or state in "ZX":
            return ""
        return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip() or "?"
    except (OSError, ValueError):
        return ""


def free_port(first: int) -> int:
    """Return the first port from ``first`` on that nobody listens on."""
    for port in range(first, first + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RecordError(f"no free port from {first} to {first + 99}")
