"""Every number by which the health of a server is judged, each with its reason."""

from __future__ import annotations

MINUTE = 60.0
"""Seconds that a state must last before it counts: queues and full caches of less are the bursts of a healthy server."""

ENOUGH = 6
"""Lines that stand for a minute where the log has no stamps: V1 prints one every ten seconds."""

INTERVAL = 10.0
"""Seconds between two lines of statistics where the log does not tell: ``VLLM_LOG_STATS_INTERVAL`` (V0: 5, when idle 10)."""

APART = 900.0
"""Seconds between two lines beyond which the second says nothing of the first: V1 prints none while it is idle."""

OTHER_LOG = 7 * 86400.0
"""Seconds after the last line of statistics beyond which a stamp is that of another log, pasted below it."""

USAGE = 0.05
"""Per cent by which the usage of the cache differs where blocks were taken or freed; less is but the rounding.

A long prefill computes no token for many seconds, but it takes blocks: of 26,612 lines of real servers 44 had requests and
no token. On 41 of them the usage had changed, and the next line had tokens; the other three were a standstill of 30 s.
"""

ASTIR = 30.0
"""Seconds that a standstill must have lasted to be told when it is over."""

SILENCE = 6
"""Intervals without a line of statistics after which a busy server is silent, while the rest of its log goes on."""

UNHEARD = 4
"""Intervals after which an answered request would have shown in the statistics: a stream is '200 OK' before its first token."""

FULL = 95.0
"""Per cent of the KV cache from which on it is full."""

NEARLY_FULL = 80.0
"""Per cent from which on it is full if what is free is less than what one of the running requests holds."""

QUEUE = 30
"""Waiting requests that are more than what a server takes in within a few steps."""

HUGE_QUEUE = 100
"""Waiting requests that are too many on any line, if they are also more than those that run."""

DRAIN = 60.0
"""Seconds within which a queue that shrinks must be empty to be no matter: the last of its requests waits no longer."""

CAPPED_LINES, MOSTLY_FREE = 3, 50.0
"""Lines, and per cent of the KV cache, that show a queue behind a fixed number of requests before a minute is over.

A burst is there at once and shrinks; this one grows, and room for more requests is there.
"""

CREEPING, CREEPING_LINES = 10, 12
"""A queue that did not shrink once over so many lines, and how long it must have become."""

PREEMPTIONS = 10
"""Preemptions within a state: a few are how the scheduler works, many are work that is done twice."""

REJECTED = 0.05
"""Share of accepted draft tokens below which drafting only costs: every draft is computed and thrown away."""

DRAFTED, DRAFTED_LINES = 300, 3
"""Draft tokens, and lines about them, below which a share says little."""

SLOWER = 0.33
"""Speed of a request, as a share of what was normal in this log (its upper quartile), below which a server has become slow.

Over 22,761 minutes of real servers the lowest share was 0.73 under a like load, and 0.40 with far longer contexts.
"""

CRAWLING, CRAWLING_LINES = 1.0, 3
"""Tokens a second below which a request crawls whatever the model and the hardware, and lines of it that are no chance."""

NORMAL = 12
"""Lines of like load that tell what is normal in a log."""

LIKE = 2.0
"""Factor within which the number of running requests is a like load."""

LONGER = 3.0
"""Factor by which the cache that one request holds may have grown for its speed to be comparable: long contexts are slower."""
