"""Decompresses gzip, zstd, xz and bzip2 in bounded memory; what comes before the data are cut or damaged is used."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from types import ModuleType
from typing import Protocol

from ..errors import InputError

PIECE = 1 << 14
"""Compressed bytes taken at a time: what is lost where the data are damaged."""
OUTPUT = 1 << 20
"""Bytes handed on at a time, however much a piece of a bomb would become."""
GZIP = b"\x1f\x8b"


class Decompressor(Protocol):
    """What undoes compression piece by piece."""

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes:
        """Return what ``data`` holds, ``max_length`` bytes of it at most."""


def gunzip(chunks: Iterator[bytes]) -> Generator[bytes, None, bool]:
    """Yield what gzip data hold: any number of members one after the other, as concatenated rotated logs are.

    Returns:
        Whether they broke off: cut, or damaged further on.

    Raises:
        InputError: Nothing at all could be read.
    """
    import zlib

    engine = zlib.decompressobj(wbits=31)
    fresh, some = False, False
    pending = b""
    for chunk in chunks:
        for start in range(0, len(chunk), PIECE):
            pending += chunk[start : start + PIECE]
            while pending:
                if fresh:
                    # Members may be padded with NULs; whatever else follows is not part of the log.
                    pending = pending.lstrip(b"\0")
                    if len(pending) < len(GZIP):
                        break
                    if not pending.startswith(GZIP):
                        return False
                    engine, fresh = zlib.decompressobj(wbits=31), False
                saved = engine.copy()
                try:
                    data = engine.decompress(pending, OUTPUT)
                except zlib.error as error:
                    data = _salvage(saved, pending)
                    if not (data or some):
                        raise InputError(
                            f"the gzip data are damaged from the start ({error}): fetch the file again"
                        ) from None
                    yield data
                    return True
                some = some or bool(data)
                yield data
                pending = engine.unconsumed_tail
                if engine.eof:
                    pending, fresh = engine.unused_data, True
    if not fresh:
        yield engine.flush()
    return not fresh


def _salvage(engine: Decompressor, data: bytes) -> bytes:
    """Return what can be read of a piece before the place where it is damaged."""
    import zlib

    found = []
    for start in range(len(data)):
        try:
            found.append(engine.decompress(data[start : start + 1], OUTPUT))
        except zlib.error:
            break
    return b"".join(found)[:OUTPUT]


def unzstd(chunks: Iterator[bytes]) -> Generator[bytes, None, bool]:
    """Yield what zstd frames hold.

    Returns:
        Whether they broke off: cut, or damaged further on.

    Raises:
        InputError: No decompressor is installed, or nothing at all could be read.
    """
    from .zstd_frames import ZstdFrames

    frames = ZstdFrames()
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            import zstandard
        except ImportError:
            from ..extras import install

            raise InputError(f"the input is zstd: {install('zstd')}, or unpack it first (zstd -d)") from None
        broken: type[Exception] = zstandard.ZstdError
        pieces = _by_package(zstandard, frames.watched(chunks))
    else:
        broken = zstd.ZstdError
        pieces = _by_library(zstd, frames.watched(chunks))
    some = False
    while True:
        try:
            data = next(pieces, None)
        except broken as error:
            if some:
                return True
            raise InputError(
                f"the zstd data cannot be read ({error}): unpack it first (zstd -d --long=31), or fetch it again"
            ) from None
        if data is None:
            return not frames.whole
        some = True
        yield data


class Engine(Protocol):
    """A decompressor of one member, as the standard library has them for xz, bzip2 and zstd."""

    @property
    def eof(self) -> bool:
        """Whether the member is over."""

    @property
    def needs_input(self) -> bool:
        """Whether all of what was given is used up."""

    @property
    def unused_data(self) -> bytes:
        """What followed the member."""

    def decompress(self, data: bytes, max_length: int = ...) -> bytes:
        """Return what ``data`` holds, ``max_length`` bytes of it at most."""


class _Source:
    """Pieces as the file that zstandard wants to read from."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._rest = chunk
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def _by_package(zstandard: ModuleType, chunks: Iterator[bytes]) -> Iterator[bytes]:
    reader = zstandard.ZstdDecompressor().stream_reader(_Source(chunks), read_size=PIECE, read_across_frames=True)
    while data := reader.read1(OUTPUT):
        yield data


def _by_library(zstd: ModuleType, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield from _members(zstd.ZstdDecompressor, chunks)


def unxz(chunks: Iterator[bytes]) -> Generator[bytes, None, bool]:
    """Yield what xz data hold, any number of streams one after the other.

    Returns:
        Whether they are damaged further on, or cut.

    Raises:
        InputError: Nothing at all could be read.
    """
    import lzma

    return (yield from _salvaged("xz", _members(lzma.LZMADecompressor, chunks), lzma.LZMAError))


def unbzip2(chunks: Iterator[bytes]) -> Generator[bytes, None, bool]:
    """Yield what bzip2 data hold, any number of streams one after the other.

    Returns:
        Whether they are damaged further on, or cut.

    Raises:
        InputError: Nothing at all could be read.
    """
    import bz2

    return (yield from _salvaged("bzip2", _members(bz2.BZ2Decompressor, chunks), OSError))


def _salvaged(name: str, pieces: Generator[bytes, None, bool], broken: type[Exception]) -> Generator[bytes, None, bool]:
    """Yield pieces up to where they cannot be read; return whether the data went on there."""
    some = False
    while True:
        try:
            data = next(pieces)
        except StopIteration as end:
            return not end.value
        except broken as error:
            if some:
                return True
            raise InputError(f"the {name} data are damaged from the start ({error}): fetch the file again") from None
        some = True
        yield data


def _members(begin: Callable[[], Engine], chunks: Iterator[bytes]) -> Generator[bytes, None, bool]:
    """Yield what the members of compressed data hold; return whether the last one is whole."""
    engine, fresh = begin(), True
    for chunk in chunks:
        for start in range(0, len(chunk), PIECE):
            piece = chunk[start : start + PIECE]
            while True:
                if fresh and not piece.strip(b"\0"):
                    # xz pads its streams with NULs.
                    break
                data = engine.decompress(piece, max_length=OUTPUT)
                fresh = False
                if data:
                    yield data
                piece = b""
                if engine.eof:
                    piece = engine.unused_data
                    engine, fresh = begin(), True
                    if not piece:
                        break
                elif engine.needs_input:
                    break
    return fresh
