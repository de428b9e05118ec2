"""``python -m vllm_triage.training.messages``: bring the catalogue of messages up to date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ...corpus import messages
from ..text_model.rows.sources import in_order, release_of
from .catalogue import merged
from .collect import collect


def main(arguments: list[str] | None = None) -> int:
    """Mine a package's releases into its file; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.messages", description=main.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    mining = commands.add_parser("mine", help="read sources; labels that were read stay")
    mining.add_argument("package", help="distribution: vllm, torch …")
    mining.add_argument("places", nargs="+", type=Path, metavar="PLACE", help="archives that training.tables caches, wheels, or folders named by their release")  # fmt: skip
    mining.add_argument("--folder", default=messages.FOLDER, help="where the catalogue lies (%(default)s)")
    given = parser.parse_args(arguments)
    return _mine(given.package, given.places, given.folder)


def version_of(place: Path) -> str:
    """Return the release of an archive, a wheel (by its name) or a folder."""
    return place.name.split("-")[1] if place.suffix == ".whl" else release_of(place)


def _mine(package: str, places: list[Path], folder: str) -> int:
    ordered = in_order(places)
    entries = collect(ordered, version_of, lambda line: print(line, file=sys.stderr))
    known = messages.read(package, folder) if package in messages.packages(folder) else []
    rows = merged(package, entries, known, version_of(ordered[-1]))
    messages.write(package, rows, folder)
    by_place = sum(row.label.by == "place" for row in rows)
    print(f"{package}: {len(rows)} messages, {by_place} of them labelled by their place alone")
    return 0


if __name__ == "__main__":
    sys.exit(main())
