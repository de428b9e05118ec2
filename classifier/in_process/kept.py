"""What a program printed: its beginning and its end, in bounded memory."""

from __future__ import annotations

import threading

HEAD, TAIL = 2 << 20, 2 << 20
"""Bytes kept of the beginning, where the start and its configuration stand, and of the end, where the failure does."""


class Kept:
    """Takes pieces from any thread."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0
        self._lock = threading.Lock()

    def add(self, data: bytes) -> None:
        """Add a piece."""
        with self._lock:
            room = HEAD - len(self._head)
            if room > 0:
                self._head += data[:room]
                data = data[room:]
            self._tail += data
            if len(self._tail) > 2 * TAIL:
                gone = len(self._tail) - TAIL
                self._left_out += self._tail.count(b"\n", 0, gone)
                del self._tail[:gone]

    def log(self) -> bytes:
        """Return what was kept; empty lines stand for those left out, so that the others keep their numbers."""
        with self._lock:
            return bytes(self._head) + b"\n" * self._left_out + bytes(self._tail)
