"""Any input to blocks of bytes that end at a line end, in bounded memory.

A block holds whole lines, cleaned so that the scanner meets plain text: no colours, no NULs, UTF-8, one message a line. Cleaning
never changes the number of newlines, so line numbers are those of the raw input; what must be split within one raw line is
split with a carriage return.
"""
from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .clean import Cleaner
from .errors import InputError

BLOCK = 1 << 20
"""Bytes read at a time; a line longer than this is handed on in pieces."""
MINIMUM = 1 << 18
"""Pipes hand out 64 KiB: gather this much before scanning."""

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ARCHIVES = {b"PK\x03\x04": "a zip archive", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"7z\xbc\xaf": "a 7z archive"}


class Block(NamedTuple):
    """A run of whole lines (or a piece of one endless line)."""

    data: bytes
    number: int
    """1-based number of the first line in the raw input."""
    size: int
    """Raw bytes that it stands for."""


class LogFile:
    """A path as text, where plain text would be taken for the log itself."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return self._path


class Chunks:
    """Bytes as they arrive, in pieces that need not end at line ends."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = pieces


def join_sources(sources: Iterable[Any]) -> Chunks:
    """Return several sources as one log, a line end between them."""

    def pieces() -> Iterator[bytes]:
        for source in sources:
            for block in read_blocks(source):
                yield block.data
            yield b"\n"

    return Chunks(pieces())


def read_blocks(source: Any) -> Iterator[Block]:
    """Yield the blocks of ``source``.

    Args:
        source: A path, ``bytes``, ``str`` (the log itself), a binary or text file, or an iterable of lines (``str`` or ``bytes``).

    Raises:
        InputError: It cannot be opened or decompressed.
    """
    chunks = _chunks(source)
    first = next(chunks, b"")
    if first[:2] == GZIP or first[:4] == ZSTD:
        chunks = _decompress(_chain(first, chunks), first)
        first = next(chunks, b"")
    for magic, name in _ARCHIVES.items():
        if first.startswith(magic):
            raise InputError(f"the input is {name}: unpack it first (gzip and zstd are read as they are)")
    yield from _blocks(_chain(first, chunks))


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _chunks(source: Any) -> Iterator[bytes]:
    if isinstance(source, str):
        source = source.encode("utf-8", "surrogateescape")
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        return (data[start : start + BLOCK] for start in range(0, len(data), BLOCK))
    if isinstance(source, Chunks):
        return iter(source.pieces)
    if isinstance(source, os.PathLike):
        return _file_chunks(_open(source))
    if hasattr(source, "read"):
        return _file_chunks(source)
    if isinstance(source, Iterable):
        return _line_chunks(source)
    raise InputError(f"cannot read a log from {type(source).__name__}: give a path, text, bytes, a file or lines")


def _open(source: os.PathLike[str]) -> io.BufferedIOBase:
    path = os.fspath(source)
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):
            raise InputError(f"{path} is a folder: name the log file in it")
        return open(path, "rb")  # noqa: SIM115 - closed by _file_chunks
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except PermissionError:
        raise InputError(f"{path}: not permitted to read it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _file_chunks(file: Any) -> Iterator[bytes]:
    read = getattr(file, "read1", file.read)
    with file:
        while True:
            try:
                chunk = read(BLOCK)
            except OSError as error:
                raise InputError(f"reading stopped: {error.strerror or error}") from None
            if not chunk:
                return
            yield chunk.encode("utf-8", "surrogateescape") if isinstance(chunk, str) else chunk


def _line_chunks(lines: Iterable[Any]) -> Iterator[bytes]:
    gathered: list[bytes] = []
    size = 0
    for line in lines:
        data = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else bytes(line)
        gathered.append(data if data.endswith(b"\n") else data + b"\n")
        size += len(data) + 1
        if size >= MINIMUM:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def _decompress(chunks: Iterator[bytes], first: bytes) -> Iterator[bytes]:
    return _gunzip(chunks) if first[:2] == GZIP else _unzstd(chunks)


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    import zlib

    engine = zlib.decompressobj(wbits=31)
    for chunk in chunks:
        data = chunk
        while data:
            try:
                yield engine.decompress(data, BLOCK)
            except zlib.error as error:
                raise InputError(f"the gzip data is damaged: {error}") from None
            data = engine.unconsumed_tail
            if engine.eof:
                # gzip files may be concatenated, as rotated logs are.
                data = engine.unused_data.lstrip(b"\0")
                engine = zlib.decompressobj(wbits=31)
                if data and data[:2] != GZIP[: len(data)]:
                    return


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        engine: Any = zstd.ZstdDecompressor()
        broken: Any = zstd.ZstdError
    except ImportError:
        try:
            import zstandard
        except ImportError:
            raise InputError("the input is zstd: pip install 'vllm-triage[zstd]', or unpack it first") from None
        engine, broken = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True), zstandard.ZstdError
    for chunk in chunks:
        # Small pieces in: one piece of a bomb cannot then become more than some 100 MiB at once.
        for start in range(0, len(chunk), 4096):
            try:
                data = engine.decompress(chunk[start : start + 4096])
            except broken as error:
                raise InputError(f"the zstd data is damaged: {error}") from None
            except EOFError:
                return
            for piece in range(0, len(data), BLOCK):
                yield data[piece : piece + BLOCK]


def _blocks(chunks: Iterator[bytes]) -> Iterator[Block]:
    cleaner = Cleaner()
    number = 1
    rest = b""
    gathered: list[bytes] = []
    size = 0
    raw = 0
    for chunk in chunks:
        raw += len(chunk)
        chunk = cleaner.decode(chunk)
        gathered.append(chunk)
        size += len(chunk)
        if size < MINIMUM:
            continue
        data = rest + b"".join(gathered)
        gathered, size = [], 0
        end = data.rfind(b"\n") + 1
        if not end and len(data) >= BLOCK:
            end = len(data)
        if not end:
            rest = data
            continue
        rest = data[end:]
        whole = data[:end]
        lines = whole.count(b"\n")
        yield Block(cleaner.clean(whole), number, raw)
        raw = 0
        number += lines
    data = rest + b"".join(gathered) + cleaner.finish()
    if data or raw:
        yield Block(cleaner.clean(data), number, raw)
