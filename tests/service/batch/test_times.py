"""Stamps without a year get that of the file's last change."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from vllm_triage.service.batch.times import time_of


def at(text: str) -> float:
    """Return a time in seconds since 1970."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("stamp", "changed", "told"),
    [
        ("11-02 10:00:00", "2026-11-03T00:00:00", "2026-11-02T10:00:00"),
        ("12-31 23:59:59", "2027-01-01T00:00:05", "2026-12-31T23:59:59"),
        ("01-01 00:30:00", "2026-12-31T23:00:00", "2027-01-01T00:30:00"),  # another zone
        ("02-29 10:00:00", "2026-03-01T00:00:00", "2024-02-29T10:00:00"),
        ("13-45 10:00:00", "2026-03-01T00:00:00", ""),
        ("10:00:00", "2026-03-01T00:00:00", ""),
        ("2026-03-01T10:00:00.123Z", "", "2026-03-01T10:00:00"),
        ("2026-03-01 10:00:00,123", "", "2026-03-01T10:00:00"),
        ("2026-03-01T10:00:00+02:00", "", "2026-03-01T08:00:00"),
        ("2026-13-01T10:00:00Z", "", ""),
        ("11-02 10:00:00", "", ""),
        ("", "2026-03-01T00:00:00", ""),
    ],
)
def test_times(stamp: str, changed: str, told: str) -> None:
    """With a zone in UTC, without as printed; nothing where no day is known."""
    assert time_of(stamp, at(changed) if changed else 0.0) == told
