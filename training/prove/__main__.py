"""The command: ``python -m vllm_triage.training.prove --release X [--fault ID …]``; ``--page`` writes docs/lab/proof.md."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ...classifier.api import Triage
from ..record.environment import Environment, RecordError
from ..record.faults import Catalogue, CatalogueError, Model, Weights, version_key
from ..record.models import make_model, make_models
from ..record.process import free_port
from .faults import Proof, load_faults
from .page import PAGE, written
from .starts import Starter
from .verdicts import Judge, to_row

ROWS = Path(__file__).resolve().parent / "proof.jsonl"
FIRST_LOOKS = ROWS.with_name("first_looks.jsonl")
"""What releases showed before anything was changed for them."""
LIB = ROWS.parent / "catalogue" / "lib"
"""A user's own module."""
FIRST_PORT = 8500
"""Where a free port is looked for."""
SEEN = ("0.10.2", "0.14.1", "0.23.0", "0.30.0", "0.32.0")
"""Releases whose faults were looked at while rules and corrector were written."""
PROOF = Model(id="proof", config={"torch_dtype": "float32"}, weights=Weights())


def main(argv: Sequence[str] | None = None) -> int:
    """Prove, list, or write the page; 0 if all faults asked for were judged."""
    options = _parser().parse_args(argv)
    try:
        recorder = Catalogue()
        faults = load_faults(recorder)
        if options.page:
            PAGE.write_text(written(_rows(options.rows), faults, SEEN, _rows(FIRST_LOOKS)), encoding="utf-8")
            return 0
        chosen = _chosen(recorder, faults, options)
        if options.list:
            for fault in chosen:
                print(f"{fault.id:32} {fault.group:12} {fault.broken}")
            return 0
        return _prove(recorder, chosen, options)
    except (RecordError, CatalogueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130


def _chosen(recorder: Catalogue, faults: dict[str, Proof], options: argparse.Namespace) -> list[Proof]:
    if options.release not in recorder.releases:
        raise RecordError(f"name a release of the recorder's catalogue: {', '.join(recorder.releases)}")
    if unknown := [name for name in options.fault if name not in faults]:
        raise RecordError(f"no such fault: {', '.join(unknown)}")
    some = bool(options.fault or options.group)
    applying = [fault for fault in faults.values() if fault.applies(options.release)]
    return [fault for fault in applying if not some or fault.id in options.fault or fault.group in options.group]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vllm_triage.training.prove",
        description="Break starts of a real vLLM release (CPU build), do what the answer says, and see whether they start.",
    )
    parser.add_argument("--release", default="", help="which one, of the recorder's catalogue/releases.toml")
    parser.add_argument("--fault", nargs="+", default=[], metavar="ID", help="only these")
    parser.add_argument("--group", nargs="+", default=[], metavar="NAME", help="only the faults of these files")
    parser.add_argument("--list", action="store_true", help="list the faults of --release and exit")
    parser.add_argument("--page", action="store_true", help="only write docs/lab/proof.md from the rows that are there")
    parser.add_argument("--rows", type=Path, default=ROWS, help="where the rows are kept (default: %(default)s)")
    default = Path(tempfile.gettempdir()) / "vllm-triage-recording"
    parser.add_argument(
        "--work",
        type=Path,
        default=default,
        help="where environments, models, logs and outcomes lie, shared with the recorder (default: %(default)s)",
    )
    return parser


def _prove(recorder: Catalogue, faults: list[Proof], options: argparse.Namespace) -> int:
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    environment = Environment(work, recorder.releases[options.release])
    environment.make()
    if not (work / "models").is_dir():
        make_models(work / "models", list(recorder.models.values()), list(recorder.adapters.values()))
    make_model(work / "models" / PROOF.id, PROOF)
    _make_certificate(work / "models")
    fill = {"models": str(work / "models"), "port": str(free_port(FIRST_PORT)), "lib": str(LIB), "work": str(work)}
    rows = {(row["fault"], row["release"]): row for row in _rows(options.rows)}
    os.nice(5)
    judged = 0
    judge = Judge(Starter(work, environment), Triage(), work, fill, options.release)
    for number, fault in enumerate(faults, 1):
        began = time.monotonic()
        verdict = judge.judge(fault)
        seconds = f"{time.monotonic() - began:.0f} s"
        said = "does no harm here" if verdict is None else _in_words(verdict.cured_by, verdict.cause, verdict.right)
        print(f"[{number}/{len(faults)}] {options.release} {fault.id}: {said} ({seconds})", flush=True)
        rows.pop((fault.id, options.release), None)
        if verdict is not None:
            judged += 1
            rows[fault.id, options.release] = json.loads(to_row(verdict))
        _keep(options.rows, list(rows.values()))
    print(f"{judged} of {len(faults)} faults do harm in {options.release} and were judged")
    return 0


def _make_certificate(folder: Path) -> None:
    """Make a certificate of our own with its key: what a person puts in the place of paths that are wrong."""
    if not (folder / "tls.crt").is_file() and shutil.which("openssl"):
        command = "openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -keyout tls.key -out tls.crt"
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)  # noqa: S603 - a command of ours


def _in_words(rank: int, cause: str, right: bool) -> str:
    return f"{cause}{'' if right else ' (WRONG)'}, {f'cured by fix {rank}' if rank else 'NOT CURED'}"


def _rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def _keep(path: Path, rows: list[dict[str, object]]) -> None:
    rows.sort(key=lambda row: (version_key(str(row["release"])), str(row["group"]), str(row["fault"])))
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
