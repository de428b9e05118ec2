"""Markdown for issues, chats and job summaries."""

from __future__ import annotations

from collections.abc import Sequence

from ...classifier.report.contract import shown, without_secrets
from ...classifier.report.types import Advice, Evidence
from .interface import Options, Result
from .words import headline, percent, timeline, verdict_mark


def render(results: Sequence[Result], options: Options) -> str:
    """Return a Markdown document, one section for each result."""
    return "\n".join(_one(result, options, len(results) > 1) for result in results)


def _one(result: Result, options: Options, named: bool) -> str:
    answer = without_secrets(result.diagnosis)
    parts = [f"## {verdict_mark(answer)} {_plain(answer.title)}", ""]
    if named:
        name = shown(result.name).replace("`", "'")
        parts += [f"File: `{name}`", ""]
    facts = f" · {_plain(headline(answer.facts))}" if headline(answer.facts) else ""
    parts += [f"`{answer.cause}` · {percent(answer.confidence)}{facts}", ""]
    if answer.summary:
        parts += [_plain(answer.summary), ""]
    lines = [*answer.evidence, *answer.chain, *(answer.symptoms if options.verbose else answer.symptoms[-1:])]
    if lines := [item for item in lines if item.role != "mark"]:
        parts += ["### Evidence", "", *_block(lines), ""]
    states = timeline(answer)
    if states and answer.failed:
        parts += ["Start-up: " + " › ".join(f"**✖ {name}**" if state == "last" else name for name, state in states), ""]
    parts += [f"> {_plain(note)}\n" for note in answer.notes]
    fixes = answer.fixes if options.verbose else answer.fixes[:3]
    if fixes:
        parts += ["### Fixes, best first", "", *(line for fix in fixes for line in _fix(fix)), ""]
    if answer.corrected_command:
        parts += ["```shell", answer.corrected_command, "```", ""]
    if options.explain:
        parts += ["### Why", "", *(f"- {_plain(line)}" for line in answer.explanation), ""]
    return "\n".join(parts)


def _block(lines: Sequence[Evidence]) -> list[str]:
    texts = [f"{item.line}: {shown(item.text)}" + (f"  (× {item.count})" if item.count > 1 else "") for item in lines]
    # A fence longer than any run of backticks in the log itself.
    longest = max((len(run) for text in texts for run in _ticks(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *texts, fence]


def _ticks(text: str) -> list[str]:
    runs, run = [], ""
    for character in [*text, ""]:
        if character == "`":
            run += character
        elif run:
            runs.append(run)
            run = ""
    return runs


def _fix(fix: Advice) -> list[str]:
    lines = [f"{fix.rank}. **{_plain(fix.title)}**"]
    if fix.kind in ("flag", "env", "command") and fix.change:
        lines += ["   ```shell", f"   {fix.change}", "   ```"]
    elif fix.change and fix.change != fix.title:
        lines.append(f"   {_plain(fix.change)}")
    if fix.why:
        lines.append(f"   {_plain(fix.why)}")
    if fix.cost.lower().rstrip(".") not in ("", "none"):
        lines.append(f"   Costs: {_plain(fix.cost)}")
    if fix.verify:
        lines.append(f"   Check: {_plain(fix.verify)}")
    return lines


def _plain(text: str) -> str:
    """Escape what Markdown and HTML would take for markup in text that may come from a log."""
    for sign in ("\\", "<", ">", "*", "_", "[", "]", "|", "#"):
        text = text.replace(sign, f"\\{sign}" if sign not in "<>" else {"<": "&lt;", ">": "&gt;"}[sign])
    return text
