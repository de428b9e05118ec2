"""Compressed logs are read as they are, cut or damaged ones as far as they go, bombs in bounded pieces."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import random
import zlib
from collections.abc import Iterator

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.input import unpack
from vllm_triage.classifier.input.read import Chunks, join_sources, read_blocks

ZSTD_BLOCK = (128 << 10) * 1.2
"""Zstd hands out whole blocks; some slack for data that pack unevenly."""
WORDS = random.Random(1)
LOG = b"".join(
    b"INFO 11-02 10:00:00 [core.py:%d] %s\n" % (number, WORDS.randbytes(20).hex().encode()) for number in range(4000)
)


def zst(data: bytes) -> bytes:
    """Compress with zstd."""
    return zstandard.ZstdCompressor().compress(data)


PACKERS = pytest.mark.parametrize("pack", [gzip.compress, zst], ids=["gzip", "zstd"])
ALL = pytest.mark.parametrize(
    "pack", [gzip.compress, zst, lzma.compress, bz2.compress], ids=["gzip", "zstd", "xz", "bzip2"]
)


def text_of(data: bytes, size: int = 1 << 20) -> bytes:
    """Return what is read of compressed data that arrive in pieces."""
    pieces = (data[start : start + size] for start in range(0, len(data), size))
    return b"".join(block.data for block in read_blocks(Chunks(pieces)))


@ALL
@pytest.mark.parametrize("size", [1, 777, 1 << 20])
def test_compressed_log_reads_as_the_plain_one(pack: object, size: int) -> None:
    """What packed them is recognised by its bytes, in whatever pieces they arrive."""
    assert text_of(pack(LOG), size) == LOG  # type: ignore[operator]


@ALL
@pytest.mark.parametrize("size", [1, 5000, 1 << 20])
def test_rotated_logs_put_one_after_the_other_are_read_whole(pack: object, size: int) -> None:
    """Members and frames that follow one another are one log."""
    assert text_of(pack(LOG) + pack(b"") + pack(LOG), size) == LOG + LOG  # type: ignore[operator]


@PACKERS
@given(share=st.floats(min_value=0.3, max_value=0.99))
def test_cut_data_are_used_as_far_as_they_go(pack: object, share: float) -> None:
    """A download that broke off is no error: what arrived is read."""
    data = pack(LOG)  # type: ignore[operator]
    read = text_of(data[: int(len(data) * share)])
    assert LOG.startswith(read)
    assert len(read) > len(LOG) * share - ZSTD_BLOCK


@pytest.mark.parametrize("pack", [lzma.compress, bz2.compress], ids=["xz", "bzip2"])
def test_cut_streams_are_used_and_told(pack: object) -> None:
    """The stream that is whole is read, and that the next one broke off is said."""
    data = pack(LOG)  # type: ignore[operator]
    blocks = list(read_blocks(data + data[: len(data) // 2]))
    assert b"".join(block.data for block in blocks).startswith(LOG)
    assert blocks[-1].broken_off


@pytest.mark.parametrize("pack", [lzma.compress, bz2.compress], ids=["xz", "bzip2"])
def test_strangers_after_a_whole_stream_are_told_as_damage(pack: object) -> None:
    """What was read stands."""
    blocks = list(read_blocks(pack(LOG) + b"no stream of its kind"))  # type: ignore[operator]
    assert b"".join(block.data for block in blocks) == LOG
    assert blocks[-1].broken_off


def test_streams_of_xz_may_be_padded() -> None:
    """Its format allows NULs between streams, in fours."""
    blocks = list(read_blocks(lzma.compress(LOG) + bytes(8)))
    assert b"".join(block.data for block in blocks) == LOG
    assert not blocks[-1].broken_off


def test_gzip_data_with_a_wrong_check_sum_are_used() -> None:
    """A check sum that does not fit comes after all the data."""
    assert text_of(gzip.compress(LOG)[:-8] + bytes(8)) == LOG


def test_gzip_data_damaged_in_the_middle_are_used_up_to_there() -> None:
    """What stands before the damage is read."""
    data = bytearray(gzip.compress(LOG, 1))
    data[len(data) // 2 : len(data) // 2 + 2000] = b"\xff" * 2000
    read = text_of(bytes(data))
    assert LOG[: len(LOG) // 3] == read[: len(LOG) // 3]


def test_padding_and_strangers_after_gzip_data_are_left_out() -> None:
    """NULs of a tape or a block device, and whatever else follows, are no part of the log."""
    assert text_of(gzip.compress(LOG) + bytes(5000) + b"signature", 1000) == LOG


@pytest.mark.parametrize(
    "data", [b"\x1f\x8b\x08\0" + b"\xff" * 50, b"\x28\xb5\x2f\xfd" + b"\xff" * 50], ids=["gzip", "zstd"]
)
def test_data_damaged_from_the_start_say_what_to_do(data: bytes) -> None:
    """Where nothing can be read, one line says so."""
    with pytest.raises(InputError, match="again"):
        text_of(data)


def gzip_bomb() -> Iterator[bytes]:
    """Yield a few kilobytes that are many megabytes."""
    engine = zlib.compressobj(9, wbits=31)
    for _ in range(64):
        yield engine.compress(bytes(1 << 20))
    yield engine.flush()


def zstd_bomb() -> Iterator[bytes]:
    """Yield a few kilobytes that are many megabytes."""
    engine = zstandard.ZstdCompressor(level=19).compressobj()
    for _ in range(64):
        yield engine.compress(bytes(1 << 20))
    yield engine.flush()


@pytest.mark.parametrize(
    ("unpacked", "bomb"), [(unpack.gunzip, gzip_bomb), (unpack.unzstd, zstd_bomb)], ids=["gzip", "zstd"]
)
def test_bombs_come_in_bounded_pieces(unpacked: object, bomb: object) -> None:
    """No piece is larger than asked for, however small the data that it comes from."""
    sizes = [len(piece) for piece in unpacked(iter([b"".join(bomb())]))]  # type: ignore[operator]
    assert sum(sizes) == 64 << 20
    assert max(sizes) <= unpack.OUTPUT


@given(st.binary(max_size=400), st.sampled_from([b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"]))
def test_any_bytes_behind_a_magic_end_in_text_or_an_input_error(data: bytes, magic: bytes) -> None:
    """Garbage that looks compressed shows no traceback."""
    with contextlib.suppress(InputError):
        assert isinstance(text_of(magic + data), bytes)


def cut_off(data: bytes) -> list[bool]:
    return [block.broken_off for block in read_blocks(data)]


@pytest.mark.parametrize("share", [0.2, 0.7, 0.999])
def test_gzip_data_that_were_cut_say_so_after_what_could_be_read(share: float) -> None:
    data = gzip.compress(LOG)
    assert [True] == [told for told in cut_off(data[: int(len(data) * share)]) if told]


def test_gzip_data_that_are_damaged_further_on_say_so() -> None:
    data = bytearray(gzip.compress(LOG, 1))
    data[len(data) // 2 : len(data) // 2 + 2000] = b"\xff" * 2000
    assert cut_off(bytes(data))[-1]


@PACKERS
def test_whole_data_do_not_break_off(pack: object) -> None:
    assert not any(cut_off(pack(LOG)))  # type: ignore[operator]


def test_a_log_that_is_packed_twice_and_cut_says_so() -> None:
    assert cut_off(gzip.compress(gzip.compress(LOG)[:-2000]))[-1]


def test_of_several_sources_the_one_that_broke_off_is_told() -> None:
    blocks = list(read_blocks(join_sources([gzip.compress(LOG)[:-500], LOG])))
    assert 1 == sum(block.broken_off for block in blocks)
    assert blocks[-1].data.endswith(LOG[-20:])
