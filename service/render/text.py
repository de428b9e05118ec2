"""Text for a terminal: the verdict, the line that proves it, where start-up stopped, at most three fixes. ``-v`` shows all."""
from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ...classifier.contract import shown
from ...classifier.model import Advice, Diagnosis, Evidence
from .interface import Options, Result
from .words import headline, percent, seconds_between, timeline, verdict_mark

FIXES = 3
"""Fixes shown without -v."""


def render(results: Sequence[Result], options: Options) -> str:
    """Return the text of all results, coloured where the options or the terminal say so."""
    console = _console(options)
    for index, result in enumerate(results):
        if index:
            console.print()
        if len(results) > 1:
            console.print(Text(result.name, "bold underline"))
        _one(console, result, options)
    file = console.file
    assert isinstance(file, io.StringIO)
    # rich pads no lines that we print, but wraps leave blanks.
    return "\n".join(line.rstrip() for line in file.getvalue().split("\n"))


def _console(options: Options) -> Console:
    width = options.width or shutil.get_terminal_size((100, 24)).columns
    color = use_color(options.color)
    return Console(
        file=io.StringIO(), width=max(40, min(width, 160)), force_terminal=color, no_color=not color, color_system="standard" if color else None,
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


def _one(console: Console, result: Result, options: Options) -> None:
    answer = result.diagnosis
    color = "yellow" if answer.bucket == "unknown" else "red" if answer.failed else "green"
    title = Text.assemble((f"{verdict_mark(answer)} ", f"bold {color}"), (answer.title, "bold"))
    label = Text(f"{answer.cause}  {percent(answer.confidence)}", "dim")
    gap = console.width - title.cell_len - label.cell_len
    if gap >= 2:
        console.print(title + Text(" " * gap) + label)
    else:
        console.print(title)
        console.print(Text("  ") + label)
    facts = headline(answer.facts)
    if facts:
        console.print(Text(f"  {facts}", "cyan"))
    if answer.summary:
        console.print()
        _paragraph(console, answer.summary, 2)
    _lines(console, answer, options)
    _startup(console, answer, options)
    for note in answer.notes:
        _paragraph(console, shown(note), 2, "dim")
    _fixes(console, answer, options)
    if options.verbose:
        _more(console, answer)
    if options.explain:
        _why(console, answer)
    _footer(console, answer, options)


def _lines(console: Console, answer: Diagnosis, options: Options) -> None:
    limit = 40 if options.verbose else 2
    rows = [(item, "red" if answer.failed else "green") for item in answer.evidence if item.role != "mark"][:limit]
    rows += [(item, "dim") for item in answer.chain][: 40 if options.verbose else 1]
    # The last wrapper is the one that people see first.
    rows += [(item, "dim") for item in (answer.symptoms if options.verbose else answer.symptoms[-1:])]
    if not rows:
        return
    console.print()
    room = max(len(str(item.line)) for item, _ in rows)
    names = min(26, max(len(item.process) for item, _ in rows))
    for item, style in rows:
        text = _cut(shown(item.text), item)
        head = f"  line {item.line:>{room}}  " + (f"{item.process[:names]:<{names}}  " if names else "")
        note = f"  (printed {item.count} times)" if item.count > 1 else ""
        if item.role == "symptom":
            note += "  ← only a symptom"
        space = console.width - len(head) - len(note)
        if not options.verbose and len(text) > space > 20:
            text = text[: space - 1] + "…"
        console.print(Text.assemble((head, "dim"), (text, style), (note, "dim")), overflow="fold")


def _cut(text: str, item: Evidence) -> str:
    """Return the line without the prefix that is shown beside it."""
    from ...classifier.prefix import split_line

    return split_line(0, text).text.strip() or text


def _startup(console: Console, answer: Diagnosis, options: Options) -> None:
    states = timeline(answer)
    if not states or (not answer.failed and not options.verbose):
        return
    took = seconds_between(answer)
    text = Text("  start-up   ", "dim")
    for index, (name, state) in enumerate(states):
        if index:
            text.append(" › ", "dim")
        label = name + (f" {took[name]:g} s" if name in took else "")
        text.append(f"✖ {label}" if state == "last" else label, {"last": "bold red", "done": "green", "open": "dim"}[state])
    console.print()
    console.print(text)


def _fixes(console: Console, answer: Diagnosis, options: Options) -> None:
    fixes = answer.fixes if options.verbose else answer.fixes[:FIXES]
    if not fixes:
        return
    console.print()
    for fix in fixes:
        _fix(console, fix, options)
    if answer.corrected_command:
        console.print()
        console.print(Text(f"  {answer.corrected_command}", "bold"), overflow="fold")


def _fix(console: Console, fix: Advice, options: Options) -> None:
    pasted = fix.kind in ("flag", "env", "command")
    console.print(Text.assemble((f"  {fix.rank}  ", "bold"), (fix.title, "bold")), overflow="fold")
    if pasted and fix.change:
        console.print(Text(f"     {fix.change}", "green"), overflow="fold")
    elif fix.change and fix.change != fix.title:
        _paragraph(console, fix.change, 5)
    if fix.why:
        _paragraph(console, fix.why, 5, "dim")
    costs = "" if fix.cost.lower().rstrip(".") in ("", "none") else f"Costs: {fix.cost}"
    if fix.safety == "destructive":
        costs = f"Destructive. {costs}"
    if costs:
        _paragraph(console, costs, 5, "dim")
    if options.verbose:
        if fix.verify:
            _paragraph(console, f"Check: {fix.verify}", 5, "dim")
        if fix.versions or fix.source:
            _paragraph(console, " · ".join(part for part in (f"vLLM {fix.versions}" if fix.versions else "", fix.source) if part), 5, "dim")


def _more(console: Console, answer: Diagnosis) -> None:
    if answer.confirm:
        console.print()
        _paragraph(console, f"Confirms it: {answer.confirm}", 2)
    if answer.refute:
        _paragraph(console, f"Refutes it: {answer.refute}", 2)
    if answer.alternatives:
        console.print()
        console.print(Text("  also possible   " + ", ".join(f"{bucket} {percent(share)}" for bucket, share in answer.alternatives), "dim"))
    if answer.facts:
        console.print()
        for name, value in answer.facts.items():
            if name not in ("arguments", "command"):
                console.print(Text(f"  {name:<26} {shown(str(value))}", "dim"), overflow="fold")


def _why(console: Console, answer: Diagnosis) -> None:
    console.print()
    console.print(Text("  why", "bold"))
    for line in answer.explanation or ["no rule fired"]:
        _paragraph(console, line, 4, "dim")


def _footer(console: Console, answer: Diagnosis, options: Options) -> None:
    console.print()
    if not answer.failed:
        count = len(answer.incidents)
        console.print(Text(f"  {answer.lines} lines read" + (f", {count} server starts" if count > 1 else ""), "dim"))
        return
    parts = []
    if answer.fixes and answer.fixes[0].verify and not options.verbose:
        _paragraph(console, f"check: {answer.fixes[0].verify}", 2, "dim")
    if answer.bucket == "unknown":
        nearest = ", ".join(f"{bucket} ({percent(share)})" for bucket, share in answer.alternatives[:3])
        if nearest:
            parts.append(f"nearest: {nearest}")
    parts.append(f"more: vllm-triage explain {answer.bucket} · -v all evidence and fixes")
    console.print(Text("  " + " · ".join(parts), "dim"), overflow="fold")


def _paragraph(console: Console, text: str, indent: int, style: str = "") -> None:
    body = Text(text, style)
    for line in body.wrap(console, console.width - indent):
        console.print(Text(" " * indent) + line)
