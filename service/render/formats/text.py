"""Text for a terminal: verdict, proof, where start-up stopped, the best fixes. One screen; ``-v`` shows all."""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ....classifier.report.model import Fix, Report
from ....classifier.report.shown import one_line, shown
from ....corpus.records import replace
from ..colors import use_color
from ..interface import Options, Result
from ..proof import proof
from ..words import (
    answer_of,
    continued,
    fix_share_of,
    headline,
    left_out,
    percent,
    plural,
    seconds_between,
    timeline,
    verdict_mark,
    without_comment,
)

ABOUT = "for people: one screen, with colours on a terminal"
MEDIA_TYPE = "text/plain"
COMPLETE = False

FULL, BRIEF, BARE = 3, 2, 1
"""How much of a fix is shown: all, without the reason, the change alone."""
PLANS = (
    (FULL, FULL, FULL), (FULL, FULL, BRIEF), (FULL, BRIEF, BRIEF), (FULL, BRIEF, BARE), (FULL, BARE, BARE),
    (BRIEF, BARE, BARE), (BARE, BARE, BARE), (BARE, BARE), (BARE,),
)  # fmt: skip
"""What is shown of the best fixes without -v: the first plan that fits on the screen."""
MEMORY = ("kv_cache_oom", "gpu_memory_budget", "model_load_oom", "runtime_oom")
"""Buckets whose answers show where the memory goes."""
STYLES = {"last": "bold red", "done": "green"}
"""Stages of the start: where it stopped, and before."""
LINK_ID = re.compile(r"(?<=\x1b\]8;)id=[^;]*(?=;)")
"""What rich puts into links by chance: the same answer is the same text."""


def render(results: Sequence[Result], options: Options) -> str:
    """Return the text of all results, coloured where the options or the terminal say so."""
    out = io.StringIO()
    console = console_for(options, out)
    for index, result in enumerate(results):
        if index:
            console.print()
        if len(results) > 1:
            console.print(Text(shown(result.name), "bold underline"))
        file = result.name if options.links and Path(result.name).is_file() else ""
        for line in _Page(result.report, options, console, file).lines():
            console.print(line, overflow="ignore", no_wrap=True, crop=False)
    return LINK_ID.sub("", "\n".join(line.rstrip() for line in out.getvalue().split("\n")))


def added(report: Report, options: Options) -> str:
    """Return what proposals add to an answer that was shown without them; "" where none was made."""
    if not report.proposals:
        return ""
    told = tuple(proposal.told for proposal in report.proposals)
    out = io.StringIO()
    console = console_for(options, out)
    page = _Page(replace(report, notes=told), options, console, "")
    for line in page.opinion():
        console.print(line, overflow="ignore", no_wrap=True, crop=False)
    return LINK_ID.sub("", "\n".join(line.rstrip() for line in out.getvalue().split("\n")))


def console_for(options: Options, out: io.StringIO) -> Console:
    """Return what lays text out for a terminal, into a file."""
    width = options.width or shutil.get_terminal_size((100, 24)).columns
    color = use_color(options.color)
    return Console(
        file=out, width=max(40, min(width, 160)),
        force_terminal=color, no_color=not color, color_system="standard" if color else None,
        highlight=False, markup=False, emoji=False, soft_wrap=False, legacy_windows=False,
    )  # fmt: skip


class _Page:
    """The lines of one answer, wrapped to the width; what does not fit on a screen is left to -v."""

    def __init__(self, report: Report, options: Options, console: Console, file: str) -> None:
        self._report = report
        self._file = file
        self._options = options
        self._console = console
        self._width = console.width

    def lines(self) -> list[Text]:
        """Return the whole page."""
        report, verbose = self._report, self._options.verbose
        if report.filtered is not None and not verbose:
            return [*self._left_out(), *(self._why() if self._options.explain else [])]
        lines = proof(report, self._console, verbose=verbose, file=self._file)
        top = [*self._head(), *lines, *self._startup(), *self._story(), *self._notes()]
        bottom = [*(self._more() if verbose else []), *(self._why() if self._options.explain else []), *self._foot()]
        corrected = report.command_as(self._options.form)
        command = [Text(), *self._paste(corrected, 2, "bold")] if corrected else []
        if verbose:
            fixes = self._fixes([FULL] * len(report.fixes))
        elif report.failed:
            height = self._options.height
            fixes = self._fixes_within(height - self._height([*top, *bottom, *command]) if height else sys.maxsize)
        else:
            # What can be done about a failure that was none is for those who ask.
            fixes, command = [], []
        return [*top, *fixes, *command, *bottom]

    def opinion(self) -> list[Text]:
        """Return what proposals say, the fixes that rules do not advise, and the command where one of those stands first."""
        report = self._report
        proposed = [fix for fix in report.fixes if fix.proposed_by]
        lines = self._notes()
        for fix in proposed:
            lines += [Text(), *self._fix(fix, FULL, 0)]
        corrected = report.command_as(self._options.form)
        if corrected and proposed and proposed[0].rank == 1:
            lines += [Text(), *self._paste(corrected, 2, "bold")]
        died = sum(bool(item.proposed_by) for item in report.withheld)
        if died and not self._options.verbose:
            return [*lines, Text(), *self._wrap(f"{plural(died, 'proposal')} ruled out; -v says by what", 2, "dim")]
        return [
            *lines,
            *(
                row
                for item in report.withheld
                if item.proposed_by
                for row in self._wrap(f"ruled out: {item.title}: {item.reason}", 2, "dim")
            ),
        ]

    def _left_out(self) -> list[Text]:
        """Return a line about a failure that does not count."""
        report = self._report
        place = [f"line {report.evidence[0].line}"] if report.evidence else []
        told = [left_out(report), answer_of(report), *place, report.title]
        line = Text.assemble((f"{verdict_mark(report)} ", "bold green"), " · ".join(told))
        line.truncate(self._width, overflow="ellipsis")
        return [line]

    def _head(self) -> list[Text]:
        report = self._report
        color = {"well": "green", "unknown": "yellow", "failed": "red"}[report.state]
        title = Text.assemble((f"{verdict_mark(report)} ", f"bold {color}"), (report.title, "bold"))
        label = Text(", ".join(filter(None, (answer_of(report), fix_share_of(report)))), "dim")
        gap = self._width - title.cell_len - label.cell_len
        beside = [title + Text(" " * gap) + label]
        below = [Text("  ") + label] if label.cell_len + 2 <= self._width else self._hang(label, Text("  "), 2)
        lines = beside if gap >= 2 else [*self._hang(title, Text(), 2), *below]
        if facts := headline(report.facts):
            lines += self._wrap(facts, 2, "cyan")
        if why := left_out(report):
            lines += self._wrap(why, 2)
        if report.summary:
            lines += [Text(), *self._wrap(report.summary, 2)]
        book, verbose = report.memory, self._options.verbose
        # A sum with holes is for those who ask.
        if book is not None and (verbose or (report.failed and report.bucket in MEMORY and book.total_gib)):
            lines += [Text(), *self._hang(Text(book.line), Text("  memory     ", "dim"), 13)]
        return lines

    def _startup(self) -> list[Text]:
        states = timeline(self._report)
        # Of one stage there is nothing to tell: that may be no more than the name of an image.
        if not (states if self._options.verbose else states[1:] and self._report.failed):
            return []
        took = seconds_between(self._report)
        head = Text("  start-up   ", "dim")
        lines, line = [Text()], head
        for index, (name, state) in enumerate(states):
            # A stage that took no time worth telling is told by its name alone.
            label = (
                ("✖ " if state == "last" else "") + name + (f" {took[name]:.0f} s" if took.get(name, 0) >= 1 else "")
            )
            if index and line.cell_len + cell_len(label) + 2 > self._width:
                lines.append(line)
                line = Text(" " * head.cell_len)
            line = Text.assemble(line, ("› " if index else "", "dim"), (label, STYLES[state]), " ")
        return [*lines, line]

    def _story(self) -> list[Text]:
        told = self._report.story.told if self._report.story is not None else ()
        return [Text(), *(line for sentence in told for line in self._wrap(one_line(sentence), 2))] if told else []

    def _notes(self) -> list[Text]:
        notes = [one_line(note) for note in self._report.notes]
        return [Text(), *(line for note in notes for line in self._wrap(note, 2, "dim"))] if notes else []

    def _fixes_within(self, room: int) -> list[Text]:
        """Return as many fixes, with as much about each, as there is room for: the first keeps most."""
        lines: list[Text] = []
        for plan in PLANS:
            lines = self._fixes(plan)
            if missing := min(len(PLANS[0]), len(self._report.fixes)) - len(plan):
                lines += self._wrap(f"and {missing} more, with -v", 5, "dim") if missing > 0 else []
            if self._height(lines) <= room:
                break
        return lines

    def _fixes(self, details: Sequence[int]) -> list[Text]:
        fixes = self._report.fixes[: len(details)]
        if not fixes:
            return []
        beside = [fix for fix in fixes if fix.pasted and "\n" not in fix.change]
        column = max((cell_len(fix.title) for fix in beside), default=0) + 3
        if any(5 + column + cell_len(without_comment(fix.change)[0]) > self._width for fix in beside):
            column = 0
        lines: list[Text] = []
        for fix, detail in zip(fixes, details, strict=False):
            # A blank line between fixes: a list of changes alone needs none.
            lines += [Text()] if not lines or max(details) > BARE else []
            lines += self._fix(fix, detail, column)
        return lines

    def _fix(self, fix: Fix, detail: int, column: int) -> list[Text]:
        head = Text(f"  {fix.rank}  ", "bold")
        change, comment = without_comment(fix.change) if fix.pasted else (fix.change, "")
        if fix.pasted and column and "\n" not in change:
            gap = " " * (column - cell_len(fix.title))
            lines = [Text.assemble(head, (fix.title, "bold"), gap, (change, "bold green"))]
        else:
            lines = self._hang(Text(fix.title, "bold"), head, 5)
            if change and change != fix.title:
                lines += self._paste(change, 5, "bold green") if fix.pasted else self._wrap(change, 5)
        if detail == FULL and (why := " ".join(part for part in (fix.why, comment) if part)):
            lines += self._wrap(why, 5)
        costs = f"Costs: {fix.costs}" if fix.costs else ""
        if fix.safety == "destructive":
            costs = f"Destructive. {costs}"
        if fix.root:
            costs = f"{costs} Needs root or access to the host.".lstrip()
        if detail >= BRIEF and costs:
            lines += self._wrap(costs, 5, "dim")
        if self._options.verbose:
            if fix.verify:
                lines += self._wrap(f"Check: {fix.verify}", 5, "dim")
            if fix.effect is not None:
                lines += self._wrap(fix.effect.told, 5, "dim")
            origin = ["with a restart"] if fix.restart else ["without a restart"]
            origin += [f"vLLM {fix.versions}"] if fix.versions else []
            if origin := [*origin, *([fix.source] if fix.source else [])]:
                lines += self._wrap(" · ".join(origin), 5, "dim")
        return lines

    def _more(self) -> list[Text]:
        report = self._report
        lines = [Text(), Text("  left out, and why", "dim")] if report.withheld else []
        for item in report.withheld:
            lines += self._hang(Text(f"{item.title}: {item.reason}", "dim"), Text("    "), 6)
        ways = report.memory.ways if report.memory is not None else ()
        lines += [Text(), Text("  one request fits with", "dim")] if ways else []
        for way in ways:
            lines += self._hang(Text(f"{way.change}   {way.context} tokens: {way.yields}"), Text("    "), 6)
        if report.confirm or report.refute:
            lines.append(Text())
        if report.confirm:
            lines += self._wrap(f"Confirms it: {report.confirm}", 2)
        if report.refute:
            lines += self._wrap(f"Refutes it: {report.refute}", 2)
        if report.alternatives:
            names = ", ".join(f"{other.bucket} {percent(other.confidence)}" for other in report.alternatives)
            lines += [Text(), *self._hang(Text(names, "dim"), Text("  also possible   ", "dim"), 18)]
        facts = [(name, value) for name, value in report.facts.items() if name != "arguments"]
        if facts:
            lines.append(Text())
        for name, value in facts:
            lines += self._hang(Text(shown(str(value)), "dim"), Text(f"  {name:<26} ", "dim"), 29)
        return lines

    def _why(self) -> list[Text]:
        told = self._report.explanation or ["no rule fired"]
        return [Text(), Text("  why", "bold"), *(line for text in told for line in self._wrap(text, 4, "dim"))]

    def _foot(self) -> list[Text]:
        report = self._report
        if not report.failed:
            more = "" if self._options.verbose or not report.fixes else " · -v says what can be done"
            return [Text(), *self._wrap(f"{plural(report.input.lines, 'line')} read{more}", 2, "dim")]
        lines = [Text()]
        if not report.fixes and report.confirm and not self._options.verbose:
            lines += self._wrap(f"what would decide: {report.confirm}", 2)
        if report.fixes and report.fixes[0].verify and not self._options.verbose:
            lines += self._wrap(f"check: {report.fixes[0].verify}", 2, "dim")
        if self._options.form != "shell" and report.corrected is None:
            lines += self._wrap(f"no corrected command: there is nothing to show as {self._options.form}", 2, "dim")
        nearest = ", ".join(f"{other.bucket} ({percent(other.confidence)})" for other in report.alternatives[:3])
        if report.bucket == "unknown" and nearest:
            lines += self._wrap(f"nearest: {nearest}", 2, "dim")
        # A bucket that a user's model made has no page.
        page = report.fixes or report.decided_by != "model"
        told = [f"vllm-triage explain {report.bucket}"] if page else []
        if not self._options.verbose:
            told.append("-v all evidence and fixes")
        return [*lines, *(self._wrap(f"more: {' · '.join(told)}", 2, "dim") if told else [])]

    def _paste(self, text: str, indent: int, style: str) -> list[Text]:
        """Return what is there to be copied: wrapped in no way that a shell would not take."""
        return [Text.assemble(" " * indent, (row, style)) for row in continued(text, self._width - indent)]

    def _height(self, lines: Sequence[Text]) -> int:
        """Return the rows that lines take on a terminal, which folds what is too long."""
        return sum(max(1, -(-line.cell_len // self._width)) for line in lines)

    def _wrap(self, text: str, indent: int, style: str = "") -> list[Text]:
        return self._hang(Text(text, style), Text(" " * indent), indent)

    def _hang(self, text: Text, head: Text, indent: int, spare: int = 0) -> list[Text]:
        """Wrap text, the first row after ``head``, further rows indented; ``spare`` cells stay free at the end."""
        rows = list(text.wrap(self._console, max(20, self._width - indent - spare))) or [Text()]
        for row in rows:
            row.rstrip()
        return [head + rows[0], *(Text(" " * indent) + row for row in rows[1:])]
