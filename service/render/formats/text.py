"""Text for a terminal: verdict, proof, where start-up stopped, the best fixes. One screen; ``-v`` shows all."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ....classifier.lines.prefix import split_line
from ....classifier.report.model import Evidence, Fix, Report
from ....classifier.report.shown import one_line, shown
from ..interface import Options, Result
from ..words import headline, left_out, percent, seconds_between, timeline, verdict_mark

ABOUT = "for people: one screen, with colours on a terminal"
MEDIA_TYPE = "text/plain"
COMPLETE = False

NARROW = 56
"""Columns below which lines of the log stand without their process."""
PROOF = 3
"""Rows that one line of evidence may take without -v."""
FULL, BRIEF, BARE = 3, 2, 1
"""How much of a fix is shown: all, without the reason, the change alone."""
PLANS = (
    (FULL, FULL, FULL), (FULL, FULL, BRIEF), (FULL, BRIEF, BRIEF), (FULL, BRIEF, BARE), (FULL, BARE, BARE),
    (BRIEF, BARE, BARE), (BARE, BARE, BARE), (BARE, BARE), (BARE,),
)  # fmt: skip
"""What is shown of the best fixes without -v: the first plan that fits on the screen."""
MEMORY = ("kv_cache_oom", "gpu_memory_budget", "model_load_oom", "runtime_oom")
"""Buckets whose answers show where the memory goes."""
CHAIN, SYMPTOM = "chain", "symptom"
"""Lines that are cut to one row: what was raised from the cause, and what only wraps it."""
STYLES = {"last": "bold red", "done": "green", "open": "dim"}
"""Stages of the start: where it stopped, before, after."""


def render(results: Sequence[Result], options: Options) -> str:
    """Return the text of all results, coloured where the options or the terminal say so."""
    out = io.StringIO()
    console = console_for(options, out)
    for index, result in enumerate(results):
        if index:
            console.print()
        if len(results) > 1:
            console.print(Text(shown(result.name), "bold underline"))
        for line in _Page(result.report, options, console).lines():
            console.print(line, overflow="ignore", no_wrap=True, crop=False)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def console_for(options: Options, out: io.StringIO) -> Console:
    """Return what lays text out for a terminal, into a file."""
    width = options.width or shutil.get_terminal_size((100, 24)).columns
    color = use_color(options.color)
    return Console(
        file=out, width=max(40, min(width, 160)),
        force_terminal=color, no_color=not color, color_system="standard" if color else None,
        highlight=False, markup=False, emoji=False, soft_wrap=False, legacy_windows=False,
    )  # fmt: skip


def use_color(choice: str) -> bool:
    """Decide on colours: the option, then NO_COLOR and FORCE_COLOR, then whether standard output is a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


class _Page:
    """The lines of one answer, wrapped to the width; what does not fit on a screen is left to -v."""

    def __init__(self, report: Report, options: Options, console: Console) -> None:
        self._report = report
        self._options = options
        self._console = console
        self._width = console.width

    def lines(self) -> list[Text]:
        """Return the whole page."""
        report, verbose = self._report, self._options.verbose
        if report.filtered is not None and not verbose:
            return [*self._left_out(), *(self._why() if self._options.explain else [])]
        top = [*self._head(), *self._proof(), *self._startup(), *self._story(), *self._notes()]
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

    def _left_out(self) -> list[Text]:
        """Return a line about a failure that does not count."""
        report = self._report
        place = [f"line {report.evidence[0].line}"] if report.evidence else []
        told = [left_out(report), f"{report.cause} {percent(report.confidence)}", *place, report.title]
        line = Text.assemble((f"{verdict_mark(report)} ", "bold green"), " · ".join(told))
        line.truncate(self._width, overflow="ellipsis")
        return [line]

    def _head(self) -> list[Text]:
        report = self._report
        color = "red" if report.failed else "green"
        if report.failed and report.bucket == "unknown":
            color = "yellow"
        title = Text.assemble((f"{verdict_mark(report)} ", f"bold {color}"), (report.title, "bold"))
        label = Text(f"{report.cause}  {percent(report.confidence)}", "dim")
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

    def _proof(self) -> list[Text]:
        report, verbose = self._report, self._options.verbose
        style = "red" if report.failed else "green"
        rows = [(item, style, "") for item in report.evidence if not item.mark][: None if verbose else 2]
        rows += [(item, "dim", CHAIN) for item in report.chain[: None if verbose else 1]]
        # The last wrapper is the one that people see first.
        rows += [(item, "dim", SYMPTOM) for item in (report.symptoms if verbose else report.symptoms[-1:])]
        if not rows:
            return []
        number = max(len(str(item.line)) for item, _, _ in rows)
        name = min(26, max(len(item.process) for item, _, _ in rows)) if self._width >= NARROW else 0
        lines = [Text()]
        for index, (item, color, role) in enumerate(rows):
            head = f"  line {item.line:>{number}}  " + (f"{item.process[:name]:<{name}}  " if name else "")
            lines += self._evidence(item, Text(head, "dim"), color, role, first=index == 0)
        return lines

    def _evidence(self, item: Evidence, head: Text, style: str, role: str, *, first: bool) -> list[Text]:
        note = f"  × {item.count}" if item.count > 1 else ""
        if role == SYMPTOM:
            note += "  ← only a symptom" if self._width >= NARROW else "  ← symptom"
        text = Text(_without_prefix(item.text), style)
        if self._options.verbose:
            return self._hang(text + Text(note, "dim"), head, head.cell_len)
        room = self._width - head.cell_len - cell_len(note)
        if role:
            text.truncate(room, overflow="ellipsis")
            return [head + text + Text(note, "dim")]
        rows = self._hang(text, head, head.cell_len, cell_len(note))
        limit = PROOF if first else 1
        if len(rows) > limit:
            rows = rows[:limit]
            rows[-1] = _cut(rows[-1], self._width - cell_len(note) - 2, head.cell_len)
            rows[-1].append(" …", style)
        rows[-1].append(note, "dim")
        return rows

    def _startup(self) -> list[Text]:
        states = timeline(self._report)
        if not states or not (self._report.failed or self._options.verbose):
            return []
        took = seconds_between(self._report)
        head = Text("  start-up   ", "dim")
        lines, line = [Text()], head
        for index, (name, state) in enumerate(states):
            # A stage that took no time worth telling is told by its name alone.
            label = name + (f" {took[name]:.0f} s" if took.get(name, 0) >= 1 else "")
            part = Text(f"✖ {label}" if state == "last" else label, STYLES[state])
            if index and line.cell_len + part.cell_len + 3 > self._width:
                lines.append(line)
                line = Text(" " * head.cell_len)
            if index:
                line.append("› ", "dim")
            line += part + Text(" ")
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
        if any(5 + column + cell_len(fix.change) > self._width for fix in beside):
            column = 0
        shown_fixes = [self._fix(fix, detail, column) for fix, detail in zip(fixes, details, strict=False)]
        return [Text(), *(line for lines in shown_fixes for line in lines)]

    def _fix(self, fix: Fix, detail: int, column: int) -> list[Text]:
        head = Text(f"  {fix.rank}  ", "bold")
        if fix.pasted and column and "\n" not in fix.change:
            gap = " " * (column - cell_len(fix.title))
            lines = [Text.assemble(head, (fix.title, "bold"), gap, (fix.change, "green"))]
        else:
            lines = self._hang(Text(fix.title, "bold"), head, 5)
            if fix.change and fix.change != fix.title:
                lines += self._paste(fix.change, 5, "green") if fix.pasted else self._wrap(fix.change, 5)
        if detail == FULL and fix.why:
            lines += self._wrap(fix.why, 5, "dim")
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
            origin = ["with a restart"] if fix.restart else ["without a restart"]
            origin += [f"vLLM {fix.versions}"] if fix.versions else []
            if origin := [*origin, *([fix.source] if fix.source else [])]:
                lines += self._wrap(" · ".join(origin), 5, "dim")
        return lines

    def _more(self) -> list[Text]:
        report = self._report
        lines = [Text(), Text("  left out, for they cannot help here", "dim")] if report.withheld else []
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
            return [Text(), *self._wrap(f"{report.input.lines:,} lines read{more}", 2, "dim")]
        lines = [Text()]
        if report.fixes and report.fixes[0].verify and not self._options.verbose:
            lines += self._wrap(f"check: {report.fixes[0].verify}", 2, "dim")
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
        """Return what is there to be copied: never wrapped, a line end of ours would go with it into the shell."""
        return [Text(" " * indent) + Text(part, style) for part in text.split("\n")]

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


def _cut(row: Text, width: int, start: int) -> Text:
    """Cut a row to a width, at the end of a word where there is one after ``start``."""
    row = row.copy()
    row.truncate(width)
    words = row.plain.rstrip()
    space = words.rfind(" ", start)
    return row[: space if space > start else len(words)]


def _without_prefix(text: str) -> str:
    """Return the line without the prefix that is shown beside it."""
    return split_line(0, text).text.strip() or text
