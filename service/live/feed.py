"""Hands a log on to the process that reads it, without waiting for it longer than it was asked to."""

from __future__ import annotations

import os
import threading
import time
from collections import deque

from .protocol import DATA, END, STOP, frame

LIMIT = 32 << 20
"""Bytes that may wait to be read; beyond, the log is read with a gap, in which the lines are counted."""
PARTIAL = 1 << 16
"""Bytes of a line that is not yet ended, of one of several streams, that are kept back."""
LATE = 0.2
"""Seconds after which such a line is handed on all the same: a progress bar has no end for minutes."""


class Feed:
    """A queue with a thread that empties it into a pipe.

    Args:
        file: The pipe's end to write to; closed with the feed.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._gap = 0
        self._partial: dict[int, tuple[float, bytes]] = {}
        self._ready = threading.Condition()
        self._closed = False
        self.lost = False
        """Whether nobody reads any more."""
        self.left_out = 0
        """Bytes that were not handed on because too many waited."""
        self._thread = threading.Thread(target=self._empty, name="feed", daemon=True)
        self._thread.start()

    @property
    def left(self) -> int:
        """Bytes that wait to be read."""
        return self._size

    def put(self, data: bytes, stream: int = 0, streams: int = 1, wait: float = 0.0) -> None:
        """Take a piece of one of several streams; lines of several do not run into each other.

        Args:
            data: The piece.
            stream: Index of its stream.
            streams: How many there are.
            wait: Seconds to wait for room where too much waits already.
        """
        with self._ready:
            if wait and self._size + len(data) > LIMIT:
                self._ready.wait_for(lambda: self.lost or self._size + len(data) <= LIMIT, wait)
            self._add(self._whole(data, stream) if streams > 1 else data)

    def flush(self) -> None:
        """Hand on the lines that were begun and not ended in time."""
        if not self._partial:
            return
        now = time.monotonic()
        with self._ready:
            for stream, (since, data) in list(self._partial.items()):
                if now - since >= LATE:
                    del self._partial[stream]
                    self._add(data)

    def stop(self, name: str) -> None:
        """Say that a signal was passed on."""
        self._control(frame(STOP, time.monotonic(), name.encode()))

    def end(self, told: bytes) -> None:
        """Say that the log has ended, and how; the pipe is closed when all has been handed on."""
        with self._ready:
            for _, data in self._partial.values():
                self._add(data)
            self._partial.clear()
        self._control(frame(END, time.monotonic(), told), last=True)

    def wait(self, seconds: float) -> bool:
        """Wait until all has been handed on; return whether it has been."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _control(self, data: bytes, last: bool = False) -> None:
        with self._ready:
            self._waiting.append(data)
            self._size += len(data)
            self._closed = self._closed or last
            self._ready.notify_all()

    def _whole(self, data: bytes, stream: int) -> bytes:
        since, before = self._partial.pop(stream, (time.monotonic(), b""))
        data = before + data
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not end and len(data) > PARTIAL:
            end = len(data)
        if rest := data[end:]:
            self._partial[stream] = (since if not end else time.monotonic(), rest)
        return data[:end]

    def _add(self, data: bytes) -> None:
        if not data or self.lost or self._closed:
            return
        if self._size + len(data) > LIMIT:
            self.left_out += len(data)
            self._gap += data.count(b"\n")
            return
        if self._gap:
            # Line numbers stay those of the log.
            data, self._gap = b"\n" * self._gap + data, 0
        self._waiting.append(frame(DATA, time.monotonic(), data))
        self._size += len(self._waiting[-1])
        self._ready.notify_all()

    def _empty(self) -> None:
        while True:
            with self._ready:
                while not self._waiting and not self._closed:
                    self._ready.wait()
                piece = self._waiting.popleft() if self._waiting else b""
            try:
                _write(self._file, piece)
            except OSError:
                self.lost = True
            with self._ready:
                self._size -= len(piece)
                self._ready.notify_all()
                if self.lost or (self._closed and not self._waiting):
                    break
        os.close(self._file)
        self._waiting.clear()


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
