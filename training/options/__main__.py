"""``python -m vllm_triage.training.options``: bring corpus/vllm/options.json up to date with the package index."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ...corpus import options as loader
from .fetch import CACHE, FetchError, fetch
from .fetch import Progress as Reporter
from .index import Files, PackageIndexError, releases
from .release import MiningError, Release, mine
from .source import Tree
from .table import pack, text, unpack


def main(arguments: list[str] | None = None) -> int:
    """Mine the releases that the table does not have; return the exit code."""
    given = _parser().parse_args(arguments)
    console = Console(stderr=True)
    try:
        offered = releases()
        known = _known(given.table)
        wanted = _wanted(offered, given.releases)
        missing = [files for files in wanted if given.again or files.version not in known]
        problems = _mine_all(missing, known, given, console)
    except PackageIndexError as error:
        console.print(f"[red]{error}[/red]")
        return 2
    for problem in problems:
        console.print(f"[red]{problem}[/red]")
    console.print(f"{len(known)} releases in {given.table}, {len(missing) - len(problems)} of them new")
    return 1 if problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.options", description=main.__doc__)
    parser.add_argument(
        "--releases", nargs="+", metavar="VERSION", help="only these releases (default: all since 0.5.2)"
    )
    parser.add_argument(
        "--cache", type=Path, default=CACHE, metavar="DIR", help="where downloaded Python files are kept (%(default)s)"
    )
    parser.add_argument(
        "--table", type=Path, default=loader.TABLE, metavar="FILE", help="the table to bring up to date (%(default)s)"
    )
    parser.add_argument("--again", action="store_true", help="mine also what the table has already")
    return parser


def _known(path: Path) -> dict[str, Release]:
    try:
        return unpack(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}


def _wanted(offered: list[Files], versions: list[str] | None) -> list[Files]:
    if versions is None:
        return offered
    unknown = sorted(set(versions) - {files.version for files in offered})
    if unknown:
        raise PackageIndexError(f"the index has no release {', '.join(unknown)}")
    return [files for files in offered if files.version in versions]


def _mine_all(
    missing: list[Files], known: dict[str, Release], given: argparse.Namespace, console: Console
) -> list[str]:
    problems = []
    with _bar(console) as bar:
        overall = bar.add_task("releases", total=len(missing))
        current = bar.add_task("", total=None, visible=False)
        for files in missing:
            bar.reset(current, description=files.version, total=None, visible=True)
            try:
                archive = fetch(files, given.cache, _reporter(bar, current))
                known[files.version] = mine(Tree.from_archive(archive))
            except (FetchError, MiningError) as error:
                problems.append(f"{files.version}: {error}")
            else:
                # After every release: an interrupted run goes on where it was.
                _save(known, given.table)
            bar.advance(overall)
        bar.update(current, visible=False)
    return problems


def _reporter(bar: Progress, task: TaskID) -> Reporter:
    return lambda done, total: bar.update(task, completed=done, total=total or None)


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:>14}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        console=console,
    )


def _save(known: dict[str, Release], path: Path) -> None:
    ordered = dict(sorted(known.items(), key=lambda item: loader.version_key(item[0]) or ()))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text(pack(ordered)), encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
