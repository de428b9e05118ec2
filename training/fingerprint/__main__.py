"""``python -m vllm_triage.training.fingerprint``: bring corpus/vllm/fingerprint.bin up to date with the package index."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from ...classifier.facts.fingerprint_index import INDEX
from ..options.fetch import FetchError, fetch
from ..options.index import Files, PackageIndexError, releases
from .mine import Miner

CACHE = Path.home() / ".cache" / "vllm-triage" / "releases"
FIRST = "0.2.0"
"""The oldest release on the index whose logs are still met."""


def main(arguments: list[str] | None = None) -> int:
    """Read every release and write the index anew; return the exit code."""
    given = _parser().parse_args(arguments)
    console = Console(stderr=True)
    try:
        offered = releases(since=FIRST)
        miner = Miner()
        for files in offered:
            miner.add(files.version, _archive(files, given.cache))
            console.print(f"{files.version}: {miner.changed} files new or changed")
    except (PackageIndexError, FetchError) as error:
        console.print(f"[red]{error}[/red]")
        return 2
    data = miner.packed()
    given.index.write_bytes(data)
    console.print(f"{len(offered)} releases, {len(data) / 1000:.0f} kB in {given.index}")
    return 0


def _archive(files: Files, cache: Path) -> Path:
    return fetch(files, cache, lambda _done, _all: None)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.fingerprint", description=main.__doc__)
    parser.add_argument(
        "--cache", type=Path, default=CACHE, metavar="DIR", help="where downloaded Python files are kept (%(default)s)"
    )
    parser.add_argument(
        "--index", type=Path, default=Path(INDEX), metavar="FILE", help="the index to write (%(default)s)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
