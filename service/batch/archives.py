"""Members of archives: tar, however it is packed, and zip, read once from end to end."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import IO

from ...classifier.errors import InputError
from ...classifier.input.read import BLOCK, unpacked
from . import remote
from .log import Log
from .many import INSIDE, ZIPS, is_beside, is_url

INLINE = 4 << 20
"""Bytes of a member that travel with its name; a larger one is looked for again by who reads it."""


def members(archive: Log) -> Iterator[Log]:
    """Yield the files of an archive as logs; where it is damaged, what comes before, and a log that says so."""
    try:
        with open_plain(archive.name) as file:
            walk = _of_zip if archive.name.lower().endswith(ZIPS) else _of_tar
            for log, content in walk(archive, file):
                yield log if log.problem or log.size > INLINE else _with_data(log, content)
    except (InputError, OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, NotImplementedError) as error:
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
        except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
            raise InputError(f"{archive.name}: the archive cannot be read ({error})") from None
        if content is None:
            raise InputError(f"{log.name}: the archive has no such file any more")
        with content:
            yield content


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
        except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, tarfile.TarError) as error:
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
    with tarfile.open(fileobj=plain, mode="r|") as opened:
        for info in opened:
            if not info.isfile() or is_beside(info.name):
                continue
            # The same name may come again: tar appends.
            again = seen[info.name] = seen.get(info.name, 0) + 1
            name = f"{archive.name}{INSIDE}{info.name}" + (f"#{again}" if again > 1 else "")
            log = Log(name, info.size, repr(info.mtime), float(info.mtime))
            yield log, opened.extractfile(info)


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
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
