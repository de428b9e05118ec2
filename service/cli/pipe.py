"""Standard input that Ctrl-C ends without losing the answer."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, BinaryIO, Self

GRACE = 5.0
"""Seconds that the log may go on after the first Ctrl-C: the server at the other end of the pipe is stopping too."""

SAID = b"\nvllm-triage: reading on while the server stops (Ctrl-C answers at once)\n"
"""Told on a terminal at the first Ctrl-C."""
Handler = Callable[[int, FrameType | None], None]


class Pipe:
    """Reads a pipe to its end. The first Ctrl-C ends the reading within ``GRACE`` seconds, a second one at once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._reading = False
        self._pressed: list[float] = []
        self._previous: Any = None
        self.received = 0
        """Bytes read so far."""

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return bool(self._pressed)

    def __enter__(self) -> Self:
        import signal

        try:
            self._previous = signal.signal(signal.SIGINT, self._note)
        except ValueError:  # not in the main thread
            self._previous = None
        return self

    def __exit__(self, *_details: object) -> None:
        if self._previous is not None:
            import signal

            signal.signal(signal.SIGINT, self._previous)

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes as they arrive."""
        while not self._pressed or self._more_comes():
            try:
                self._reading = True
                data = self._file.read1(1 << 20)  # type: ignore[attr-defined]
            except KeyboardInterrupt:
                continue
            finally:
                self._reading = False
            if not data:
                return
            self.received += len(data)
            yield data

    def _note(self, _signal: int, _frame: FrameType | None) -> None:
        self._pressed.append(time.monotonic())
        if len(self._pressed) == 1 and self.received and sys.stderr is not None and sys.stderr.isatty():
            os.write(sys.stderr.fileno(), SAID)
        # What was read is never thrown away: only a wait for more is broken off.
        if self._reading or len(self._pressed) > 1:
            raise KeyboardInterrupt

    def _more_comes(self) -> bool:
        """Wait for more of the log, as long as it may still go on; return whether it does."""
        left = self._pressed[0] + GRACE - time.monotonic()
        if left <= 0 or len(self._pressed) > 1 or sys.platform == "win32":
            return False
        import select

        try:
            return bool(select.select([self._file], [], [], left)[0])
        except (KeyboardInterrupt, OSError, ValueError):
            return False
