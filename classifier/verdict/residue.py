"""Abnormal lines that nothing accounts for: with one of them left, nothing is healthy, another program's, or cut off."""

from __future__ import annotations

from collections import Counter

from ..incidents.candidates import is_prompt
from ..lines.types import Line
from ..patterns.lazy import LazyPattern
from .abnormal import DEADLY, REFUSED, complains, kind_of
from .case import QUIET, RAISED, Case

MOST = 12
"""Lines that are told."""
SHORT = 60
"""Lines of a log without a start, up to which somebody chose them: there ordinary words of trouble count."""
HANDFUL = 12
"""Lines of a start that somebody chose: their order tells little."""
_WAIT = LazyPattern(r"(?i)\b(?:waiting (?:for|on)|no available|not ready|still waiting)\b")
_WAITS, _PROGRESSES = ("waiting ", "no available", "not ready"), ('" 200', "tokens/s", "Running: 0 reqs")
"""Words of which each match of a wait, in lower case, and of progress holds one."""
_NUMBER = LazyPattern(r"\d+")
PROGRESS = LazyPattern(
    r'(?<!\w)"(?!GET )[A-Z]+ [^"]*" 200|generation throughput: (?!0\.0 )\d[\d.]* tokens/s|Running: 0 reqs'
)
"""An answer of the engine, tokens, or nothing left to do: pages, probes and metrics are answered without it."""
UNOFFERED = LazyPattern(r'HTTP/\d(?:\.\d)?" 40[145]\b')
"""An answer to somebody who asks for what this server does not offer."""


def residue_of(case: Case) -> list[Line]:
    """Return the abnormal lines of the beginning and the end of a start that nothing accounts for, in order.

    What accounts for a line: a rule that reads it (whether it decides is weighed elsewhere), the exception that it is part of,
    and that its process, or the server, came to a later step or answered requests afterwards. A wait is abnormal where it is
    told again and nothing follows.
    """
    lines, excerpt = case.kept, not case.came_up and case.incident.last - case.incident.first < SHORT
    read, words = _read(case)
    waits = Counter(
        _plain(line) for line in lines if _holds(line.text[:400].lower(), _WAITS) and _WAIT.search(line.text[:400])
    )
    moved = max(
        (line.number for line in lines if _holds(line.text, _PROGRESSES) and PROGRESS.search(line.text)), default=0
    )
    last = max((line.number for line in lines if line.number not in read), default=0)
    found: list[Line] = []
    for line in lines:
        by = read.get(line.number, "")
        # What is harmless where it is tried again is so where something follows; a native death never is.
        if (by and by != "benign") or is_prompt(line.text):
            continue
        kind = kind_of(line)
        if by and not (kind in DEADLY or (kind and excerpt and line.level in RAISED and line.number > last)):
            continue
        waited = (
            bool(waits) and waits[_plain(line)] > 1 and (excerpt or line.level == "WARNING") and line.number > moved
        )
        said = excerpt and complains(line) and (not case.incident.stages or _alone(line, case))
        if not (kind or waited or said) or (not by and _plain(line) in words):
            continue
        if (said and _alone(line, case)) or not _survived(case, line, kind, moved):
            found.append(line)
    return found[:MOST]


def _holds(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)


def _read(case: Case) -> tuple[dict[int, str], set[str]]:
    """Return the lines that something reads, each with the role of the rule, and the words of those that are no harmless ones."""
    hits = [hit for hit in case.incident.hits if hit.rule.role != "advice" and case.met(hit)]
    read: dict[int, str] = {hit.line.number: "benign" for hit in hits if hit.rule.role == "benign"}
    for trace in case.incident.traces:
        role = "benign" if case.harmless(trace) else "exception"
        read |= dict.fromkeys(range(trace.first, max(trace.number, trace.last) + 1), role)
    others = [hit for hit in hits if hit.rule.role != "benign" and not case.cancelled(hit)]
    read |= {hit.line.number: hit.rule.role for hit in others}
    return read, {_plain(hit.line) for hit in others}


def _alone(line: Line, case: Case) -> bool:
    """Return whether a line without process and level stands in a handful of lines: what follows is no next step of its process."""
    return not (line.process or line.level) and case.incident.last - case.incident.first < HANDFUL


def _plain(line: Line) -> str:
    """Return the words of a line without its numbers: those that say the same."""
    return _NUMBER.sub("0", line.text)


def _survived(case: Case, line: Line, kind: str, moved: int) -> bool:
    if case.survived(line, line.number):
        return True
    if kind == REFUSED:
        return line.number < moved or ("serving" in case.stages and UNOFFERED.search(line.text) is not None)
    return line.level in QUIET and line.number < moved
