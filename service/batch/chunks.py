"""Logs gathered into chunks: enough work that handing it over costs nothing, little enough that a lost worker costs little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .log import Chunk, Log

LOGS = 64
"""Logs of a chunk at most."""
MANY = 64
"""Chunks after which there is work enough for larger ones: a driver hands over some hundred a second, of whatever size."""
GROWN = 256
"""Logs of those."""
BYTES = 32 << 20
"""Bytes of a chunk as they lie there, but for a single log that is larger."""
INLINE = 4 << 20
"""Bytes of a chunk that travel with the names of its logs (members of archives)."""


def chunked(logs: Iterable[Log], most: int = LOGS, later: int = 0) -> Iterator[Chunk]:
    """Yield the logs in chunks, in their order.

    Args:
        logs: Listed lazily: no more is asked for than a chunk needs.
        most: Logs of a chunk at most.
        later: The same, after ``MANY`` chunks; 0 for no other number.
    """
    gathered: list[Log] = []
    size = inline = made = 0
    for log in logs:
        own, carried = max(0, log.size), len(log.data or b"")
        full = len(gathered) >= (most if made < MANY else later or most)
        if gathered and (full or size + own > BYTES or inline + carried > INLINE):
            yield tuple(gathered)
            gathered, size, inline, made = [], 0, 0, made + 1
        gathered.append(log)
        size += own
        inline += carried
    if gathered:
        yield tuple(gathered)
