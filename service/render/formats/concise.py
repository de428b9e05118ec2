"""A line for each log, as linters write them: where, what, and the first change."""

from __future__ import annotations

from collections.abc import Sequence

from ....classifier.report.shown import shown
from ..interface import Options, Result
from ..words import answer_of, first_change

ABOUT = "a line for each log: file, line, cause, first change"
MEDIA_TYPE = ""
COMPLETE = True


def render(results: Sequence[Result], options: Options) -> str:
    """Return one line for each result, and one for each input that could not be read."""
    lines = []
    for result in results:
        report = result.report
        place = f":{report.evidence[0].line}" if report.evidence and report.failed else ""
        change = first_change(report) if report.failed else ""
        lines.append(f"{shown(result.name)}{place}: {answer_of(report)}" + (f": {change}" if change else ""))
    lines += [f"{shown(name)}: not read: {shown(problem)}" for name, problem in options.unread]
    return "".join(f"{line}\n" for line in lines)
