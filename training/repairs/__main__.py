"""``python -m vllm_triage.training.repairs --repository PATH``: write corpus/repairs/repairs.bin anew from a clone of vLLM."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from rich.console import Console

from ...corpus.repairs import INDEX, Facet
from ..options.fetch import CACHE, FetchError, fetch
from ..options.index import OLDEST, PackageIndexError, releases
from .history import Commit, commits
from .landed import Landings
from .mends import facets
from .pack import Row, pack

_NEEDS = {
    "rocm": r"\brocm\b|\bamd\b|\baiter\b|\bhip\b",
    "cpu": r"\bcpu\b(?! offload)",
    "xpu": r"\bxpu\b|\bintel gpu\b|\bipex\b",
    "tpu": r"\btpu\b",
    "neuron": r"\bneuron\b",
    "hpu": r"\bhpu\b|gaudi",
}
"""Platforms, and how titles name them."""


def main(arguments: list[str] | None = None) -> int:
    """Read the history and the releases; return the exit code."""
    given = _parser().parse_args(arguments)
    console = Console(stderr=True)
    try:
        offered = releases(since=OLDEST)
        archives = [fetch(files, given.cache) for files in offered]
    except (PackageIndexError, FetchError) as error:
        console.print(f"[red]{error}[/red]")
        return 2
    landings, found = Landings(), list[Commit]()
    rows: list[tuple[int, Facet]] = []
    for commit in commits(given.repository):
        own = list(dict.fromkeys(facets(commit)))
        if not own:
            continue
        landings.add(commit)
        rows += [(len(found), facet) for facet in own]
        found.append(commit._replace(body="", edits=()))
    landed = landings.releases(archives)
    repairs: list[Row] = [
        (commit.number, release, _needs(commit.title)) for commit, release in zip(found, landed, strict=True)
    ]
    data = pack([files.version for files in offered], repairs, rows)
    given.index.write_bytes(data)
    console.print(f"{len(found)} commits, {len(rows)} facets, {len(data) / 1000:.0f} kB in {given.index}")
    return 0


def _needs(title: str) -> str:
    return " ".join(name for name, words in _NEEDS.items() if re.search(words, title, re.IGNORECASE))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.repairs", description=main.__doc__)
    parser.add_argument("--repository", type=Path, required=True, metavar="PATH", help="a clone of vLLM, bare or not")
    parser.add_argument(
        "--cache", type=Path, default=CACHE, metavar="DIR", help="where downloaded Python files are kept (%(default)s)"
    )
    parser.add_argument(
        "--index", type=Path, default=Path(INDEX), metavar="FILE", help="the index to write (%(default)s)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
