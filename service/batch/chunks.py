"""Logs gathered into chunks: enough work that handing it over costs nothing, little enough that a lost worker costs little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .log import Chunk, Log

LOGS = 64
"""Logs of a chunk at most."""
BYTES = 32 << 20
"""Bytes of a chunk as they lie there, but for a single log that is larger."""
INLINE = 4 << 20
"""Bytes of a chunk that travel with the names of its logs (members of archives)."""


def chunked(logs: Iterable[Log], most: int = LOGS) -> Iterator[Chunk]:
    """Yield the logs in chunks, in their order.

    Args:
        logs: Listed lazily: no more is asked for than a chunk needs.
        most: Logs of a chunk at most.
    """
    gathered: list[Log] = []
    size = inline = 0
    for log in logs:
        own, carried = max(0, log.size), len(log.data or b"")
        if gathered and (len(gathered) >= most or size + own > BYTES or inline + carried > INLINE):
            yield tuple(gathered)
            gathered, size, inline = [], 0, 0
        gathered.append(log)
        size += own
        inline += carried
    if gathered:
        yield tuple(gathered)
