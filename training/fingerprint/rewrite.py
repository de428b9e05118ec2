"""What the commands share that write an index of vLLM's code anew: their options, the releases one after the other, the errors."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from ..options.fetch import FetchError, fetch, silently
from ..options.index import PackageIndexError, releases
from .__main__ import CACHE


def rewrite(
    command: str, index: str, since: str, add: Callable[[str, Path], None], packed: Callable[[], bytes],
    words: Sequence[str] | None = None,
) -> int:  # fmt: skip
    """Read every release and write an index anew; return the exit code.

    Args:
        command: The module's name below ``vllm_triage.training.fingerprint``.
        index: The file to write, where ``--index`` names no other.
        since: The oldest release that is read.
        add: Takes a release and the archive of its files; called for the oldest first.
        packed: Returns the index of all releases that were added.
        words: Of the command line; those that the process was started with where there are none.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m vllm_triage.training.fingerprint.{command}",
        description="Read every release and write the index anew.",
    )
    parser.add_argument(
        "--cache", type=Path, default=CACHE, metavar="DIR", help="where downloaded Python files are kept (%(default)s)"
    )
    parser.add_argument(
        "--index", type=Path, default=Path(index), metavar="FILE", help="the index to write (%(default)s)"
    )
    given = parser.parse_args(words)
    console = Console(stderr=True)
    count = 0
    try:
        for files in releases(since=since):
            add(files.version, fetch(files, given.cache, silently))
            console.print(files.version)
            count += 1
    except (PackageIndexError, FetchError) as error:
        console.print(f"[red]{error}[/red]")
        return 2
    data = packed()
    given.index.write_bytes(data)
    console.print(f"{count} releases, {len(data) / 1000:.0f} kB in {given.index}")
    return 0
