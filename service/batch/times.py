"""Time stamps as logs print them, to times with a year: vLLM prints none, the file's own time tells it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ...classifier.patterns.lazy import LazyPattern

_FULL = LazyPattern(
    r"(?P<date>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?:[.,]\d+)?\s?(?P<zone>Z|[+-]\d\d:?\d\d)?(?![\d:])"
)
_SHORT = LazyPattern(r"(?<![\d-])(?P<month>\d\d)-(?P<day>\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?![\d:])")
LATER = timedelta(days=2)
"""How much later than its file's last change a line may seem: clocks and zones differ."""


def time_of(stamp: str, changed: float) -> str:
    """Return a stamp as ``YYYY-MM-DDTHH:MM:SS``: in UTC where it tells its zone, else as printed; "" where it tells no day.

    Args:
        stamp: As printed.
        changed: When the file was changed last, in seconds since 1970; 0 where nobody knows.
    """
    if found := _FULL.search(stamp):
        try:
            told = datetime.fromisoformat(f"{found['date']}T{found['time']}{found['zone'] or ''}")
        except ValueError:
            return ""
        return (told.astimezone(UTC) if told.tzinfo else told).strftime("%Y-%m-%dT%H:%M:%S")
    found = _SHORT.search(stamp)
    if found is None or not changed:
        return ""
    last = datetime.fromtimestamp(changed, UTC).replace(tzinfo=None)
    for year in (last.year + 1, last.year, last.year - 1, last.year - 2, last.year - 3, last.year - 4):
        try:
            told = datetime.fromisoformat(f"{year}-{found['month']}-{found['day']}T{found['time']}")
        except ValueError:
            # 29 February, or no date at all.
            continue
        if told <= last + LATER:
            return told.strftime("%Y-%m-%dT%H:%M:%S")
    return ""
