"""Runs start commands as a shell does, waits for the server, asks one request, and ends it."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import ssl
import time
from dataclasses import dataclass
from pathlib import Path

from ..record.environment import Environment
from ..record.faults import READY
from ..record.process import Server

_ADDRESS = re.compile(
    rb"Starting vLLM (?:API )?server(?: \d+)? on (?P<scheme>https?)://(?P<host>[^\s:]+):(?P<port>\d+)"
)
_USAGE = re.compile(rb"^vllm[ \w]*: error: |^\w+\.py: error: |^error: ", re.MULTILINE)
LIMIT = 150
"""Seconds that a start may take."""
PATIENCE = 60
"""Seconds that a request may take."""


@dataclass(frozen=True)
class Started:
    """What came of a start command."""

    log: bytes
    ready: bool
    answer: str
    """Status and body of the request; "" where none could be asked."""
    refused: bool
    """Whether the release's parser refused the command."""
    seconds: float

    @property
    def works(self) -> bool:
        """Whether the server came up and answered the request."""
        return self.ready and self.answer.startswith("200 ")


class Starter:
    """Starts servers of one release, one at a time.

    Args:
        work: Folder with the release's environment and the models.
        environment: Of the release.
    """

    def __init__(self, work: Path, environment: Environment) -> None:
        self._work = work / "prove"
        self._home = work / "home"
        self._environment = environment
        for folder in (self._work, self._home):
            folder.mkdir(parents=True, exist_ok=True)

    def start(self, command: str, request: str, files: dict[str, str] | None = None, ask: bool = True) -> Started:
        """Run a command line in a shell until the server is up or has failed.

        Args:
            command: As a person pastes it.
            request: The path that is asked: ``/v1/completions``, ``/v1/chat/completions``, ``/pooling``.
            files: Written into the folder it runs in, by name.
            ask: Whether a request is asked once the server is up.
        """
        folder = self._work / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, text in (files or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        began = time.monotonic()
        server = self._server(command, folder)
        answer = ""
        try:
            ready = server.wait_for(READY, LIMIT)
            if ready and ask:
                answer = _asked(bytes(server.output), request)
        finally:
            server.stop("kill")
        log = bytes(server.output)
        return Started(log, ready, answer, bool(_USAGE.search(log)), round(time.monotonic() - began, 1))

    def _server(self, command: str, folder: Path) -> Server:
        variables = {
            "PATH": f"{self._environment.venv / 'bin'}:{os.environ.get('PATH', '')}",
            "LANG": "C.UTF-8",
            "HOME": str(self._home),
            "TMPDIR": str(self._work),
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            **self._environment.variables(),
        }
        if "VLLM_CPU_KVCACHE_SPACE" not in command:
            variables["VLLM_CPU_KVCACHE_SPACE"] = "1"
        return Server(["bash", "-c", command], variables, folder)


def _asked(log: bytes, path: str) -> str:
    """Ask one request where the log says that the server listens, and return status and body."""
    found = _ADDRESS.search(log)
    if found is None:
        return ""
    context = ssl._create_unverified_context()  # noqa: S323, SLF001 - a server of our own, on this machine
    secure = found["scheme"] == b"https"
    host, port = "127.0.0.1", int(found["port"])
    connection = (
        http.client.HTTPSConnection(host, port, timeout=PATIENCE, context=context)
        if secure
        else http.client.HTTPConnection(host, port, timeout=PATIENCE)
    )
    try:
        connection.request("GET", "/v1/models")
        models = json.loads(connection.getresponse().read())
        body: dict[str, object] = {"model": models["data"][-1]["id"], "max_tokens": 4}
        if path.endswith("chat/completions"):
            body["messages"] = [{"role": "user", "content": "hello"}]
        else:
            body["prompt"] = "the quick brown fox"
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return f"{answer.status} {answer.read(300).decode(errors='replace')}"
    except (OSError, http.client.HTTPException, ValueError, KeyError, IndexError) as error:
        return f"{error!r}"
    finally:
        connection.close()
