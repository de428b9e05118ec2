"""Time stamps of log lines as seconds: for differences within one log, whatever year it was."""

from __future__ import annotations

from ..patterns.lazy import LazyPattern
from .marks import UNTOLD

STAMP = LazyPattern(rb"(?:(\d\d)-(\d\d)[ T])?([0-2]\d):([0-5]\d):([0-5]\d)(?![\d:])")
"""vLLM's own stamp (month, day, time), or the time alone."""
DAY = 86400
_BEFORE = (0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
"""Days before each month. vLLM prints no year, so that 29 February is taken for 1 March."""
_YEAR = 365 * DAY
_JUMP = _YEAR / 2
"""A stamp so much earlier than the one before is of the next year."""


class Clock:
    """Reads stamps in the order of the log, over midnight and over New Year.

    Stamps with a date and stamps without are two clocks: they may show two time zones. The first one read decides.
    """

    __slots__ = ("_dated", "_now", "_turned")

    def __init__(self) -> None:
        self._now = UNTOLD
        self._turned = 0
        self._dated = False

    def read(self, text: bytes) -> float:
        """Return the last stamp in ``text`` in seconds; ``UNTOLD`` where it bears none of this clock's kind."""
        found = STAMP.findall(text)
        return self._seconds(*found[-1]) if found else UNTOLD

    def _seconds(self, month: bytes, day: bytes, hour: bytes, minute: bytes, second: bytes) -> float:
        dated = bool(month) and 1 <= int(month) <= 12
        if self._now == UNTOLD:
            self._dated = dated
        elif dated != self._dated:
            return UNTOLD
        seconds = float(int(hour) * 3600 + int(minute) * 60 + int(second))
        turn, jump = DAY, DAY / 2
        if dated:
            seconds += (_BEFORE[int(month)] + int(day)) * DAY
            turn, jump = _YEAR, _JUMP
        if self._now != UNTOLD and seconds + self._turned < self._now - jump:
            self._turned += turn
        self._now = max(self._now, seconds + self._turned)
        return seconds + self._turned


def span(seconds: float) -> str:
    """Return a time as people say it: ``40 s``, ``12 min``, ``3 h 20 min``."""
    minutes = round(seconds / 60)
    if seconds < 120:
        return f"{round(seconds)} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
