"""``python -m vllm_triage.training.patience.trials``: stops processes of real servers under ``vllm-triage run``, and starts healthy ones.

Each trial is a start of vLLM's CPU build. In a trial of a stop a process is stopped (SIGSTOP) at a moment, and what counts is
whether ``run`` says that the server stands still, after how long, and of what it speaks. Until then, and in a healthy start
all the time, whatever it says of a standstill is a false alarm. One JSON object is written for each trial.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from ..prove.__main__ import PROOF
from ..record.environment import Environment, RecordError
from ..record.faults import READY, Catalogue
from ..record.models import make_model
from ..record.process import PROC, free_port

BUCKET = "mqllmengine_stall"
"""What a server that stands still, on one machine and without a collective, is answered with."""
ENGINE = ("EngineCore", "multiprocessing.spawn", "multiprocessing.forkserver", "multiprocess")
"""What stands in the command line of an engine's process, by release."""
LIMIT = 400
"""Seconds that a start may take on a machine that is slowed down on purpose."""
NOTICED = 130
"""Seconds after which a standstill that was not noticed never will be: the patience of a server with requests running."""


@dataclass(frozen=True)
class Moment:
    """When a process is stopped, and which."""

    name: str
    after: str
    """What the log says before it."""
    engine: bool
    """Whether it is the engine's process; else the API server's."""
    asked: bool
    """Whether a request is on its way."""


MOMENTS = (
    Moment("engine, starting", "Initializing a V1 LLM engine", engine=True, asked=False),
    Moment("engine, loading", "Starting to load model", engine=True, asked=False),
    Moment("server, starting", "Initializing a V1 LLM engine", engine=False, asked=False),
    Moment("engine, request running", READY, engine=True, asked=True),
    Moment("server, request running", READY, engine=False, asked=True),
)


class Running:
    """A server of vLLM under ``vllm-triage run``, with the events that it writes."""

    def __init__(self, environment: Environment, work: Path, model: Path, prefix: list[str]) -> None:
        self.port = free_port(8700)
        self._folder = Path(tempfile.mkdtemp(dir=work))
        self._events = self._folder / "events"
        self._events.touch()
        self._log = (self._folder / "log").open("wb")
        vllm = [
            str(environment.venv / "bin/vllm"),
            "serve",
            str(model),
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
        ]
        run = [
            sys.executable,
            "-m",
            "vllm_triage.service",
            "run",
            "--no-status",
            "--json-events",
            str(self._events),
            "--",
        ]
        variables = {
            **os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1",
            **environment.variables(),
        }  # fmt: skip
        self.process = subprocess.Popen(  # noqa: S603 - the release's own program
            [*run, *prefix, *vllm, "--max-model-len", "512"],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env=variables,
        )

    def log(self) -> str:
        """Return what was printed so far."""
        return (self._folder / "log").read_text("utf-8", "replace")

    def standstills(self) -> list[dict[str, object]]:
        """Return what was said of standstills so far, but that it is over."""
        events = [json.loads(line) for line in self._events.read_text().splitlines() if line.endswith("}")]
        return [event for event in events if event["event"] == "standstill" and event["verdict"] != "moving"]

    def until(self, held: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds; False if the server ended or the time was over before."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            if held():
                return True
            time.sleep(0.2)
        return held()

    def members(self, engine: bool) -> list[int]:
        """Return the processes of the engine, or of the API server, oldest first."""
        below = [(pid, line) for pid, line in _below(self.process.pid) if "vllm_triage" not in line]
        engines = [
            pid for pid, line in below if any(name in line for name in ENGINE) and "resource_tracker" not in line
        ]
        return engines if engine else [pid for pid, line in below if pid not in engines and "serve" in line]

    def ask(self) -> None:
        """Send a request, in a thread that nobody waits for."""
        body = json.dumps({"model": self._model(), "prompt": "the quick brown fox", "max_tokens": 400}).encode()
        request = Request(f"http://127.0.0.1:{self.port}/v1/completions", body, {"Content-Type": "application/json"})

        def send() -> None:
            with suppress(OSError, URLError), urlopen(request, timeout=NOTICED + 60) as answer:  # noqa: S310 - our own server
                answer.read()

        threading.Thread(target=send, daemon=True).start()

    def end(self) -> None:
        """End all of it at once: what vLLM makes of a signal is not asked here."""
        for pid, line in _below(self.process.pid):
            if "vllm_triage" not in line:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.process.kill()
        self.process.wait()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _model(self) -> str:
        # The log says that the server is up before it listens.
        self.until(self._listens, 30)
        with urlopen(f"http://127.0.0.1:{self.port}/v1/models", timeout=30) as answer:
            return str(json.load(answer)["data"][0]["id"])


def stop_trial(server: Running, moment: Moment) -> dict[str, object]:
    """Stop a process at its moment, and return what came of it."""
    row: dict[str, object] = {"trial": moment.name}
    if not server.until(lambda: moment.after in server.log() and bool(server.members(moment.engine)), LIMIT):
        return row | {"problem": "the moment did not come"}
    row["false"] = [f"{event['verdict']} in {event['stage']}" for event in server.standstills()]
    before = len(server.standstills())
    if moment.asked:
        server.ask()
        time.sleep(0.3)
    stopped = server.members(moment.engine)[:1]
    os.kill(stopped[0], signal.SIGSTOP)
    began = time.monotonic()
    row["noticed"] = server.until(lambda: len(server.standstills()) > before, NOTICED)
    row["after"] = round(time.monotonic() - began, 1)
    said = server.standstills()[before:]
    row["said"] = [f"{event['verdict']} in {event['stage']}" for event in said]
    cause = str(said[0].get("cause", "")) if said else ""
    row["cause"], row["right"] = (
        cause,
        bool(said) and said[0]["verdict"] == "stalled" and cause.startswith(f"{BUCKET}/"),
    )
    return row


def healthy_trial(server: Running) -> dict[str, object]:
    """Let a server come up, ask a request, and return what was said of it meanwhile."""
    row: dict[str, object] = {"trial": "healthy"}
    began = time.monotonic()
    row["ready"] = server.until(lambda: READY in server.log(), LIMIT)
    row["seconds"] = round(time.monotonic() - began, 1)
    if row["ready"]:
        server.ask()
        time.sleep(5)
    row["false"] = [f"{event['verdict']} in {event['stage']}" for event in server.standstills()]
    return row


def _below(root: int) -> Iterator[tuple[int, str]]:
    """Yield the living descendants of a process, oldest first, with their command lines."""
    parents: dict[int, int] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if fields[0] not in "ZX":
                    parents[int(entry.name)] = int(fields[1])
    below = {root}
    for pid in sorted(parents):
        if parents[pid] in below:
            below.add(pid)
            with suppress(OSError):
                yield pid, (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def main() -> int:
    """Run the trials asked for; 0 if every stop was noticed and nothing else was."""
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.patience.trials", description=__doc__)
    parser.add_argument("--release", required=True, action="append", help="a release of the recorder's catalogue")
    parser.add_argument("--work", required=True, type=Path, help="folder with the environments of the releases")
    parser.add_argument("--rounds", type=int, default=1, help="of all moments")
    parser.add_argument("--healthy", type=int, default=0, help="healthy starts")
    parser.add_argument("--through", default="", help='what slows the server down ("nice -n 19 taskset -c 0")')
    parser.add_argument("--rows", type=Path, default=Path("trials.jsonl"))
    options = parser.parse_args()
    known = Catalogue().releases
    bad = 0
    try:
        for version in options.release:
            environment = Environment(options.work, known[version])
            environment.make()
            model = options.work / "models" / PROOF.id
            make_model(model, PROOF)
            trials = [("stop", moment) for _ in range(options.rounds) for moment in MOMENTS]
            for kind, moment in [*trials, *[("healthy", MOMENTS[0])] * options.healthy]:
                server = Running(environment, options.work, model, options.through.split())
                try:
                    row = stop_trial(server, moment) if kind == "stop" else healthy_trial(server)
                finally:
                    server.end()
                row = {"release": version, **row}
                bad += bool(row.get("false") or row.get("right") is False or row.get("ready") is False)
                print(json.dumps(row), flush=True)
                with options.rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    except (RecordError, KeyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
