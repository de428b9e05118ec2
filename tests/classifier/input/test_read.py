"""What goes in as any kind of input comes out as blocks with the raw input's line numbers, in bounded memory."""

from __future__ import annotations

import io
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.input import read
from vllm_triage.classifier.input.damage import looks_damaged
from vllm_triage.classifier.input.read import Block, Chunks, LogFile, join_sources, read_blocks

LOG = b"INFO 11-02 10:00:00 [api_server.py:1] one\nValueError: two\n\nthree"


def text_of(source: Any) -> bytes:
    """Return what was read of a source, in one piece."""
    return b"".join(block.data for block in read_blocks(source))


def numbered(blocks: list[Block]) -> list[tuple[int, bytes]]:
    """Return the lines of blocks with their numbers."""
    lines: dict[int, bytes] = {}
    for block in blocks:
        for offset, line in enumerate(block.data.split(b"\n")):
            lines[block.number + offset] = lines.get(block.number + offset, b"") + line
    return sorted(lines.items())


@pytest.mark.parametrize(
    "source",
    [
        LOG,
        bytearray(LOG),
        memoryview(LOG),
        LOG.decode(),
        io.BytesIO(LOG),
        io.BufferedReader(io.BytesIO(LOG)),
        io.StringIO(LOG.decode()),
        io.TextIOWrapper(io.BytesIO(LOG)),
        Chunks([LOG[:1], b"", LOG[1:20], LOG[20:]]),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_kind_of_source_reads_the_same(source: object) -> None:
    """Text, bytes, files and pieces of one log give the same lines."""
    assert text_of(source) == LOG


@pytest.mark.parametrize("lines", [["one", "two\n"], [b"one\n", b"two"], (line for line in ("one", b"two"))])
def test_lines_are_joined_with_one_newline_each(lines: object) -> None:
    """An iterable of lines may or may not bring its newlines."""
    assert text_of(lines) == b"one\ntwo\n"


def test_path_is_read_and_text_is_not_taken_for_one(tmp_path: Path) -> None:
    """A path object names a file; a string is the log itself."""
    path = tmp_path / "server.log"
    path.write_bytes(LOG)
    assert text_of(path) == LOG
    assert text_of(LogFile(str(path))) == LOG
    assert text_of(str(path)) == str(path).encode()


def test_file_is_left_open_for_its_owner() -> None:
    """Reading from somebody's file object does not close it."""
    file = io.BytesIO(LOG)
    text_of(file)
    assert not file.closed


def test_text_file_keeps_the_carriage_returns_of_progress_bars(tmp_path: Path) -> None:
    """A file opened as text is read as bytes, as text mode would make lines of the steps of a bar."""
    path = tmp_path / "bars.log"
    path.write_bytes(b"10%\r20%\rdone\nnext\n")
    with path.open() as file:
        assert text_of(file) == b"10%\r20%\rdone\nnext\n"


def test_several_sources_count_their_lines_on(tmp_path: Path) -> None:
    """Joined logs read as ``cat`` would show them, with a newline added only where one is missing."""
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo")
    blocks = list(read_blocks(join_sources([path, b"three\n", b"", "four".encode("utf-16"), b"five"])))
    assert numbered(blocks) == [(1, b"one"), (2, b"two"), (3, b"three"), (4, b"four"), (5, b"five")]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: folder, "is a folder: name the log file in it"),
        (lambda folder: folder / "absent.log", "no such file"),
        (lambda folder: LogFile("a\0b"), "cannot be opened"),
        (lambda folder: LogFile("a" * 5000), "cannot be opened"),
    ],
    ids=["folder", "missing", "impossible name", "too long"],
)
def test_unreadable_path_says_what_to_do(tmp_path: Path, make: object, says: str) -> None:
    """What cannot be opened ends in one line of advice."""
    with pytest.raises(InputError, match=says) as caught:
        text_of(make(tmp_path))  # type: ignore[operator]
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_forbidden_file_says_what_to_do(tmp_path: Path) -> None:
    """A file of somebody else's names the way around."""
    path = tmp_path / "server.log"
    path.write_bytes(LOG)
    path.chmod(0)
    with pytest.raises(InputError, match="not permitted"):
        text_of(path)


class Broken(io.RawIOBase):
    """A file whose medium fails after a while."""

    def __init__(self) -> None:
        self._left = 1

    def read(self, size: int = -1) -> bytes:
        """Return some bytes once, then fail."""
        if self._left:
            self._left = 0
            return LOG
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize("source", [Broken(), 7, [1, 2], Chunks([None])], ids=["disk", "number", "numbers", "nothing"])  # type: ignore[list-item]
def test_what_is_no_log_ends_in_an_input_error(source: object) -> None:
    """Neither a failing disk nor a wrong argument shows a traceback."""
    with pytest.raises(InputError):
        text_of(source)


def test_closed_file_ends_in_an_input_error() -> None:
    """A file that was closed before it was read is an input error."""
    file = io.BytesIO(LOG)
    file.close()
    with pytest.raises(InputError, match="reading stopped"):
        text_of(file)


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        (b"\x7fELF\x02\x01\x01", "a program"),
        (b"%PDF-1.7", "a PDF"),
        (b"PK\x03\x04", "zip"),
        (b"BZh91AY&SY", "bzip2 data are damaged"),
        (b"\xfd7zXZ\0", "xz data are damaged"),
    ],
)
def test_other_formats_are_named(head: bytes, says: str) -> None:
    """Pictures, programs and archives are told apart and answered with what to do."""
    with pytest.raises(InputError, match=says):
        text_of(head + bytes(range(256)))


def test_binary_data_are_refused() -> None:
    """Random bytes are no log, and it is said so."""
    with pytest.raises(InputError, match="binary data"):
        text_of(random.Random(7).randbytes(20_000))


@given(st.binary(max_size=3000))
def test_any_bytes_end_in_blocks_or_an_input_error(data: bytes) -> None:
    """Whatever the bytes, reading raises nothing but an input error."""
    try:
        blocks = list(read_blocks(data))
    except InputError:
        return
    assert (
        sum(block.size for block in blocks) <= max(len(data), sum(len(block.data) for block in blocks))
        or data[:2] == b"\x1f\x8b"
    )


@given(
    st.lists(
        st.sampled_from([b"a", b"\n", b"\r\n", b"\r", b"word ", b"\xff", "é".encode(), b"\x1b[31m", b"{", b"}"]),
        max_size=200,
    )
)
def test_line_numbers_equal_a_naive_count(pieces: list[bytes]) -> None:
    """The number of newlines before a line is what its number says."""
    data = b"".join(pieces)
    blocks = list(read_blocks(data))
    # What was mended carries the numbers of its lines with it (test_mend_properties.py).
    assume(all(block.mended is None for block in blocks))
    assert [1, *(block.number + block.data.count(b"\n") for block in blocks)][: len(blocks)] == [
        block.number for block in blocks
    ]
    assert data.count(b"\n") == sum(block.data.count(b"\n") for block in blocks)


LINES = st.lists(
    st.sampled_from(
        [
            b"(EngineCore_DP0 pid=7) ERROR 11-02 10:00:00 [core.py:12] ValueError: boom",
            b'{"log":"INFO 11-02 10:00:00 [core.py:1] a\\n","stream":"stderr","time":"2025-11-02T10:00:00Z"}',
            b"\x1b[36mcoloured\x1b[0m",
            b"Loading: 10%|# | 1/9 [00:01<00:02, 1.5it/s](EngineCore pid=7) INFO 11-02 10:00:00 [core.py:1] a",
            b"\0\0\0hole",
            b"\xe4\xb8\xad\xe6\x96\x87 and \xff\xfe",
            b"INFO 11-02 10:00:00 [async_llm.py:1] Received request abc: prompt: 'Error: x'",
            b"INFO 11-02 10:00:00 a.py:1] a " * 30,
            b"x" * 700,
        ]
    ),
    min_size=1,
    max_size=40,
)


@given(LINES, st.lists(st.integers(min_value=1, max_value=3000), max_size=30))
def test_any_chunking_gives_the_same_content(lines: list[bytes], cuts: list[int]) -> None:
    """How the bytes arrive changes nothing of what is read; only an empty piece, which asks for what there is, may."""
    data = b"\n".join(lines)
    pieces, rest = [], data
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert text_of(data) == text_of(Chunks(piece for piece in (*pieces, rest) if piece))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in small blocks, so that little data crosses many borders."""
    monkeypatch.setattr(read, "BLOCK", 4096)
    monkeypatch.setattr(read, "MINIMUM", 1024)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("size", [1, 700, 4096, 5000])
def test_blocks_hold_whole_lines_and_count_on(size: int) -> None:
    """Over many blocks the lines and their numbers are those of the input."""
    data = b"".join(b"line %d %s\n" % (number, b"x" * (number % 90)) for number in range(1, 2000))
    blocks = list(read_blocks(Chunks(data[start : start + size] for start in range(0, len(data), size))))
    assert len(blocks) > 10
    assert list(enumerate(data.split(b"\n"), 1)) == numbered([*blocks, Block(b"", 2000, 0)])
    assert len(data) == sum(block.size for block in blocks)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "unit", [b"x", b"word and ", b"\r10%", "é".encode(), "中".encode()], ids=["x", "words", "bar", "two", "three"]
)
def test_endless_line_comes_in_pieces_that_cut_no_character(unit: bytes) -> None:
    """A line beyond all measure is handed on in bounded pieces of one line number."""
    data = unit * (50_000 // len(unit)) + b"\nValueError: after\n"
    blocks = list(read_blocks(data))
    assert data == b"".join(block.data for block in blocks)
    assert max(len(block.data) for block in blocks) <= 2 * read.BLOCK + read.MINIMUM
    assert {1, 2} >= {block.number for block in blocks}
    for block in blocks:
        block.data.decode()


def flood(unit: bytes, count: int) -> Iterator[bytes]:
    """Yield a piece many times without ever holding all."""
    for _ in range(count):
        yield unit


@pytest.mark.parametrize(
    "unit", [bytes(1 << 20), b"x" * (1 << 20), b"10%\r" * (1 << 18)], ids=["NUL", "no newline", "bar"]
)
def test_floods_pass_block_by_block(unit: bytes) -> None:
    """Megabytes of NULs, of one line, or of a bar never gather: blocks stay small and the error behind them is found."""
    source = Chunks(iter([*flood(unit, 20), b"\nValueError: boom\n"]))
    largest, last = 0, b""
    for block in read_blocks(source):
        largest, last = max(largest, len(block.data)), block.data
    assert largest <= 3 * read.BLOCK
    assert last.endswith(b"\nValueError: boom\n")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_are_told_by_their_bytes(encoding: str) -> None:
    """Byte order marks, and zero bytes where there is none, tell what PowerShell and editors wrote."""
    text = "INFO 11-02 10:00:00 [api_server.py:1] vLLM API server version 0.9.1\r\nValueError: naïve\n"
    data = text.encode(encoding)
    assert text.replace("\r\n", "\n").encode() == text_of(Chunks([data[:5], data[5:9], data[9:]]))


def test_signs_of_damage_are_looked_for_once_in_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found sound as it came is not looked at again as a block."""
    sizes: list[int] = []

    def noted(data: bytes) -> bool:
        sizes.append(len(data))
        return looks_damaged(data)

    monkeypatch.setattr(read, "looks_damaged", noted)
    data = b"INFO 11-02 10:00:00 [api_server.py:1] one\n" * 9000

    blocks = list(read_blocks([data]))

    assert [len(data)] == sizes
    assert [9000] == [block.newlines for block in blocks]
