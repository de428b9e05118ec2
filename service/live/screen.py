"""A terminal with a status row below what passes through, as package managers draw theirs.

The row lies outside the terminal's scroll region, so that progress bars, colours and half lines above it stay what they are.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time

QUIET = 0.04
"""Seconds after the last output before which the row is not drawn: it would stand within an escape sequence."""
WAIT = 5.0
"""Seconds that a message waits for output that the terminal holds up."""


class Screen:
    """Writes what passes through, the status row, and messages, one at a time.

    Args:
        file: The terminal's file descriptor.
        row: Whether it takes a status row.
    """

    def __init__(self, file: int, row: bool = True) -> None:
        self.file = file
        self._row = row and os.environ.get("TERM", "dumb") not in ("", "dumb")
        self._lock = threading.Lock()
        self._size = os.terminal_size((0, 0))
        self._text = ""
        self._last = 0.0
        self._tail = b"\n"

    @property
    def width(self) -> int:
        """Columns; 100 where the terminal does not say."""
        return self._measured().columns or 100

    def pass_on(self, data: bytes) -> None:
        """Write what passes through.

        Raises:
            OSError: The terminal is gone.
        """
        with self._lock:
            write_all(self.file, data)
            self._tail = (self._tail + data[-8:])[-8:]
            self._last = time.monotonic()

    def status(self, text: str) -> None:
        """Show a text in the status row; nothing happens while the terminal is busy."""
        if not self._row or not self._lock.acquire(blocking=False):
            return
        try:
            size = self._measured()
            if time.monotonic() - self._last < QUIET or not self._whole() or size.lines < 4:
                return
            if size != self._size:
                self._reserve(size)
                self._text = ""
            text = _cut(text, size.columns - 1)
            if text != self._text:
                self._text = text
                self._send(f"\x1b7\x1b[{size.lines};1H\x1b[0;7m{text}\x1b[K\x1b[0m\x1b8")
        finally:
            self._lock.release()

    def say(self, text: str) -> None:
        """Write a message on lines of its own."""
        held = self._lock.acquire(timeout=WAIT)
        try:
            begin = "" if self._tail.endswith(b"\n") else "\n"
            self._send(begin + text)
            self._tail = b"\n"
        finally:
            if held:
                self._lock.release()

    def close(self) -> None:
        """Give the row back to the terminal."""
        held = self._lock.acquire(timeout=WAIT)
        if self._size.lines:
            rows = self._size.lines
            self._send(f"\x1b7\x1b[r\x1b[{rows};1H\x1b[0m\x1b[K\x1b8")
            self._size = os.terminal_size((0, 0))
        self._row = False
        if held:
            self._lock.release()

    def _reserve(self, size: os.terminal_size) -> None:
        old = f"\x1b7\x1b[r\x1b[{self._size.lines};1H\x1b[K\x1b8" if self._size.lines else ""
        self._size = size
        # One line up, so that the cursor does not stand in the row that is taken away.
        self._send(f"{old}\n\x1b7\x1b[1;{size.lines - 1}r\x1b8\x1b[1A")

    def _whole(self) -> bool:
        """Return whether no escape sequence and no character is half written."""
        tail = self._tail
        escape = tail.rfind(b"\x1b")
        if escape >= 0 and not any(byte in b"mKHJABCDhlrG78\x07" for byte in tail[escape + 1 :]):
            return False
        return not tail or tail[-1] < 0x80 or _ends_character(tail)

    def _measured(self) -> os.terminal_size:
        with contextlib.suppress(OSError):
            return os.get_terminal_size(self.file)
        return os.terminal_size((100, 0))

    def _send(self, text: str) -> None:
        with contextlib.suppress(OSError):
            write_all(self.file, text.encode("utf-8", "replace"))


def write_all(file: int, data: bytes) -> None:
    """Write all of ``data``.

    Raises:
        OSError: It cannot be written.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(file, view) :]
        except BlockingIOError:
            # Somebody else made the terminal non-blocking.
            time.sleep(0.01)


def _ends_character(tail: bytes) -> bool:
    try:
        tail[-4:].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason != "unexpected end of data"
    return True


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
