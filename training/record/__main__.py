"""The command: `python -m vllm_triage.training.record --release X [--fault ID …]`."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .environment import Environment, RecordError
from .faults import Catalogue, CatalogueError, Fault
from .models import make_models
from .publish import RECORDED, NotProvokedError, Publisher
from .runner import Recording, Runner


def main(argv: Sequence[str] | None = None) -> int:
    """Record, publish, or list; 0 if every fault that was asked for is in the repository afterwards."""
    options = _parser().parse_args(argv)
    try:
        catalogue = Catalogue()
        if options.list:
            return _list(catalogue, options.release)
        return _record(catalogue, options)
    except (RecordError, CatalogueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vllm_triage.training.record",
        description="Record real failures of a real vLLM release (CPU build).",
    )
    parser.add_argument("--release", help="which one, of catalogue/releases.toml")
    parser.add_argument(
        "--fault",
        nargs="+",
        default=[],
        metavar="ID",
        help="only these; default: all that apply to the release, except slow ones",
    )
    parser.add_argument("--slow", action="store_true", help="also faults that take minutes")
    parser.add_argument("--again", action="store_true", help="record also what is recorded already")
    parser.add_argument(
        "--publish", action="store_true", help="record nothing: write what is recorded into the repository again"
    )
    parser.add_argument("--list", action="store_true", help="list the faults (of --release) and exit")
    default = Path(tempfile.gettempdir()) / "vllm-triage-recording"
    parser.add_argument(
        "--work",
        type=Path,
        default=default,
        help="where environments, downloads and raw logs lie, up to 15 GB (default: %(default)s)",
    )
    parser.add_argument("--drop", action="store_true", help="remove the release's environment afterwards")
    return parser


def _list(catalogue: Catalogue, release: str | None) -> int:
    faults = catalogue.faults_of(release) if release else list(catalogue.faults.values())
    for fault in faults:
        print(f"{fault.id:36} {fault.bucket:24} {fault.broken}{' (slow)' if fault.slow else ''}")
    print(f"{len(faults)} faults", file=sys.stderr)
    return 0


def _record(catalogue: Catalogue, options: argparse.Namespace) -> int:
    if options.release not in catalogue.releases:
        raise RecordError(f"name a release of catalogue/releases.toml with --release: {', '.join(catalogue.releases)}")
    unknown = [name for name in options.fault if name not in catalogue.faults]
    if unknown:
        raise RecordError(f"no such fault: {', '.join(unknown)}; --list shows all")
    work = options.work.resolve()
    if work.is_relative_to(RECORDED.parents[2]):
        raise RecordError("--work must lie outside the repository: gigabytes go there")
    work.mkdir(parents=True, exist_ok=True)
    # A shell that starts this in the background ignores Ctrl-C for it, and servers would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    applying = catalogue.faults_of(options.release)
    faults = [
        fault
        for fault in applying
        if fault.id in options.fault or (not options.fault and (options.slow or options.publish or not fault.slow))
    ]
    publisher = Publisher(work, catalogue)
    runner = None
    recorded = 0
    for number, fault in enumerate(faults, 1):
        place = f"[{number}/{len(faults)}] {options.release} {fault.id}"
        there = Recording.at(work, options.release, fault.id).exists()
        if not options.publish and (options.again or not there):
            runner = runner or _runner(work, catalogue, options.release)
            print(f"{place} …", flush=True)
            started = time.monotonic()
            try:
                runner.run(fault)
            except RecordError as error:
                # One fault that cannot be provoked here is no reason to miss the others.
                print(f"{place}: NOT PROVOKED: {error}", flush=True)
                continue
            place += f" {time.monotonic() - started:.0f} s"
        elif options.publish and not there:
            continue
        recorded += _published(publisher, options.release, fault, place)
    if options.drop:
        Environment(work, catalogue.releases[options.release]).drop()
    print(f"{recorded} of {len(faults)} faults of {options.release} are recorded")
    return 0 if recorded == len(faults) else 1


def _published(publisher: Publisher, release: str, fault: Fault, place: str) -> bool:
    try:
        print(f"{place}: {publisher.publish(release, fault)}", flush=True)
    except NotProvokedError as error:
        publisher.withdraw(release, fault.id)
        print(f"{place}: NOT PROVOKED: {error}", flush=True)
        return False
    return True


def _runner(work: Path, catalogue: Catalogue, release: str) -> Runner:
    environment = Environment(work, catalogue.releases[release])
    print(f"environment of vLLM {release} …", flush=True)
    environment.make()
    make_models(work / "models", list(catalogue.models.values()), list(catalogue.adapters.values()))
    return Runner(work, environment)


if __name__ == "__main__":
    sys.exit(main())
