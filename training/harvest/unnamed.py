"""Which starts no rule names, and the line of each that tells most."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...classifier.lines.prefix import split_line
from ...corpus.types import NETS

SURE = 0.75
"""Confidence of a rule's answer from which on a start counts as named."""
ENDED = ("no_failure/still_starting", "no_failure/nothing_found")
"""Answers of a log that goes on; of one that has ended they say that nobody knows why."""
QUIET = ("INFO", "DEBUG")
_EXCEPTION = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Exit|Failure|Fault)\b(?:: \S|$)")
_WRAPPING = re.compile(r"\d+ validation errors? for \w|For further information visit https://errors\.pydantic\.dev/")
_WRAPPED = re.compile(r"(?:Value|Assertion) error, \S|\S.* \[type=\w+, input_value=")
_TELLING = re.compile(
    r"(?i)\b(?:error|exception|fail\w*|fatal|killed|abort\w*|cannot|could not|unable|denied|refused|timed? ?out|invalid|missing"
    r"|not found|unsupported|unknown|unrecognized|mismatch|exceeds?|insufficient|no such|must)\b"
)


@dataclass(frozen=True, slots=True)
class Unnamed:
    """A start that no rule names."""

    id: str
    log: str
    source: str
    day: str
    """YYYY-MM-DD; "" where nobody knows."""
    release: str
    bucket: str
    """What it was answered with."""
    nearest: str
    """The bucket that it is most like; "" where nobody knows."""
    line: str
    """The line that tells most, without what others put in front of it, masked."""
    level: str
    """Its log level; "" for bare lines."""
    times: int = 1
    """Logs that it stands for."""
    until: str = ""
    """The last day, where it stands for several logs."""
    starts: int = 1
    """Starts that it stands for."""
    rule: str = ""
    """The cause that a rule answers with, though it is not sure; "" where none does."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of a start and its answer.

    Args:
        evidence: Lines that were shown, the deciding one first.
        context: Lines around the deciding one.
        ending: The last lines.
        alternatives: Other buckets, the likeliest first.
        strength: Of the rule that decided; "" where none did, or nobody knows.
        unread: Exceptions besides the evidence whose words no rule reads.
        times: Logs that it stands for: a history keeps one report for each failure.
        until: The last of their days; "" where it stands for one.
    """

    id: str
    log: str
    source: str
    day: str
    release: str
    bucket: str
    cause: str
    confidence: float
    decided_by: str
    failed: bool
    came_up: bool
    followed: bool
    evidence: tuple[str, ...]
    context: tuple[str, ...]
    ending: tuple[str, ...]
    alternatives: tuple[str, ...]
    strength: str = ""
    unread: tuple[str, ...] = ()
    times: int = 1
    until: str = ""


def unnamed(answers: Iterable[Answer], sure: float = SURE) -> Iterable[Unnamed]:
    """Yield the starts that no rule names, each with its telling line; those without any line are left out.

    Args:
        answers: Of all starts.
        sure: Confidence of a rule's answer from which on a start counts as named.
    """
    for answer in answers:
        if not _is_unnamed(answer, sure):
            continue
        found = telling(answer)
        if found is not None:
            level, line = found
            yield Unnamed(
                answer.id, answer.log, answer.source, answer.day, answer.release, answer.bucket, _nearest(answer), line, level,
                answer.times, answer.until,
                rule=answer.cause if answer.decided_by == "rule" and answer.bucket not in ("unknown", "no_failure") else "",
            )  # fmt: skip


def telling(answer: Answer) -> tuple[str, str] | None:
    """Return level and text of the line that tells most; None where there is none.

    What pydantic says below its own words, which say nothing; an exception's own line, the first that was shown, or that no
    rule reads; else a line with words of failure, the last one; else the last one that is no news of a healthy server.
    """
    shown = [] if answer.cause in ENDED else [_peeled(text) for text in answer.evidence]
    unread = [_peeled(text) for text in answer.unread]
    ending = [_peeled(text) for text in answer.ending]
    if any(_WRAPPING.search(text) for _, text in shown):
        for level, text in (*shown, *map(_peeled, answer.context), *ending):
            if _WRAPPED.match(text):
                return level, text
    for lines in (shown, unread, ending[::-1]):
        for level, text in lines:
            if _EXCEPTION.match(text):
                return level, text
    for lines in (shown, ending[::-1]):
        for level, text in lines:
            if level not in QUIET and _TELLING.search(text) and not text.lstrip().startswith("File "):
                return level, text
    rest = shown or ending[::-1]
    return next(((level, text) for level, text in rest if text.strip() and level not in QUIET), None)


def _is_unnamed(answer: Answer, sure: float) -> bool:
    if answer.cause in ENDED:
        return not answer.came_up
    if not answer.failed:
        return False
    if answer.bucket == "unknown" or answer.decided_by != "rule" or answer.confidence < sure:
        return True
    # Such a rule speaks for whatever fails in a part of vLLM, or in some words: it has not read what failed.
    return answer.strength in NETS


def _nearest(answer: Answer) -> str:
    if answer.bucket not in ("unknown", "no_failure"):
        return answer.bucket
    return next((name for name in answer.alternatives if name not in ("unknown", "no_failure")), "")


def _peeled(text: str) -> tuple[str, str]:
    line = split_line(1, text)
    return line.level, line.text.strip()
