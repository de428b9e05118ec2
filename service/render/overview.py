"""Many answers on one screen: how many logs failed of what, with a log to look at for each cause."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from shlex import quote

from rich.table import Table
from rich.text import Text

from ...classifier.report.shown import shown
from .formats.text import console_for
from .interface import Options, Result
from .words import percent

LISTED = 20
"""Failed logs up to which each has a line of its own."""
CAUSES = 40
"""Causes that are listed, the most frequent first."""


def overview(results: Sequence[Result], options: Options) -> str:
    """Return the text: a line for each failed log, or where there are many for each cause."""
    out = io.StringIO()
    console = console_for(options, out)
    failed = [result for result in results if result.report.failed]
    head = [f"{len(results) + len(options.unread):,} logs", f"{len(failed):,} failed"]
    head += [f"{len(options.unread):,} not read"] if options.unread else []
    console.print(Text(" · ".join(head), "bold red" if failed else "bold green"))
    if failed:
        console.print()
        if len(failed) <= LISTED:
            for line in _each(failed):
                console.print(line, overflow="ignore", no_wrap=True, crop=False)
        else:
            console.print(_by_cause(failed))
        console.print()
        hint = Text(f"vllm-triage {quote(shown(failed[0].name))} shows all of one, -v of all", "dim")
        console.print(hint, overflow="ignore", no_wrap=True, crop=False)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _each(failed: Sequence[Result]) -> Iterator[Text]:
    for result in failed:
        report = result.report
        # Names stand on lines of their own, uncut: they are copied.
        yield Text(shown(result.name), "bold")
        yield Text(f"  {report.cause}  {percent(report.confidence)}  {report.title}")


def _by_cause(failed: Sequence[Result]) -> Table:
    groups: dict[str, list[Result]] = {}
    for result in failed:
        groups.setdefault(result.report.cause, []).append(result)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    table = _table()
    for cause, own in ordered[:CAUSES]:
        surest = max(own, key=lambda result: result.report.confidence)
        example = Text(f"as in {shown(surest.name)}", "dim", overflow="fold")
        table.add_row(f"{len(own):,}", Text(cause, overflow="fold"), Text.assemble(surest.report.title, "\n", example))
    if len(ordered) > CAUSES:
        rest = sum(len(own) for _, own in ordered[CAUSES:])
        table.add_row(f"{rest:,}", f"{len(ordered) - CAUSES} other causes", "")
    return table


def _table() -> Table:
    return Table(box=None, show_header=False, padding=(0, 2, 0, 0))
