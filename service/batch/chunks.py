"""Logs gathered into chunks: enough work that handing it over costs nothing, little enough that a lost worker costs little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .log import Chunk, Log

LOGS = 64
"""Logs of a chunk at most."""
BYTES = 4 << 20
"""Bytes of a chunk, but for a single log that is larger."""


def chunked(logs: Iterable[Log], most: int = LOGS) -> Iterator[Chunk]:
    """Yield the logs in chunks, in their order.

    Args:
        logs: Listed lazily: no more is asked for than a chunk needs.
        most: Logs of a chunk at most.
    """
    gathered: list[Log] = []
    size = 0
    for log in logs:
        own = len(log.data) if log.data is not None else max(0, log.size)
        if gathered and (len(gathered) >= most or size + own > BYTES):
            yield tuple(gathered)
            gathered, size = [], 0
        gathered.append(log)
        size += own
    if gathered:
        yield tuple(gathered)
