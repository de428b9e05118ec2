"""One fault from start to end: the command in its surroundings, what is done to it, what is kept of it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .environment import Environment, RecordError, bare_path
from .faults import READY, Fault
from .hub import Hub
from .process import Server, free_port
from .traffic import Client, filled

FIRST_PORT = 8100


@dataclass(frozen=True)
class Recording:
    """What is kept of one fault, byte for byte, below ``work/raw/<release>``."""

    log: Path
    times: Path
    about: Path

    @classmethod
    def at(cls, work: Path, release: str, fault: str) -> Recording:
        """Return where the recording of a fault lies, or will lie."""
        folder = work / "raw" / release
        return cls(folder / f"{fault}.log", folder / f"{fault}.times", folder / f"{fault}.json")

    def exists(self) -> bool:
        """Return whether the fault was recorded to its end."""
        return self.about.is_file()


class Runner:
    """Runs faults against one release, one at a time."""

    def __init__(self, work: Path, environment: Environment) -> None:
        self._work = work
        self._environment = environment
        self._home = work / "home"
        self._temporary = work / "tmp"
        self._base_prefix = environment.base_prefix()

    def run(self, fault: Fault) -> Recording:
        """Provoke a fault and keep its log.

        Raises:
            RecordError: Something that the fault needs is not there.
        """
        version = self._environment.release.version
        recording = Recording.at(self._work, version, fault.id)
        recording.log.parent.mkdir(parents=True, exist_ok=True)
        self._fresh_folders()
        port = free_port(FIRST_PORT)
        output = bytearray()
        times: list[int] = []
        about: dict[str, Any] = {}
        with ExitStack() as stack:
            venv = self._environment.venv
            if fault.remove_packages or fault.install_packages:
                others = filled(fault.install_packages, {"version": version})
                venv = self._environment.clone("broken", fault.remove_packages, others)
                stack.callback(shutil.rmtree, venv, ignore_errors=True)
            if fault.hold_port:
                holder = stack.enter_context(socket.socket())
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                holder.bind(("127.0.0.1", port))
                holder.listen()
            hub = stack.enter_context(Hub(fault.hub)).url if fault.hub else ""
            fill = self._fill(venv, port, hub)
            command = self._command(fault, venv, fill)
            environment = self._variables(fault, fill)
            for _ in range(fault.starts):
                since = len(times) and times[-1]
                server = Server(_surroundings(fault, command, fill), environment, self._work / "run")
                about = _provoke(server, fault, port, {**fill, "model": filled(fault.model, fill)})
                output += server.output
                times += [since + at for at in server.times]
        recording.log.write_bytes(output)
        recording.times.write_text("".join(f"{at}\n" for at in times))
        about |= {
            "command": command,
            "environment": filled(fault.environment, fill),
            "surroundings": _in_words(fault),
            "port": port,
            "hub": hub,
        }
        about |= {"venv": str(venv), "base_prefix": self._base_prefix, "recorded": time.strftime("%Y-%m-%d")}
        recording.about.write_text(json.dumps(about, indent=1))
        return recording

    def _fresh_folders(self) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        for folder in (self._temporary, self._work / "run"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)

    def _fill(self, venv: Path, port: int, hub: str) -> dict[str, str]:
        return {
            "models": str(self._work / "models"),
            "home": str(self._home),
            "tmp": str(self._temporary),
            "port": str(port),
            "hub": hub,
            "python": str(venv / "bin/python"),
            "host": socket.gethostname(),
            "version": self._environment.release.version,
        }

    def _command(self, fault: Fault, venv: Path, fill: dict[str, str]) -> list[str]:
        if fault.script:
            script = self._work / "run" / "app.py"
            script.write_text(filled(fault.script, fill))
            return [str(venv / "bin/python"), str(script)]
        # As a module: the script in a copied environment would start the original's Python.
        start = (
            [str(venv / "bin/python"), "-m", "vllm.entrypoints.cli.main"]
            if venv != self._environment.venv
            else [str(venv / "bin/vllm")]
        )
        if fault.command:
            return [*start, *filled(fault.command, fill)]
        command = [*start, "serve", filled(fault.model, fill), "--host", "127.0.0.1", "--port", fill["port"]]
        command += ["--load-format", "dummy"] if fault.dummy else []
        command += ["--dtype", "float32"] if fault.float32 else []
        command += ["--enforce-eager"] if fault.eager else []
        arguments: list[str] = filled(fault.arguments, fill)
        return command + arguments

    def _variables(self, fault: Fault, fill: dict[str, str]) -> dict[str, str]:
        path = os.environ.get("PATH", "")
        if fault.hide_commands:
            path = str(bare_path(self._work, fault.hide_commands))
        variables = {
            "PATH": path,
            "LANG": "C.UTF-8",
            "HOME": str(self._home),
            "TMPDIR": str(self._temporary),
            "HF_HUB_OFFLINE": "1",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            **self._environment.variables(),
            **filled(fault.environment, fill),
        }
        return {name: value for name, value in variables.items() if name not in fault.unset}


def _provoke(server: Server, fault: Fault, port: int, fill: dict[str, str]) -> dict[str, Any]:
    started = time.monotonic()
    client = Client(server, port, fill)
    try:
        reached = server.wait_for(fault.until_line, fault.limit)
        seconds = round(time.monotonic() - started, 1)
        if reached:
            client.do(fault.traffic)
    finally:
        # Also on Ctrl-C here: nothing of a recording may go on running.
        ending = server.stop(fault.stop)
    return {
        "reached": reached,
        "reached_after": seconds,
        "ready": READY.encode() in server.output,
        "ending": ending,
        "exit_code": server.exit_code(),
        "seconds": round(time.monotonic() - started, 1),
        "notes": client.notes,
    }


def _surroundings(fault: Fault, command: list[str], fill: dict[str, str]) -> list[str]:
    """Return the command behind what limits it: rights, resource limits, small file systems of its own."""
    if fault.drop_capabilities and os.geteuid() == 0:
        if not shutil.which("setpriv"):
            raise RecordError(f"{fault.id}: root must give up rights for it (setpriv, Linux)")
        dropped = ",".join(f"-{name}" for name in fault.drop_capabilities)
        command = ["setpriv", "--bounding-set", dropped, "--inh-caps", dropped, *command]
    lines = [f"mount -t tmpfs -o size={size} tmpfs {filled(place, fill)}" for place, size in fault.mounts.items()]
    lines = [f"mkdir -p {filled(place, fill)}" for place in fault.mounts] + lines
    lines += [f"ulimit -{letter} {value}" for letter, value in fault.ulimit.items()]
    if not lines:
        return command
    shell = ["sh", "-c", " && ".join([*lines, 'exec "$@"']), "sh", *command]
    if not fault.mounts:
        return shell
    if sys.platform != "linux" or not shutil.which("unshare"):
        raise RecordError(f"{fault.id}: needs a mount namespace of its own (unshare, Linux)")
    # Without the map to root only root may mount; with it everybody, where the kernel lets users have namespaces.
    return ["unshare", "-m" if os.geteuid() == 0 else "-rm", *shell]


def _in_words(fault: Fault) -> list[str]:
    words = [f"ulimit -{letter} {value}" for letter, value in fault.ulimit.items()]
    words += [f"{place} of {size}" for place, size in fault.mounts.items()]
    words += [f"without the right {name}" for name in fault.drop_capabilities]
    words += [f"without the commands {fault.hide_commands}"] if fault.hide_commands else []
    words += ["another process holds the port"] if fault.hold_port else []
    words += [f"a hub that answers {fault.hub}"] if fault.hub else []
    words += [f"without the package {name}" for name in fault.remove_packages]
    words += [f"with the package {name}" for name in fault.install_packages]
    return words
