"""Binary files that end, or fail, after so many bytes."""

from __future__ import annotations

from typing import Protocol

from ...classifier.errors import InputError


class Readable(Protocol):
    """What a log is read from."""

    def read(self, size: int = -1, /) -> bytes:
        """Return at most ``size`` bytes; none at the end."""
        ...


class TooLargeError(InputError):
    """There is more than was allowed."""


class Limited:
    """A file that is read up to a limit.

    Args:
        file: What is read.
        limit: Bytes.
        strict: Raise `TooLargeError` where there is more, else end there.
    """

    def __init__(self, file: Readable, limit: int, *, strict: bool = True) -> None:
        self._file = file
        self._left = limit
        self._strict = strict

    def read(self, size: int = -1, /) -> bytes:
        """Return at most ``size`` bytes; none at the end.

        Raises:
            TooLargeError: The limit is passed, and the reader is strict.
        """
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._file.read(wanted) if wanted else b""
        self._left -= len(data)
        if self._strict and not self._left and self._file.read(1):
            raise TooLargeError("the file is too large")
        return data
