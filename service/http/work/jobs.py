"""One log with what was asked about it, to one answer. Runs in the service itself and in its worker processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from ....classifier.api import Triage
from ....classifier.errors import InputError
from ....classifier.input.read import Chunks, read_blocks
from ....classifier.question import Question
from ....classifier.report.model import Report
from ....classifier.report.pack.model import BUDGET
from ...render.interface import Options, Result, load

if TYPE_CHECKING:
    from ....classifier.incidents.session import Session

PIECE = 8 << 10
"""Bytes of a small log after which the time is looked at."""
TEXT_WIDTH = 100
"""Columns of the text format."""


@dataclass(frozen=True, slots=True)
class Job:
    """A question about a log, and the form of the answer."""

    question: Question = Question()  # noqa: RUF009 - frozen
    form: str = "json"
    """``json``, or another format of ``service/render`` that is wanted besides."""
    name: str = ""
    budget: int = BUDGET
    """Characters of a pack, where one is wanted."""
    candidates: bool = True
    """Whether it says what rules propose."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a log may be."""

    decompressed: int
    lines: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The report; ``text`` in the other format that was asked for."""

    report: Report
    text: str = ""


class RefusedError(Exception):
    """A log is not answered; ``name`` is a type of problem, the text is for the user and holds nothing of the log."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(name, detail)
        self.name = name
        self.detail = detail


class SlowError(Exception):
    """A log takes longer to read than it was given."""


def check(triage: Triage, question: Question) -> None:
    """Refuse a question that cannot be answered here.

    Raises:
        RefusedError: It names what there is not, or asks a model that there is not.
    """
    asked = [*question.only, *question.ignore]
    if strange := triage.strange(asked):
        # Not repeated: it may be anything.
        where = asked.index(strange[0]) + 1
        raise RefusedError("invalid", f"only, ignore: value {where} is not a bucket, cause or rule (GET /v1/buckets)")
    try:
        triage.check(question)
    except InputError as error:
        raise RefusedError("invalid", f"engine {question.engine}: {error}") from None


def examine(
    triage: Triage,
    question: Question,
    source: bytes | Chunks,
    limits: Limits,
    seen: Callable[[Session], None] | None = None,
) -> Session:
    """Read a log to its end, within limits; ``seen`` is called after each block.

    Raises:
        RefusedError: The question cannot be answered; or the log is too large, or none.
    """
    check(triage, question)
    session, size = triage.start(question), 0
    try:
        for block in read_blocks(source):
            size += block.size
            if size > limits.decompressed:
                raise RefusedError("log-too-large", f"Unpacked, the log is larger than {limits.decompressed} bytes.")
            session.feed(block)
            if session.lines > limits.lines:
                raise RefusedError("log-too-large", f"The log has more than {limits.lines} lines.")
            if seen is not None:
                seen(session)
    except InputError as error:
        raise RefusedError("not-a-log", _sentence(error)) from None
    return session


def conclude(triage: Triage, session: Session, job: Job) -> Answer:
    """Return the answer for a log that was read.

    Raises:
        RefusedError: It is no log.
    """
    try:
        report = triage.conclude(session, job.question)
    except InputError as error:
        raise RefusedError("not-a-log", _sentence(error)) from None
    if job.form == "json":
        return Answer(report)
    form = load(job.form)
    shape = Options(
        verbose=form.COMPLETE, color="never", width=TEXT_WIDTH, budget=job.budget, candidates=job.candidates
    )
    return Answer(report, form.render([Result(job.name or "-", report)], shape))


def peek(triage: Triage, session: Session, question: Question) -> Report | None:
    """Return the report so far; None where there is none yet."""
    try:
        return triage.peek(session, question)
    except InputError:
        return None


def answer(triage: Triage, job: Job, log: bytes, limits: Limits, seconds: float = inf) -> Answer:
    """Return the answer for a log that is there as a whole.

    Raises:
        RefusedError: It is too large, or no log; or the question cannot be answered.
        SlowError: Reading it takes more than ``seconds`` of a processor.
    """
    source = Chunks(_in_time(log, time.thread_time() + seconds)) if len(log) > PIECE else log
    return conclude(triage, examine(triage, job.question, source, limits), job)


def _in_time(log: bytes, end: float) -> Iterator[bytes]:
    """Yield a log in pieces, each of which is to be read at once."""
    for start in range(0, len(log), PIECE):
        if time.thread_time() > end:
            raise SlowError
        yield log[start : start + PIECE]
        yield b""


def _sentence(error: InputError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + "."
