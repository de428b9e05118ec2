"""The command: `python -m vllm_triage.training.record.gpu --python PYTHON [--scenario ID …]`."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..normalise import machine_addresses, normalise, replacements
from ..process import Server
from ..publish import INDEX, RECORDED, NotProvokedError, enter, find_evidence, short_times, text_of
from .scenarios import Scenario, scenarios

TARGET = RECORDED / "torch"
PROVOKE = Path(__file__).with_name("provoke.py")


def main(argv: Sequence[str] | None = None) -> int:
    """Run what this machine can show; 0 if each of those logs shows what it must."""
    options = _parser().parse_args(argv)
    machine = probe(options.python)
    print(f"machine: {json.dumps(machine)}", flush=True)
    failed = 0
    for scenario in scenarios():
        if options.scenario and scenario.id not in options.scenario:
            continue
        if missing := scenario.missing(machine):
            print(f"{scenario.id}: left out: {missing}", flush=True)
            continue
        try:
            lines = record(scenario, options.python, machine, options.out)
            print(f"{scenario.id}: {scenario.bucket}, line {lines[0]}", flush=True)
        except NotProvokedError as error:
            failed += 1
            print(f"{scenario.id}: NOT PROVOKED: {error}", flush=True)
    return 1 if failed else 0


def probe(python: str) -> dict[str, Any]:
    """Return which torch an interpreter has, and what GPUs that sees."""
    done = subprocess.run([python, str(PROVOKE), "--probe"], capture_output=True, text=True, check=True)  # noqa: S603 - the user's choice
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def record(scenario: Scenario, python: str, machine: dict[str, Any], target: Path) -> list[int]:
    """Run one scenario, keep its log below ``target``, and return the numbers of the lines that prove it.

    Raises:
        NotProvokedError: The log does not show the failure; nothing is kept.
    """
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            "PATH": os.environ.get("PATH", ""),
            "LANG": "C.UTF-8",
            "HOME": folder,
            "TMPDIR": folder,
            **{name: value for name, value in os.environ.items() if name in ("LD_LIBRARY_PATH", "CUDA_HOME")},
            **scenario.environment,
        }
        started = time.monotonic()
        server = Server([python, str(PROVOKE), scenario.function or scenario.id], variables, Path(folder))
        while server.exit_code() is None and time.monotonic() - started < scenario.seconds:
            time.sleep(0.2)
        ending = server.stop("terminate")
        prefix = str(Path(python).parent.parent)
        about = {"venv": prefix, "base_prefix": _base(python)}
        known = {
            **replacements(about, folder, machine_addresses(), socket.gethostname()),
            str(PROVOKE.parent): "/app",
        }
    log = normalise(bytes(server.output), known)
    lines = find_evidence(log, scenario.evidence)
    if not lines:
        raise NotProvokedError(
            f"no line matches {' or '.join(scenario.evidence)}; the log ends: {log[-300:].decode('utf-8', 'replace')!r}"
        )
    release = f"torch-{machine['torch'].partition('+')[0]}" + ("" if machine["gpus"] else "-cpu")
    home = target / release
    home.mkdir(parents=True, exist_ok=True)
    (home / f"{scenario.id}.log").write_bytes(log)
    (home / f"{scenario.id}.times").write_text(short_times("\n".join(map(str, server.times))))
    enter(
        target / INDEX,
        {
            "file": f"{release}/{scenario.id}.log",
            "release": release,
            "fault": scenario.id,
            "bucket": scenario.bucket,
            "also": scenario.also,
            "evidence": text_of(log, lines[0]),
            "evidence_lines": lines,
            "cause": scenario.cause,
            "broken": scenario.broken,
            "machine": machine,
            "environment": scenario.environment,
            "ending": ending,
            "exit_code": server.exit_code(),
            "recorded": time.strftime("%Y-%m-%d"),
        },
    )
    return lines


def _base(python: str) -> str:
    done = subprocess.run(  # noqa: S603 - the user's choice
        [python, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vllm_triage.training.record.gpu",
        description="Record what PyTorch, CUDA and NCCL print when they fail.",
    )
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has torch (default: this one)")
    parser.add_argument("--scenario", nargs="+", default=[], metavar="ID", help="only these")
    parser.add_argument("--out", type=Path, default=TARGET, help="where logs and index go (default: %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
