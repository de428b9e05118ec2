"""Many answers on one screen: how many logs failed of what, with the first change and a log to look at for each cause."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from shlex import quote

from rich.text import Text

from ...classifier.report.shown import shown
from .formats.text import LINK_ID, console_for
from .interface import Options, Result
from .words import answer_of, first_change, is_foreign, plural

ROWS = 24
"""Rows for what failed: with head and foot one screen."""

FEW = 8
"""Failed logs up to which each is named."""


def overview(results: Sequence[Result], options: Options) -> str:
    """Return the text: the most frequent causes with what to change, the others with a line each, the rest counted."""
    out = io.StringIO()
    console = console_for(options, out)
    failed = [result for result in results if result.report.failed and not is_foreign(result.report)]
    foreign = sum(is_foreign(result.report) for result in results)
    healthy = len(results) - len(failed) - foreign
    counts = (
        (len(failed), "failed"), (healthy, "without a failure"), (foreign, "not from vLLM"), (len(options.unread), "not read"),
    )  # fmt: skip
    logs = len(results) + len(options.unread)
    head = [plural(logs, "log"), *(f"{count:,} {what}" for count, what in counts if count)]
    console.print(Text(" · ".join(head), "bold red" if failed else "bold green"))
    for line in _causes(failed, console.width):
        console.print(line, overflow="ignore", no_wrap=True, crop=False)
    if failed:
        hint = f"\nvllm-triage {quote(shown(_surest(_grouped(failed)[0]).name))} shows all of one, -v of all, -f concise a line for each"
        console.print(Text(hint, "dim"), overflow="ignore", no_wrap=True, crop=False)
    return LINK_ID.sub("", "\n".join(line.rstrip() for line in out.getvalue().split("\n")))


def _causes(failed: Sequence[Result], width: int) -> Iterator[Text]:
    ordered = _grouped(failed)
    # Three rows and a blank one for as many as there is room for, if each of the others is to have one.
    full = max(0, min(len(ordered), (ROWS - len(ordered)) // 3))
    listed = max(full, min(len(ordered), ROWS - 3 * full))
    rest = sum(map(len, ordered[listed:]))
    number = max((len(f"{count:,}") for count in (rest, *map(len, ordered))), default=0)
    column = max((len(answer_of(_surest(own).report)) for own in ordered[full:listed]), default=0)
    for index, own in enumerate(ordered[:listed]):
        surest = _surest(own)
        answer = answer_of(surest.report)
        head = Text.assemble(
            ("\n" if index <= full else "") + f"{len(own):>{number},}  ",
            (answer if index < full or column > width // 2 else f"{answer:<{column}}", "bold"),
        )
        room = width - head.cell_len - 2
        what = shown(surest.report.title) if index < full else first_change(surest.report)
        yield head + Text("  " + _short(what, room) if room > ROWS else "", "" if index < full else "green")
        if index < full:
            if change := first_change(surest.report):
                yield Text(" " * (number + 2) + _short(change, width - number - 2), "green")
            # Names stand on lines of their own, uncut: they are copied.
            for result in own if len(failed) <= FEW else [surest]:
                yield Text(" " * (number + 2) + shown(result.name), "dim")
    if len(ordered) > listed:
        yield Text(f"{rest:>{number},}  {len(ordered) - listed:,} other causes", "dim")


def _grouped(failed: Sequence[Result]) -> list[list[Result]]:
    """Return the logs of each cause, the most frequent first."""
    groups: dict[str, list[Result]] = {}
    for result in failed:
        groups.setdefault(result.report.cause, []).append(result)
    return sorted(groups.values(), key=lambda own: (-len(own), own[0].report.cause))


def _surest(own: Sequence[Result]) -> Result:
    return max(own, key=lambda result: result.report.confidence)


def _short(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"
