"""Annotations of GitHub Actions: workflow commands, which the runner shows at the log's lines and in the summary."""

from __future__ import annotations

from collections.abc import Sequence

from ....classifier.report.shown import shown
from ..interface import Options, Result
from ..words import answer_of, left_out

ABOUT = "workflow commands: annotations of GitHub Actions"
MEDIA_TYPE = ""
COMPLETE = False


def render(results: Sequence[Result], options: Options) -> str:
    """Return a workflow command for each result: error, warning (not recognised) or notice (no failure)."""
    return "".join(_command(result, options) + "\n" for result in results)


def _command(result: Result, options: Options) -> str:
    report = result.report
    level = "notice" if not report.failed else "warning" if report.bucket == "unknown" else "error"
    place = [("title", answer_of(report))]
    if result.name != "-":
        place.append(("file", shown(result.name)))
        if report.failed and report.evidence and report.evidence[0].line > 0:
            place.append(("line", str(report.evidence[0].line)))
    parts = [left_out(report), report.title, report.summary]
    if report.failed:
        parts += [item.text for item in report.evidence[: None if options.verbose else 1]]
        fixes = report.fixes if options.verbose else report.fixes[:3]
        parts += [f"{fix.rank}. {fix.title}" + (f": {fix.change}" if fix.change != fix.title else "") for fix in fixes]
        parts.append(report.corrected_command)
    if options.explain:
        parts += [shown(line) for line in report.explanation]
    where = ",".join(f"{name}={_property(value)}" for name, value in place)
    return f"::{level} {where}::{_data(chr(10).join(part for part in parts if part))}"


def _data(text: str) -> str:
    """Escape a message as the runner reads it: a log must not be able to give it commands."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
