"""Copies what one stream says, as it comes: to where it would have gone, to the kept file, to the reader."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable

PIECE = 1 << 17
"""Bytes read at a time."""
QUIET, AT_MOST = 0.3, 5.0
"""Seconds without output, and in all, for which a stream is read on when its process has ended: others may hold it open."""


WIDE = 1 << 20
"""Bytes that a pipe of ours holds, where the system allows: whoever writes need not wait for our turn on the processor."""


def wide_pipe() -> tuple[int, int]:
    """Return a pipe, as ``os.pipe`` does, that holds more."""
    reader, writer = os.pipe()
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, WIDE)
    return reader, writer


class Pump(threading.Thread):
    """A thread that copies until the stream ends.

    Args:
        source: File descriptor to read; closed at the end.
        out: Writes a piece to where the stream would have gone; None where it goes nowhere.
        copies: Are given each piece after that; they never fail and never wait.
        left_to: File descriptor for what comes when we have gone: a process that lives on must not lose whom it writes to; -1
            for none.
    """

    def __init__(
        self, source: int, out: Callable[[bytes], None] | None, *copies: Callable[[bytes], None], left_to: int = -1
    ) -> None:
        super().__init__(name=f"pump-{source}", daemon=True)
        self._source, self._out, self._copies, self._left_to = source, out, copies, left_to
        self._wake, self._ending = os.pipe()
        self._ended_at = 0.0
        self.received = 0
        """Bytes read so far."""
        self.refused = False
        """Whether nobody reads what is written."""
        self.left = False
        """Whether the stream goes on without us."""

    def run(self) -> None:
        """Copy."""
        try:
            while self._waits_for_more():
                try:
                    data = os.read(self._source, PIECE)
                except OSError:  # EIO: the other end of a terminal was closed
                    return
                if not self._copy(data):
                    return
            self._leave()
        finally:
            os.close(self._source)

    def ends(self) -> None:
        """Say that the process has ended: read on only as long as more comes."""
        self._ended_at = time.monotonic()
        with contextlib.suppress(OSError):
            os.close(self._ending)

    def _leave(self) -> None:
        """Have what others go on writing passed on, where somebody holds the stream open: a server that its launcher left."""
        if self._left_to < 0:
            return
        # At its end it can be read as well, and tells of that.
        if select.select([self._source], [], [], 0)[0] and not self._copy(os.read(self._source, PIECE)):
            return
        files = [(os.POSIX_SPAWN_DUP2, self._source, 0), (os.POSIX_SPAWN_DUP2, self._left_to, 1)]
        with contextlib.suppress(OSError):
            os.posix_spawnp(
                "cat", ["cat"], os.environ, file_actions=files, setpgroup=0, setsigmask=(), setsigdef=(signal.SIGPIPE,)
            )
            self.left = True

    def _copy(self, data: bytes) -> bool:
        if not data:
            return False
        self.received += len(data)
        if self._out is not None:
            try:
                self._out(data)
            except OSError:
                # Whoever reads has seen enough. The process is to notice that as it would without us.
                self.refused = True
                return False
        for copy in self._copies:
            copy(data)
        return True

    def _waits_for_more(self) -> bool:
        if not self._ended_at:
            ready, _, _ = select.select([self._source, self._wake], [], [])
            if self._source in ready or not self._ended_at:
                return True
        if time.monotonic() - self._ended_at > AT_MOST:
            return False
        return bool(select.select([self._source], [], [], QUIET)[0])
