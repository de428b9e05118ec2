"""What the engine finds without a rule: from how far a log got, how the server did at work, or what is left unexplained.

A cause says by ``concluded_from`` which of them it answers; each has one cause in the corpus.
"""

from __future__ import annotations

FINDINGS: tuple[str, ...] = (
    "silence", "stalled", "preempted", "drafts_rejected", "cache_full", "queued", "slowed_down", "crawling", "stood_still",
    "strange_exception", "unrecognised_failure", "nothing_recognised", "death_unread", "broken_off", "below_threshold", "said_slow", "said_otherwise",
    "came_up", "refused", "stopped", "starting", "no_sign",
)  # fmt: skip
"""Failures first, then what leaves the cause open, then what is none. docs/rules.md says what each means."""
