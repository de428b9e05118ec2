"""``python -m vllm_triage.training.messages``: bring the catalogue of messages up to date, and measure it."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from ...classifier.api import Triage
from ...corpus import messages
from ...corpus.messages.matching import Matcher
from ..text_model.rows.sources import in_order, release_of
from .catalogue import VLLM, merged
from .collect import collect
from .coverage import START_UP, answer
from .figures import Coverage, by_origin, coverage, ends_a_start


def main(arguments: list[str] | None = None) -> int:
    """Mine a package's releases into its file, or print the catalogue's figures; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.messages", description=main.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    mining = commands.add_parser("mine", help="read sources; labels that were read stay")
    mining.add_argument("package", help="distribution: vllm, torch …")
    mining.add_argument("places", nargs="+", type=Path, metavar="PLACE", help="archives that training.options caches, wheels, or folders named by their release")  # fmt: skip
    mining.add_argument("--folder", default=messages.FOLDER, help="where the catalogue lies (%(default)s)")
    figures = commands.add_parser("figures", help="rows, labels read, and what is decided by words alone")
    figures.add_argument("--folder", default=messages.FOLDER, help="where the catalogue lies (%(default)s)")
    figures.add_argument("--least", type=float, default=0.0, help="exit with 1 where fewer start-up errors of the newest release are decided")  # fmt: skip
    given = parser.parse_args(arguments)
    if given.command == "mine":
        return _mine(given.package, given.places, given.folder)
    return _figures(given.folder, given.least)


def version_of(place: Path) -> str:
    """Return the release of an archive, a wheel (by its name) or a folder."""
    return place.name.split("-")[1] if place.suffix == ".whl" else release_of(place)


def _mine(package: str, places: list[Path], folder: str) -> int:
    ordered = in_order(places)
    entries = collect(ordered, version_of, lambda line: print(line, file=sys.stderr))
    known = messages.read(package, folder) if package in messages.packages(folder) else []
    rows = merged(package, entries, known, version_of(ordered[-1]))
    messages.write(package, rows, folder)
    print(f"{package}: {len(rows)} messages, {by_origin(rows)['place']} of them labelled by their place alone")
    return 0


def _figures(folder: str, least: float) -> int:
    rows = messages.catalogue(folder)
    count = Counter((row.package, row.label.by) for row in rows)
    for package in messages.packages(folder):
        print(f"{package:<26}" + "".join(f"{by} {count[package, by]:6}   " for by in messages.BY))
    matcher = Matcher(rows)
    engine = Triage()

    def ask_rules(text: str) -> str:
        found = answer(engine, text)
        return found.bucket if found else ""

    errors = [row for row in rows if row.package == VLLM and ends_a_start(row)]
    start = [row for row in errors if any(f"vllm/{row.path}".startswith(prefix) for prefix in START_UP)]
    newest = coverage([row for row in start if not row.last], matcher, ask_rules)
    _say("start-up modules, newest release", newest)
    _say("start-up modules, all releases", coverage(start, matcher, ask_rules))
    _say("all that can end a start", coverage(errors, matcher, ask_rules))
    origin = by_origin(errors)
    print(f"of these {len(errors)} errors {origin['read']} were read, {origin['rule']} are labelled by a rule")
    return 1 if newest.either_right < least * newest.errors else 0


def _say(what: str, found: Coverage) -> None:
    share = 100 / max(1, found.errors)
    print(
        f"{what:<34}{found.errors:6} errors; rightly named by words: rules {found.rules_right * share:.1f} %, "
        f"with the catalogue {found.either_right * share:.1f} %, wrongly {found.wrong * share:.1f} %"
    )


if __name__ == "__main__":
    sys.exit(main())
