"""How long to wait until the next try."""

from __future__ import annotations

import random

from .settings import NotifySettings


def backoff(attempt: int, settings: NotifySettings, asked: float | None) -> float:
    """Return the seconds until the next try: doubled every time, with jitter, and no sooner than the receiver asked."""
    limit: float = min(settings.backoff_limit_seconds, settings.backoff_seconds * 2 ** (attempt - 1))
    # Half of it fixed: many messages that failed at one time do not come back at one time, nor at once.
    delay: float = limit / 2 + random.uniform(0, limit / 2)  # noqa: S311 - no secret
    return max(delay, min(asked or 0.0, settings.backoff_limit_seconds))
