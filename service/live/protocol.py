"""Frames on their way from the process that passes a log through to the one that reads it."""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Iterator
from typing import NamedTuple

DATA, STOP, END = b"D", b"S", b"E"
"""A piece of log; a signal was passed on that asks the server to stop; the log has ended."""
HEAD = struct.Struct("<cdI")
"""Kind, time of arrival (seconds, monotonic), bytes that follow."""
PIECE = 1 << 18
"""Bytes read at a time."""


class Frame(NamedTuple):
    """One message; ``kind`` empty: nothing came for a while."""

    kind: bytes
    at: float
    data: bytes = b""
    more: bool = False
    """Whether another one is there already."""


def frame(kind: bytes, at: float, data: bytes = b"") -> bytes:
    """Return a message as it is sent."""
    return HEAD.pack(kind, at, len(data)) + data


def frames(file: int, pause: float) -> Iterator[Frame]:
    """Yield what comes, and an empty frame after each ``pause`` seconds without any; ends where the pipe does."""
    buffer = bytearray()
    while True:
        while (found := _take(buffer)) is not None:
            yield found._replace(more=_complete(buffer))
        ready, _, _ = select.select([file], [], [], pause)
        if not ready:
            yield Frame(b"", time.monotonic())
            continue
        data = os.read(file, PIECE)
        if not data:
            return
        buffer += data


def _complete(buffer: bytearray) -> bool:
    return len(buffer) >= HEAD.size and len(buffer) >= HEAD.size + HEAD.unpack_from(buffer)[2]


def _take(buffer: bytearray) -> Frame | None:
    if not _complete(buffer):
        return None
    kind, at, size = HEAD.unpack_from(buffer)
    data = bytes(buffer[HEAD.size : HEAD.size + size])
    del buffer[: HEAD.size + size]
    return Frame(kind, at, data)
