"""Any input to blocks of bytes that end at a line end, in bounded memory.

A block holds whole lines, cleaned so that the scanner meets plain text: no colours, no NULs, UTF-8, one message a line.
Cleaning never changes the number of newlines, so line numbers are those of the raw input; what must be split within one
raw line is split with a carriage return.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator

from ...corpus.records import Record, field, record, replace
from ..errors import InputError
from .damage import looks_damaged
from .decode import Cleaner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypeAlias, TypeGuard

    from .numbers import Mended

    class File(Protocol):
        """An open file, or whatever can be read like one."""

        def read(self, size: int = ..., /) -> bytes | str:
            """Return up to ``size`` bytes or characters; nothing at the end."""


BLOCK = 1 << 20
"""Bytes read at a time; a line longer than this is handed on in pieces."""
MINIMUM = 1 << 18
"""Pipes hand out 64 KiB: gather this much before scanning."""
HEAD = 4096
"""Bytes that tell what the input is."""

READ_AS_THEY_ARE = "gzip, zstd, xz and bzip2 are read as they are"
_FOREIGN = (
    (b"PK\x03\x04", f"a zip archive: unpack it first ({READ_AS_THEY_ARE})"),
    (b"7z\xbc\xaf", f"a 7z archive: unpack it first ({READ_AS_THEY_ARE})"),
    (b"\x04\x22\x4d\x18", f"lz4: unpack it first ({READ_AS_THEY_ARE})"),
    (b"\x89PNG\r\n", "a picture: give the log as text"),
    (b"\xff\xd8\xff", "a picture: give the log as text"),
    (b"GIF8", "a picture: give the log as text"),
    (b"%PDF-", "a PDF: give the log as text"),
    (b"\x7fELF", "a program, not a log: give what it prints (vllm serve … 2>&1 | vllm-triage -)"),
    (b"SQLite format 3", "a database, not a log: give the server's output as text"),
)
"""What people take for a log, by its first bytes, and what to do about it."""
_CONTROL = bytes(set(range(1, 32)) - set(b"\t\n\r\b\a\f\v\x1b")) + b"\x7f"


@record(frozen=True)
class Block(Record):
    """A run of whole lines (or a piece of one endless line)."""

    data: bytes
    number: int
    """1-based number of the first line in the raw input."""
    size: int
    """Raw bytes that it stands for."""
    mended: Mended | None = None
    """Where lines were split or joined: their numbers in the raw input."""
    broken_off: bool = False
    """Whether compressed data were cut or damaged after it: the log went on."""
    newlines: int = field(default=-1, compare=False)
    """Newlines in ``data``; -1 where nobody has counted them."""


class LogFile:
    """A path as text, where plain text would be taken for the log itself."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return self._path


class Chunks:
    """Bytes as they arrive, in pieces that need not end at line ends.

    An empty piece asks for what was gathered to be handed on: the rest may be long in coming.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = pieces


class Joined:
    """Several sources as one log: each is decompressed and cleaned for itself, lines are counted on."""

    def __init__(self, sources: Iterable[LogSource]) -> None:
        self.sources = sources


Text: TypeAlias = str | bytes | bytearray | memoryview
LogSource: TypeAlias = "Text | os.PathLike[str] | File | Iterable[Text] | Chunks | Joined"
"""What a log can be read from: the log itself, a path object, an open file, its lines."""


class Unpacked:
    """What compressed data hold, and whether they broke off.

    Args:
        pieces: Decompressed; returns whether the data went on where they could be read no more.
    """

    def __init__(self, pieces: Generator[bytes, None, bool]) -> None:
        self._pieces = pieces
        self.broken_off = False

    def __iter__(self) -> Iterator[bytes]:
        self.broken_off = yield from self._pieces


def join_sources(sources: Iterable[LogSource]) -> Joined:
    """Return several sources as one log, a line end between them where the one before has none."""
    return Joined(sources)


def read_blocks(source: LogSource) -> Iterator[Block]:
    """Yield the blocks of ``source``.

    Args:
        source: A path, ``bytes``, ``str`` (the log itself), a binary or text file, or an iterable of lines (``str`` or
        ``bytes``). A file
            is read from where it stands, and not closed.

    Raises:
        InputError: It cannot be opened, is no log, or cannot be decompressed. Where compressed data are cut or damaged
        further on, what could
            be read is used.
    """
    if isinstance(source, Joined):
        yield from _joined_blocks(source.sources)
        return
    head, chunks, packed = _plain(_chunks(source))
    _refuse_foreign(head)
    number = 1
    for block in _blocks(_chain(head, chunks)):
        number = block.number + block.newlines
        yield block
    if any(part.broken_off for part in packed):
        yield Block(b"", number, 0, broken_off=True)


def unpacked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield bytes of any kind as they are when they are decompressed; an archive stays one."""
    head, rest, _ = _plain(pieces)
    yield head
    yield from rest


def _plain(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes], list[Unpacked]]:
    """Return the start of what is decompressed, the rest, and what was decompressed on the way."""
    head, chunks = _peek(chunks)
    packed: list[Unpacked] = []
    # Once more for a file that was compressed twice, by the program and by who sent it.
    for _ in range(2):
        if (unpack := _unpacker(head)) is None:
            break
        packed.append(Unpacked(unpack(_chain(head, chunks))))
        head, chunks = _peek(iter(packed[-1]))
    return head, chunks, packed


def _joined_blocks(sources: Iterable[LogSource]) -> Iterator[Block]:
    before, unfinished = 0, False
    for source in sources:
        lines = 0
        for block in read_blocks(source):
            if not block.data:
                if block.broken_off:
                    yield replace(block, number=before + block.number)
                continue
            if unfinished and not lines:
                yield Block(b"\n", before, 0)
            yield replace(block, number=before + block.number)
            unfinished = not block.data.endswith(b"\n")
            lines = block.number - 1 + block.data.count(b"\n") + unfinished
        before += lines


def _peek(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return enough of the start to tell what it is, and the rest."""
    head = b""
    while len(head) < HEAD:
        chunk = next(chunks, None)
        if chunk is None or (head and not chunk):
            break
        head += chunk
    return head, chunks


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _refuse_foreign(head: bytes) -> None:
    for magic, advice in _FOREIGN:
        if head.startswith(magic):
            raise InputError(f"the input is {advice}")
    if len(head) >= 512 and not head.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" * 8 not in head:
        control = len(head) - len(head.translate(None, _CONTROL))
        if control > len(head) // 20:
            raise InputError("the input is binary data, not a log: give the server's output as text")


def utf8(text: str) -> bytes:
    """Return a text as bytes: bytes that were smuggled through as halves of surrogates as they were, other halves replaced."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _chunks(source: LogSource) -> Iterator[bytes]:
    """Return the bytes of any source, in pieces of at most a block."""
    if isinstance(source, str):
        source = utf8(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _sliced([source])
    if isinstance(source, Chunks):
        return _sliced(source.pieces)
    if isinstance(source, os.PathLike):
        return _opened_chunks(source)
    if _is_file(source):
        return _sliced(_file_chunks(source))
    if isinstance(source, Iterable):
        return _sliced(_line_chunks(source))
    raise InputError(f"cannot read a log from {type(source).__name__}: give a path, text, bytes, a file or lines")


def _is_file(source: object) -> TypeGuard[File]:
    return hasattr(source, "read")


def _sliced(pieces: Iterable[object]) -> Iterator[bytes]:
    for piece in pieces:
        data = _as_bytes(piece)
        if len(data) <= BLOCK:
            yield bytes(data)
            continue
        for start in range(0, len(data), BLOCK):
            yield bytes(data[start : start + BLOCK])


def _as_bytes(piece: object) -> bytes | bytearray | memoryview:
    if isinstance(piece, (bytes, bytearray)):
        return piece
    if isinstance(piece, str):
        return utf8(piece)
    if isinstance(piece, memoryview):
        return piece.cast("B") if piece.contiguous else piece.tobytes()
    raise InputError(f"cannot read a log from pieces of type {type(piece).__name__}: give text or bytes")


def _opened_chunks(source: os.PathLike[str]) -> Iterator[bytes]:
    path = os.fspath(source)
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):  # noqa: PTH116 - pathlib would slow the start down
            raise InputError(f"{path} is a folder: name the log file in it")
        file = open(path, "rb", buffering=0)  # noqa: PTH123, SIM115 - closed below
    except FileNotFoundError:
        raise InputError(f"{path}: no such file (check the name; - reads standard input)") from None
    except PermissionError:
        raise InputError(
            f"{path}: not permitted to read it (run as its owner, or pipe it in: sudo cat FILE | vllm-triage -)"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: cannot be opened ({getattr(error, 'strerror', None) or error}); copy it to a plain file first"
        ) from None
    with file:
        yield from _sliced(_file_chunks(file))


def _file_chunks(file: File) -> Iterator[bytes | str]:
    if isinstance(file, io.TextIOWrapper):
        # Text mode would turn the carriage returns of progress bars into lines.
        file = file.buffer
    read = getattr(file, "read1", file.read)
    while True:
        try:
            chunk = read(BLOCK)
        except (OSError, ValueError) as error:
            raise InputError(f"reading stopped: {getattr(error, 'strerror', None) or error}") from None
        if not chunk:
            return
        yield chunk


def _line_chunks(lines: Iterable[object]) -> Iterator[bytes]:
    gathered: list[bytes] = []
    size = 0
    for line in lines:
        data = bytes(_as_bytes(line))
        gathered.append(data if data.endswith(b"\n") else data + b"\n")
        size += len(data) + 1
        if size >= MINIMUM:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def _unpacker(head: bytes) -> Callable[[Iterator[bytes]], Generator[bytes, None, bool]] | None:
    """Return the function that decompresses what begins like ``head``, or None."""
    if head.startswith(b"\x1f\x8b\x08"):
        from .unpack import gunzip

        return gunzip
    if head.startswith(b"\x28\xb5\x2f\xfd") or (head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50):
        from .unpack import unzstd

        return unzstd
    if head.startswith(b"\xfd7zXZ\0"):
        from .unpack import unxz

        return unxz
    if head.startswith(b"BZh") and head[4:10] in (b"1AY&SY", b"\x17\x72E8P\x90"):
        from .unpack import unbzip2

        return unbzip2
    return None


def _blocks(chunks: Iterator[bytes]) -> Iterator[Block]:
    cleaner = Cleaner()
    number = 1
    rest = b""
    gathered: list[bytes] = []
    size = raw = seen = 0
    least = MINIMUM
    sound = False
    for chunk in chunks:
        raw += len(chunk)
        text = cleaner.decode(chunk)
        gathered.append(text)
        size += len(text)
        if size < least and (chunk or not size):
            continue
        rest += b"".join(gathered)
        gathered, size = [], 0
        if not seen:
            if chunk and least < BLOCK:
                sound = not looks_damaged(rest)
                if not sound:
                    # What is damaged is mended as a whole, if it is no larger than a block.
                    gathered, size, rest, least = [rest], len(rest), b"", BLOCK
                    if size < least:
                        continue
            cleaner.look(rest)
        while end := _end_of_block(rest):
            data, rest = rest[:end], rest[end:]
            # Whole lines of what has no sign of damage have none either, unless little of it is left.
            sound = sound and 2 * end >= MINIMUM and b"\n" in data[:-1]
            block = _block(data, cleaner, number, raw, BLOCK if sound else seen)
            sound = False
            yield block
            number += block.newlines
            seen, raw, least = seen + len(data), 0, MINIMUM
    data = rest + b"".join(gathered) + cleaner.finish()
    if not seen:
        cleaner.look(data)
    if data or raw:
        yield _block(data, cleaner, number, raw, seen)


def _block(data: bytes, cleaner: Cleaner, number: int, raw: int, seen: int) -> Block:
    if seen < BLOCK and looks_damaged(data):
        from .mending.mend import mend

        if (text := mend(data, cleaner)) is not None:
            return Block(text.data, number, raw, text.mended, newlines=text.data.count(b"\n"))
    # Cleaning keeps the newlines, and there is less left to count.
    data = cleaner.clean(data)
    return Block(data, number, raw, newlines=data.count(b"\n"))


def _end_of_block(data: bytes) -> int:
    """Return where to cut (0: not yet): after the last newline; in an endless line, after a carriage return or space."""
    end = data.rfind(b"\n") + 1
    if end or len(data) <= BLOCK:
        return end
    end = data.rfind(b"\r", 0, BLOCK) + 1 or data.rfind(b" ", BLOCK - HEAD, BLOCK) + 1
    if end:
        return end
    end = BLOCK
    while end > BLOCK - 4 and data[end] & 0xC0 == 0x80:
        # Not within a character.
        end -= 1
    return end
