"""Follows a file that is written to: through rotation, truncation, and until it is there."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable

from ...classifier.errors import InputError

POLL = 0.05
"""Seconds between two looks at the file."""
PIECE = 1 << 18
"""Bytes read at a time."""
PACKED = (".gz", ".zst", ".bz2", ".xz")
"""Names of files that nobody writes to any more."""


class Follower(threading.Thread):
    """A thread that reads a file from its beginning and goes on for as long as it is asked to.

    The file that was open when it was moved away is read to its end first: it does not matter whether it is compressed or
    removed then. One that became shorter is read from its beginning.

    Args:
        path: The file.
        takes: Are given each piece.

    Raises:
        InputError: It is no file that can be followed.
    """

    def __init__(self, path: str, *takes: Callable[[bytes], None]) -> None:
        super().__init__(name="follower", daemon=True)
        self._path, self._takes = path, takes
        self._ended = threading.Event()
        self._file = -1
        self._position = 0
        _refuse(path)
        self._open()
        self.received = 0
        """Bytes read so far."""
        self.waited = self._file < 0
        """Whether the file was not there at first."""

    def ends(self) -> None:
        """Read what is there and no further."""
        self._ended.set()

    def run(self) -> None:
        """Follow."""
        while True:
            last = self._ended.is_set()
            self._read()
            if self._moved():
                # What was written between the last read and the move.
                self._read()
                self._close()
                self._open()
                continue
            if last:
                break
            self._ended.wait(POLL)
        self._close()

    def _read(self) -> None:
        while self._file >= 0:
            if os.fstat(self._file).st_size < self._position:
                os.lseek(self._file, 0, os.SEEK_SET)
                self._position = 0
            data = os.read(self._file, PIECE)
            if not data:
                return
            self._position += len(data)
            self.received += len(data)
            for take in self._takes:
                take(data)

    def _moved(self) -> bool:
        """Return whether another file stands under the name now."""
        try:
            now = os.stat(self._path)  # noqa: PTH116
        except OSError:
            return False
        if self._file < 0:
            return True
        if not now.st_size:
            # logrotate's "create": until the server opens it, what it writes still comes to the old file.
            return False
        ours = os.fstat(self._file)
        return (now.st_dev, now.st_ino) != (ours.st_dev, ours.st_ino)

    def _open(self) -> None:
        try:
            self._file, self._position = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC), 0
        except FileNotFoundError:
            self._file = -1
        except OSError as error:
            if self.is_alive():  # it may become readable again; what was there is gone either way
                self._file = -1
                time.sleep(POLL)
                return
            raise InputError(f"{self._path}: cannot be followed ({error.strerror})") from None

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _refuse(path: str) -> None:
    if path.endswith(PACKED):
        raise InputError(f"{path} is compressed, so nobody writes to it any more: leave --follow out")
    folder = os.path.dirname(path) or "."  # noqa: PTH120
    if not os.path.isdir(folder):  # noqa: PTH112
        raise InputError(f"{path}: there is no folder {folder}")
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except OSError:
        return
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder: name the log file in it")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is not a plain file: pipe it in (… | vllm-triage - --follow)")
