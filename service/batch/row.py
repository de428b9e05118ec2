"""One row for each server start: what of a report is worth counting, in columns that never change their type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...classifier.masking.mask import mask
from ...corpus.stages import STAGE_ORDER
from ...corpus.types import NETS
from ..fingerprint import fingerprint, template
from .log import Log
from .times import time_of

if TYPE_CHECKING:
    from ...classifier.report.model import Report
    from ...classifier.starts import Start

SCHEMA_VERSION = "1.1"
"""Raised in its second number when columns are added, in its first when one changes or goes."""
NOT_READ = "not_read"
"""Stands for the bucket of a log that could not be read; such a row has a ``problem``."""
LINES = 6
"""Lines of evidence that are kept, and of the context."""
FIXES = 3
"""Fixes of a row: what people try."""
PLACES = ("node", "release", "model", "gpu", "day")
"""What a log's path may tell: groups of ``--from-path``."""
READY = STAGE_ORDER["api_ready"]


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log, masked."""

    line: int
    process: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Remedy:
    """A fix."""

    rank: int
    title: str
    change: str


@dataclass(frozen=True, slots=True)
class Nearest:
    """Another bucket that it may be."""

    bucket: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One server start, or a log that could not be read."""

    schema_version: str = SCHEMA_VERSION
    id: str
    """The log's id and the number of the start: unique, and the same in every run over the same log"""
    log: str
    """32 hex digits of the log's name, size and version"""
    source: str
    """path or URL of the log, masked"""
    start: int
    """which start of the log, from 1; 0 where the log could not be read"""
    followed: bool
    """another start of the same server follows in the log"""
    day: str
    """the day on which it began, YYYY-MM-DD; empty where nothing tells"""
    begun: str
    """first time stamp of the start, ISO 8601; in UTC where the log tells its zone, else as printed"""
    ended: str
    release: str
    engine: str
    model: str
    gpu: str
    gpu_count: int
    node: str
    bucket: str
    cause: str
    confidence: float
    decided_by: str
    failed: bool
    came_up: bool
    reached: str
    """the furthest stage"""
    scope: str
    """start, server or requests: what the answer is about"""
    title: str
    signature: str
    """16 hex digits, the same for the same failure (as in the service's history)"""
    template: str
    """the deciding line without its values"""
    evidence: tuple[LogLine, ...]
    context: tuple[LogLine, ...]
    ending: tuple[LogLine, ...]
    """its last lines, where no rule decided, or a weak one"""
    fixes: tuple[Remedy, ...]
    alternatives: tuple[Nearest, ...]
    first_line: int
    last_line: int
    bytes: int
    """of the log as it lies there; -1 where that is not known"""
    problem: str
    """why the log could not be read"""
    rule: str
    """full id of the rule that decided"""
    strength: str
    """of that rule: certain, strong, weak or guess"""
    unread: tuple[LogLine, ...]
    """errors besides the deciding line whose words no rule reads"""


COLUMNS: tuple[str, ...] = tuple(own.name for own in fields(Row))


def row_of(log: Log, start: Start, places: Mapping[str, str]) -> Row:
    """Return the row of a start.

    Args:
        log: The log that it stands in.
        start: The start with its answer.
        places: What the log's path tells (``PLACES``); the log itself goes before, but for the day.
    """
    report = start.report
    facts = report.facts
    begun, ended = time_of(start.begun, log.changed), time_of(start.ended, log.changed)
    deciding = report.evidence[0].text if report.evidence else ""
    name, words = template(deciding) if deciding else ("", [])
    return Row(
        id=f"{log.id}-{start.number}",
        log=log.id,
        source=log.source,
        start=start.number,
        followed=start.followed,
        day=places.get("day", "") or _day(begun, ended, log.changed),
        begun=begun,
        ended=ended,
        release=str(facts.get("vllm_version", "") or places.get("release", "")),
        engine=str(facts.get("engine", "")),
        model=str(facts.get("model", "") or places.get("model", "")),
        gpu=str(facts.get("gpu_name", "") or places.get("gpu", "")),
        gpu_count=_whole(facts.get("gpu_count")),
        node=places.get("node", "") or start.server,
        bucket=report.bucket,
        cause=report.cause,
        confidence=round(report.confidence, 4),
        decided_by=report.decided_by,
        failed=report.failed,
        came_up=STAGE_ORDER.get(report.startup.reached, -1) >= READY,
        reached=report.startup.reached,
        scope=report.story.scope if report.story is not None else "",
        title=report.title,
        signature=fingerprint(report),
        template=" ".join([name, *words]).strip(),
        evidence=tuple(LogLine(item.line, item.process, item.text, item.count) for item in report.evidence[:LINES]),
        context=_around(report),
        ending=tuple(LogLine(item.line, item.process, item.text, 1) for item in start.ending)
        if report.decided_by != "rule" or report.strength in NETS
        else (),
        fixes=tuple(Remedy(fix.rank, fix.title, fix.change) for fix in report.fixes[:FIXES]),
        alternatives=tuple(Nearest(item.bucket, item.confidence) for item in report.alternatives),
        first_line=start.first,
        last_line=start.last,
        bytes=log.size,
        problem="",
        rule=report.rule,
        strength=report.strength,
        unread=tuple(LogLine(item.line, item.process, item.text, item.count) for item in report.unread),
    )


def row_of_problem(log: Log, problem: str, places: Mapping[str, str]) -> Row:
    """Return the row of a log that could not be read."""
    empty: dict[str, str] = dict.fromkeys(
        ("begun", "ended", "engine", "cause", "reached", "scope", "title", "signature", "template", "rule", "strength"),
        "",
    )
    return Row(
        id=f"{log.id}-0", log=log.id, source=log.source, start=0, followed=False,
        day=places.get("day", "") or _day("", "", log.changed), release=places.get("release", ""),
        model=places.get("model", ""), gpu=places.get("gpu", ""), gpu_count=0, node=places.get("node", ""),
        bucket=NOT_READ, confidence=0.0, decided_by="none", failed=False, came_up=False, evidence=(), context=(), ending=(), unread=(), fixes=(),
        alternatives=(), first_line=0, last_line=0, bytes=log.size, problem=mask(problem), **empty,
    )  # fmt: skip


def places_in(name: str, pattern: re.Pattern[str] | None) -> dict[str, str]:
    """Return what a log's path tells, by the groups of a pattern that is searched in it."""
    found = pattern.search(name) if pattern is not None else None
    return {key: value for key, value in found.groupdict().items() if value} if found else {}


def _around(report: Report) -> tuple[LogLine, ...]:
    """Return the lines before and after the deciding one, that one included."""
    if not report.evidence:
        return ()
    at = report.evidence[0].line
    before = [item for item in report.context if item.line <= at][-LINES:]
    after = [item for item in report.context if item.line > at][: LINES // 2]
    return tuple(LogLine(item.line, item.process, item.text, 1) for item in (*before, *after))


def _day(begun: str, ended: str, changed: float) -> str:
    if begun or ended:
        return (begun or ended)[:10]
    return datetime.fromtimestamp(changed, UTC).strftime("%Y-%m-%d") if changed else ""


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
