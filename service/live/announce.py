"""When a cause is reported while the log goes on: when it is certain, once, and taken back if it turns out wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ...classifier.report.model import Report

SURE = 0.95
"""Confidence of a rule from which on its cause is told at once: a strong rule that nothing competes with."""
LIKELY = 0.85
"""Confidence from which on it is told when the log has settled: a weak rule, the text model's guess."""
DIED = 0.65
"""The same of a rule that is sure of its words, though they may not be the whole story: a process died, and nothing says why."""
STANDSTILL = 0.9
"""Confidence from which on a standstill is told that the server's own statistics show."""
SETTLE = 1.5
"""Seconds without anything new in the log after which it has settled: a dying server prints its story within one."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """Something to be told."""

    kind: Literal["cause", "corrected", "withdrawn"]
    report: Report
    """The answer that holds now."""
    earlier: Report | None = None
    """What had been told, where that is corrected or withdrawn."""
    times: int = 1
    """How often this cause was told of this log, this time included."""


class Announcer:
    """Takes the answers for what has come so far, in order, and says which of them to tell.

    Args:
        waits: Says whether the lines of a bucket only say that something is waiting.
    """

    def __init__(self, waits: Callable[[str], bool] = lambda _: False) -> None:
        self._waits = waits
        self.told: Report | None = None
        """What was told last and still stands."""
        self._latest: Report | None = None
        self._since = 0.0
        self._times: dict[str, int] = {}

    def see(self, report: Report, now: float) -> Announcement | None:
        """Take the answer as of now (seconds, monotonic); return what is to be told at once."""
        if self._latest is None or self._latest.cause != report.cause or self._latest.failed != report.failed:
            self._since = now
        self._latest = report
        if sure(report) and (self.told is None or _other(report, self.told)):
            return self._tell(report)
        return None

    def settle(self, now: float) -> Announcement | None:
        """Return what is to be told where nothing new has come for a while."""
        report = self._latest
        if report is None or now - self._since < SETTLE:
            return None
        told = self.told
        if told is not None and not report.failed:
            self.told = None
            return Announcement("withdrawn", report, told)
        if likely(report) and not self._waits(report.bucket) and (told is None or told.bucket != report.bucket):
            return self._tell(report)
        return None

    def _tell(self, report: Report) -> Announcement:
        earlier, self.told = self.told, report
        times = self._times[report.cause] = self._times.get(report.cause, 0) + 1
        return Announcement("cause" if earlier is None else "corrected", report, earlier, times)


def sure(report: Report) -> bool:
    """Return whether an answer is certain while the log goes on."""
    if not report.failed:
        return False
    if report.decided_by == "stage":
        # A start that has been silent since its last line is judged by the time that goes by, not by its lines.
        return report.cause == "mqllmengine_stall/request_unanswered" and report.confidence >= STANDSTILL
    return report.decided_by == "rule" and report.confidence >= SURE


def likely(report: Report) -> bool:
    """Return whether an answer is to be told once nothing more comes."""
    least = DIED if report.strength in ("certain", "strong") else LIKELY
    return report.failed and report.decided_by in ("rule", "model") and report.confidence >= least


def _other(report: Report, told: Report) -> bool:
    return report.cause != told.cause
