"""zstd data that end within a frame are told from whole ones."""

from __future__ import annotations

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.input.read import read_blocks
from vllm_triage.classifier.input.zstd_frames import ZstdFrames

TEXT = b"".join(b"INFO 11-02 10:00:%02d [a.py:%d] step %d\n" % (at % 60, at, at * 7919) for at in range(200))
SKIPPED = b"\x5e\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"extra"
KINDS = {
    "plain": {},
    "with a check sum": {"write_checksum": True},
    "without its size": {"write_content_size": False},
    "of the best level": {"level": 19},
}


def whole(data: bytes, step: int = 1 << 20) -> bool:
    """Feed data in pieces."""
    frames = ZstdFrames()
    for start in range(0, len(data), step):
        frames.feed(data[start : start + step])
    return frames.whole


@pytest.mark.parametrize("kind", KINDS)
@given(
    text=st.sampled_from((b"", b"x", TEXT, bytes(300_000))), share=st.floats(0, 1), step=st.sampled_from((1, 3, 4096))
)
def test_data_are_whole_where_a_frame_ends_and_nowhere_else(kind: str, text: bytes, share: float, step: int) -> None:
    """Whatever the options, the pieces, and where they are cut; a skippable frame between two counts as one."""
    one = zstandard.ZstdCompressor(**KINDS[kind]).compress(text)  # type: ignore[arg-type]
    data = one + SKIPPED + one
    cut = int(len(data) * share)

    assert whole(data, step)
    assert whole(data[:cut], step) == (cut in (0, len(one), len(one + SKIPPED), len(data)))


def test_what_is_no_frame_is_left_to_the_decompressor() -> None:
    assert whole(b"no frame of zstd's, and long enough")


@pytest.mark.parametrize("less", [0, 3, 50])
def test_a_log_whose_last_frame_is_cut_has_broken_off(less: int) -> None:
    data = zstandard.ZstdCompressor().compress(TEXT) * 2
    blocks = list(read_blocks(data[: len(data) - less]))

    assert bool(less) == blocks[-1].broken_off
    assert b"".join(block.data for block in blocks).startswith(TEXT)
