"""A weave gives back every release's lines as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.training.fingerprint.weave import FOREVER, Block, Weave

FILES = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=12), min_size=1, max_size=6)


def woven(files: list[list[str]]) -> Weave:
    """Return the weave of a file's states, one a release."""
    weave = Weave()
    for release, lines in enumerate(files):
        weave.add(release, lines)
    return weave


@given(FILES)
def test_each_release_is_given_back(files: list[list[str]]) -> None:
    """Whatever came and went, and came again."""
    weave = woven(files)

    assert files == [weave.lines(release) for release in range(len(files))]


@given(FILES)
def test_blocks_hold_each_line_once(files: list[list[str]]) -> None:
    """Put together, the blocks of a release are its lines."""
    blocks = list(woven(files).blocks())

    assert files[-1] == [line for block in blocks if block.died == FOREVER for line in block.lines]
    assert all(block.lines and block.born < block.died for block in blocks)


def test_lines_of_the_same_releases_are_one_block() -> None:
    """A line put between others parts them; what stood together before and after is two blocks."""
    assert [
        Block(0, FOREVER, ("a",)),
        Block(1, FOREVER, ("x",)),
        Block(0, FOREVER, ("b", "c")),
    ] == list(woven([["a", "b", "c"], ["a", "x", "b", "c"]]).blocks())
