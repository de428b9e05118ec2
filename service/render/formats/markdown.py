"""Markdown for issues, chats and job summaries."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ....classifier.report.model import Evidence, Fix
from ....classifier.report.shown import shown
from ..interface import Options, Result
from ..words import headline, left_out, start_line, sure_of, verdict_mark

_TICKS = re.compile("`+")
_NAME = re.compile(r"@(?=\w)")
ABOUT = "for issues, chats and job summaries"
MEDIA_TYPE = "text/markdown"
COMPLETE = True


def render(results: Sequence[Result], options: Options) -> str:
    """Return a Markdown document, one section for each result."""
    return "\n".join(_one(result, options, len(results) > 1) for result in results)


def _one(result: Result, options: Options, named: bool) -> str:
    report = result.report
    parts = [f"## {verdict_mark(report)} {plain(report.title)}", ""]
    if named:
        name = shown(result.name).replace("`", "'")
        parts += [f"File: `{name}`", ""]
    facts = f" · {plain(headline(report.facts))}" if headline(report.facts) else ""
    sure = sure_of(report)
    parts += [f"`{report.cause}`{sure and f' · {sure}'}{facts}", ""]
    if why := left_out(report):
        parts += [f"**{plain(why)}**", ""]
    if report.summary:
        parts += [plain(report.summary), ""]
    lines = [*report.evidence, *report.chain, *(report.symptoms if options.verbose else report.symptoms[-1:])]
    if lines := [item for item in lines if not item.mark]:
        parts += ["### Evidence", "", *_block(lines), ""]
    if report.failed and (start := start_line(report)):
        parts += [f"Start-up: {start}", ""]
    if report.story is not None and report.story.told:
        parts += [" ".join(plain(sentence) for sentence in report.story.told), ""]
    parts += [f"> {plain(note)}\n" for note in report.notes]
    fixes = report.fixes if options.verbose else report.fixes[:3]
    if fixes:
        parts += ["### Fixes, best first", "", *(line for fix in fixes for line in _fix(fix)), ""]
    if report.corrected_command:
        parts += [*fenced("shell", report.corrected_command.split("\n")), ""]
    if options.explain:
        parts += ["### Why", "", *(f"- {plain(line)}" for line in report.explanation), ""]
    return "\n".join(parts)


def _block(lines: Sequence[Evidence]) -> list[str]:
    texts = [f"{item.line}: {item.text}" + (f"  (× {item.count})" if item.count > 1 else "") for item in lines]
    return fenced("text", texts)


def fenced(language: str, lines: list[str]) -> list[str]:
    """Return lines as a block of code, in a fence longer than any run of backticks in them."""
    longest = max((len(run) for line in lines for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]


def _fix(fix: Fix) -> list[str]:
    lines = [f"{fix.rank}. **{plain(fix.title)}**"]
    if fix.pasted:
        lines += [f"   {line}" for line in fenced("shell", fix.change.split("\n"))]
    elif fix.change and fix.change != fix.title:
        lines.append(f"   {plain(fix.change)}")
    if fix.why:
        lines.append(f"   {plain(fix.why)}")
    if fix.costs:
        lines.append(f"   Costs: {plain(fix.costs)}")
    if fix.verify:
        lines.append(f"   Check: {plain(fix.verify)}")
    return lines


def plain(text: str) -> str:
    """Escape what Markdown and HTML would take for markup in text that may come from a log."""
    for sign in ("\\", "<", ">", "*", "_", "[", "]", "|", "#"):
        text = text.replace(sign, f"\\{sign}" if sign not in "<>" else {"<": "&lt;", ">": "&gt;"}[sign])
    # Nor does a log call anybody: a sign of no width stands behind what would begin a name.
    return _NAME.sub("@\u200b", text)
