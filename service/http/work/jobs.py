"""One log with what was asked about it, to one answer. Runs in the service itself and in its worker processes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from ....classifier.advice.start_command import given_command
from ....classifier.api import Triage
from ....classifier.errors import InputError
from ....classifier.incidents.session import Session
from ....classifier.input.read import read_blocks
from ....classifier.report.contract import as_dict
from ....classifier.report.types import Diagnosis
from ...cli.main import _names as known_names
from ...cli.main import _withhold as withhold
from ...render.interface import Options, Result, render

VARIANTS = 8
"""Engines kept for different questions; a new one takes some fifty milliseconds to make."""
PLAIN = "auto", frozenset[str](), frozenset[str]()
"""The question of nearly all."""
TEXT_WIDTH = 100
"""Columns of the text format."""


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked about a log."""

    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    vllm_version: str = ""
    engine: str = "auto"
    command: str = ""
    min_confidence: float = 0.0
    form: str = "json"
    """``json``, or another format of ``service/render`` that is wanted besides."""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a log may be."""

    decompressed: int
    lines: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The report by the output contract; ``text`` in the other format that was asked for."""

    report: dict[str, Any]
    text: str = ""


class RefusedError(Exception):
    """A log is not answered; ``name`` is a type of problem, the text is for the user and holds nothing of the log."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(name, detail)
        self.name = name
        self.detail = detail


@dataclass(slots=True)
class Engines:
    """The loaded corpus, and what was made of it for different questions. Thread-safe."""

    rules: tuple[str, ...] = ()
    model: str = ""
    """Folder of a text model of one's own."""
    _made: OrderedDict[tuple[str, frozenset[str], frozenset[str]], Triage] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def plain(self) -> Triage:
        """The engine with all rules."""
        return self._variant(PLAIN)

    def check(self, names: Iterable[str]) -> None:
        """Refuse names that are no bucket, cause or rule."""
        asked = list(names)
        if asked and (strange := [name for name in asked if name not in known_names(self.plain.corpus)]):
            # Not repeated: it may be anything.
            where = asked.index(strange[0]) + 1
            raise RefusedError("invalid", f"only, ignore: value {where} is no bucket, cause or rule (GET /v1/buckets)")

    def get(self, job: Job) -> Triage:
        """Return the engine for a job.

        Raises:
            RefusedError: It names what there is not.
        """
        self.check([*job.only, *job.ignore])
        try:
            return self._variant((job.engine, frozenset(job.only), frozenset(job.ignore)))
        except InputError as error:
            raise RefusedError("invalid", f"engine {job.engine}: {error}") from None

    def _variant(self, key: tuple[str, frozenset[str], frozenset[str]]) -> Triage:
        engine, only, ignore = key
        with self._lock:
            found = self._made.get(key)
            if found is None:
                found = self._made[key] = Triage(self.rules, only, ignore, engine=engine, model=self.model)
            elif key != PLAIN:
                self._made.move_to_end(key)
            while len(self._made) > VARIANTS:
                # The first is the plain one: it never moves.
                del self._made[list(self._made)[1]]
            return found


def examine(triage: Triage, source: Any, limits: Limits, seen: Callable[[Session], None] | None = None) -> Session:
    """Read a log to its end, within limits; ``seen`` is called after each block.

    Raises:
        RefusedError: It is too large, or no log.
    """
    analysis, size = triage.start(), 0
    try:
        for block in read_blocks(source):
            size += block.size
            if size > limits.decompressed:
                raise RefusedError("log-too-large", f"Unpacked, the log is larger than {limits.decompressed} bytes.")
            analysis.feed(block)
            if analysis.lines > limits.lines:
                raise RefusedError("log-too-large", f"The log has more than {limits.lines} lines.")
            if seen is not None:
                seen(analysis)
    except InputError as error:
        raise RefusedError("not-a-log", _sentence(error)) from None
    return analysis


def conclude(triage: Triage, analysis: Session, job: Job) -> Answer:
    """Return the answer for a log that was read.

    Raises:
        RefusedError: It is no log.
    """
    return _answer(_advised_for(triage, job).conclude, analysis, job)


def peek(triage: Triage, analysis: Session, job: Job) -> Answer | None:
    """Return the answer so far; None where there is none yet."""
    try:
        return _answer(_advised_for(triage, job).peek, analysis, job)
    except RefusedError:
        return None


def _answer(judge: Callable[[Session], Diagnosis], analysis: Session, job: Job) -> Answer:
    try:
        diagnosis = judge(analysis)
    except InputError as error:
        raise RefusedError("not-a-log", _sentence(error)) from None
    if job.min_confidence and diagnosis.failed and diagnosis.confidence < job.min_confidence:
        withhold(diagnosis, job.min_confidence)
    if job.command:
        given_command(diagnosis, job.command)
    report = as_dict(diagnosis)
    if job.form == "json":
        return Answer(report)
    shape = Options(verbose=job.form == "markdown", color="never", width=TEXT_WIDTH)
    return Answer(report, render(job.form, [Result(job.name or "-", diagnosis)], shape))


def diagnose(engines: Engines, job: Job, source: Any, limits: Limits) -> Answer:
    """Return the answer for a log that is there as a whole.

    Raises:
        RefusedError: It is too large, or no log.
    """
    triage = engines.get(job)
    return conclude(triage, examine(triage, source, limits), job)


def _advised_for(triage: Triage, job: Job) -> Triage:
    if not job.vllm_version:
        return triage
    # Shares the corpus and the scanner; only the advice differs.
    other = copy(triage)
    other._version = job.vllm_version  # noqa: SLF001 - a new Triage would load the corpus again
    return other


def _sentence(error: InputError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + "."
