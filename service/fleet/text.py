"""The report as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...classifier.report.shown import shown
from ..render.words import plural
from .counts import DIMENSIONS
from .summary import Cause, Share, Summary
from .upgrades import Change

CAUSES, VALUES = 15, 8
"""Rows of a table without -v."""
STYLES = {"worse": "red", "better": "green"}


def print_summary(summary: Summary, console: Console, verbose: bool = False) -> None:
    """Print the summary of a fleet.

    Args:
        summary: What is told.
        console: Where to.
        verbose: Print all rows.
    """
    _print_head(summary, console)
    if summary.causes:
        own = summary.causes if verbose else summary.causes[:CAUSES]
        _print(console, "causes", ("starts", "logs", "first", "last", "cause", "what"), map(_cause, own))
        _print_rest(console, len(summary.causes) - len(own))
    if summary.since and summary.first < summary.since:
        if summary.new:
            own = summary.new if verbose else summary.new[:CAUSES]
            head = ("starts", "logs", "first", "last", "cause", "what")
            _print(console, f"new since {summary.since}", head, map(_cause, own))
            _print_rest(console, len(summary.new) - len(own))
        else:
            console.print(f"\nnew since {summary.since}: no cause that was not seen before")
    if summary.upgrades:
        rows = [
            (f"{upgrade.before} → {upgrade.after}", *_change(change, upgrade.logs_before, upgrade.logs_after))
            for upgrade in summary.upgrades
            for change in (upgrade.all, *upgrade.causes)
        ]
        _print(
            console, "upgrades (share of logs)", ("upgrade", "what", "before", "after", "change", "interval", ""), rows
        )
    for name in DIMENSIONS:
        shares = summary.by[name]
        if len(shares) > 1 or (shares and not shares[0].name.startswith("(")):
            own_shares = shares if verbose or name == "week" else shares[:VALUES]
            _print(
                console,
                f"by {name}",
                ("starts", "failed", "logs", "failed", "share (95 %)", ""),
                map(_share, own_shares),
            )
            _print_rest(console, len(shares) - len(own_shares))


def _print_head(summary: Summary, console: Console) -> None:
    own = summary.all
    days = f", {summary.first} to {summary.last}" if summary.first else ""
    console.print(Text(f"{plural(own.starts, 'start')} in {plural(own.logs, 'log')}{days}", "bold"))
    console.print(f"{plural(own.failed, 'start')} failed, in {plural(own.failed_logs, 'log')}: {_interval(own)}")
    if summary.not_read:
        console.print(f"{plural(summary.not_read, 'log')} could not be read")


def _cause(cause: Cause) -> Sequence[str | Text]:
    return (
        f"{cause.starts:,}", f"{cause.logs:,}", cause.first, cause.last, Text(cause.id, overflow="fold"), Text(shown(cause.title)),
    )  # fmt: skip


def _share(share: Share) -> Sequence[str | Text]:
    return (
        f"{share.starts:,}", f"{share.failed:,}", f"{share.logs:,}", f"{share.failed_logs:,}", _interval(share),
        Text(shown(share.name), overflow="fold"),
    )  # fmt: skip


def _interval(share: Share) -> str:
    part = share.failed_logs / share.logs if share.logs else 0.0
    return f"{part:.1%} ({share.low:.1%} to {share.high:.1%})"


def _change(change: Change, before: int, after: int) -> Sequence[str | Text]:
    return (
        Text(change.what, overflow="fold"), f"{change.hits_before:,}/{before:,}", f"{change.hits_after:,}/{after:,}",
        f"{change.grown:+.1%}", f"{change.low:+.1%} to {change.high:+.1%}",
        Text(change.verdict, STYLES.get(change.verdict, "dim")),
    )  # fmt: skip


def _print(console: Console, title: str, head: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in head:
        figures = name in ("starts", "logs", "failed", "before", "after", "change")
        table.add_column(name, justify="right" if figures else "left", no_wrap=figures or name in ("first", "last"))
    for row in rows:
        table.add_row(*row)
    console.print()
    console.print(Text(title, "bold"))
    console.print(table)


def _print_rest(console: Console, number: int) -> None:
    if number > 0:
        console.print(Text(f"{number:,} more (-v)", "dim"))
