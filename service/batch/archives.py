"""Members of archives: tar, however it is packed, and zip, read once from end to end."""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import IO, Self

from ...classifier.errors import InputError
from ...classifier.input.read import BLOCK, unpacked
from . import remote
from .log import Log
from .many import INSIDE, ZIPS, is_beside, is_url

INLINE = 4 << 20
"""Bytes of a member that travel with its name; a larger one is looked for again by who reads it."""
BROKEN = (
    OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, ValueError, LookupError,
    ArithmeticError,
)  # fmt: skip
"""What the libraries raise for archives that are damaged, or made to do harm; ValueError and below for odd headers."""
ENDED = 64
"""Times that an archive is read on behind its end before it is given up: a header may promise any size, and is skipped in pieces."""
EXTENDED = 1 << 20
"""Bytes of a header that extends another one (long names): it is held in memory."""


def members(archive: Log) -> Iterator[Log]:
    """Yield the files of an archive as logs; where it is damaged, what comes before, and a log that says so."""
    try:
        with open_plain(archive.name) as file:
            walk = _of_zip if archive.name.lower().endswith(ZIPS) else _of_tar
            for log, content in walk(archive, file):
                yield log if log.problem or log.size > INLINE else _with_data(log, content)
    except (InputError, *BROKEN) as error:
        yield Log(archive.name, archive.size, archive.version, archive.changed, problem=f"the archive: {error}")


@contextmanager
def open_member(log: Log) -> Iterator[IO[bytes]]:
    """Give a large member of an archive, open for reading.

    Raises:
        InputError: It is there no more, or the archive cannot be read.
    """
    archive = Log(log.archive)
    walk = _of_zip if archive.name.lower().endswith(ZIPS) else _of_tar
    with open_plain(archive.name) as file, closing(walk(archive, file)) as walked:
        try:
            content = next((content for found, content in walked if found.name == log.name), None)
        except BROKEN as error:
            raise InputError(f"{archive.name}: the archive cannot be read ({error})") from None
        if content is None:
            raise InputError(f"{log.name}: the archive has no such file any more")
        try:
            with content:
                yield content
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError) as error:
            raise InputError(f"{log.name}: cannot be unpacked ({error})") from None


def open_plain(name: str) -> IO[bytes]:
    """Return a file, or what a URL names, open for reading.

    Raises:
        InputError: It cannot be opened.
    """
    if is_url(name):
        return remote.opened(name)
    try:
        return open(name, "rb")  # noqa: PTH123 - closed by who asked
    except OSError as error:
        raise InputError(f"{name}: cannot be opened ({error.strerror})") from None


def _with_data(log: Log, content: IO[bytes] | None) -> Log:
    if content is None:
        return log
    with closing(content):
        try:
            data = content.read()
        except BROKEN as error:
            return Log(log.name, log.size, log.version, log.changed, problem=f"cannot be unpacked ({error})")
    return Log(log.name, log.size, log.version, log.changed, data)


def _of_zip(archive: Log, file: IO[bytes]) -> Generator[tuple[Log, IO[bytes] | None]]:
    with zipfile.ZipFile(file) as opened:
        for info in opened.infolist():
            if info.is_dir() or is_beside(info.filename):
                continue
            changed = _zip_time(info.date_time)
            log = Log(f"{archive.name}{INSIDE}{info.filename}", info.file_size, f"{info.CRC:08x}", changed)
            if info.flag_bits & 1:
                yield Log(log.name, log.size, log.version, changed, problem="is encrypted: unpack it first"), None
                continue
            content = opened.open(info)
            yield log, content
            content.close()


def _of_tar(archive: Log, file: IO[bytes]) -> Generator[tuple[Log, IO[bytes] | None]]:
    plain = io.BufferedReader(_Pieces(unpacked(iter(lambda: file.read(BLOCK), b""))), BLOCK)
    seen: dict[str, int] = {}
    with tarfile.open(fileobj=plain, mode="r|", tarinfo=_Header) as opened:
        for info in opened:
            # It would remember them all.
            opened.members.clear()  # type: ignore[attr-defined]
            if not info.isfile() or is_beside(info.name):
                continue
            # The same name may come again: tar appends.
            again = seen[info.name] = seen.get(info.name, 0) + 1
            name = f"{archive.name}{INSIDE}{info.name}" + (f"#{again}" if again > 1 else "")
            log = Log(name, info.size, repr(info.mtime), float(info.mtime))
            if info.issparse():
                # Its holes have any size, and hold nothing.
                yield replace(log, problem="is sparse: unpack it first"), None
                continue
            yield log, opened.extractfile(info)


class _Header(tarfile.TarInfo):
    """A header of a tar whose extension has a bounded size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        made = super().frombuf(buf, encoding, errors)
        if made.size > EXTENDED and made.type in b"LKxgX":
            raise tarfile.ReadError(f"a header of {made.size} bytes")
        return made


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""
        self._ended = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                self._ended += 1
                if self._ended > ENDED:
                    raise tarfile.ReadError("it is cut off: a file in it is larger than what is left")
                return 0
            self._rest = piece
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _zip_time(told: tuple[int, int, int, int, int, int]) -> float:
    try:
        return datetime(*told, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
