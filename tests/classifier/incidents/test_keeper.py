"""What is kept of a log while it streams by: enough, and no more than that."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.classifier.pack.logs import FAILURE, failing, prefixed
from vllm_triage.classifier.api import shared, triage
from vllm_triage.classifier.incidents.keeper import AROUND, EARLIEST, HEAD, LATEST, WHOLE, Keeper, Stretch, sliced
from vllm_triage.classifier.input.read import Chunks, read_blocks
from vllm_triage.classifier.report.pack.material import MOST, SMALL, Material

FILLER = "".join(f"INFO 11-02 09:14:01 [a.py:1] request {number} was answered\n" for number in range(20_000)).encode()


def test_a_failure_in_the_middle_of_a_large_log_is_shown_with_its_number() -> None:
    """Its block is gone when the answer is made; what surrounds it stays."""
    lines = failing(before=3, after=0)[:-1]
    text = b"".join([FILLER * 4, "\n".join(lines).encode() + b"\n", FILLER * 8])
    pack = triage(text).pack()
    number = next(line.line for line in pack.lines if line.text == FAILURE)

    assert len(text) > 4 * WHOLE
    assert text.split(b"\n")[number - 1].decode().endswith(FAILURE)


def test_what_is_kept_is_bounded() -> None:
    """However long the log is, and however often rules stop in it."""

    def pieces() -> Iterator[bytes]:
        trouble = "".join(
            prefixed("EngineCore_DP0", 2, f"cannot do case {number}") + "\n" for number in range(2_000)
        ).encode()
        for _ in range(30):
            yield FILLER
            yield trouble

    session = shared().start()
    most = 0
    for block in read_blocks(Chunks(pieces())):
        session.feed(block)
        most = max(most, sum(len(stretch.data) for stretch in session.keeper.stretches()))
    report = shared().conclude(session)

    assert session.keeper.total > 30_000_000
    assert most <= WHOLE + (1 << 20) + HEAD + (EARLIEST + LATEST) * 3 * AROUND
    assert isinstance(report.kept, Material)
    assert sum(len(stretch.data) for stretch in report.kept.stretches) <= MOST + (1 << 16)


def test_a_small_log_is_kept_as_it_is() -> None:
    report = triage("\n".join(failing()))

    assert isinstance(report.kept, Material)
    assert report.kept.whole
    assert sum(len(stretch.data) for stretch in report.kept.stretches) < SMALL


def test_a_live_log_has_a_pack_at_any_time_and_goes_on() -> None:
    """A look at the answer so far changes nothing in the one at the end."""
    lines = [line + "\n" for line in failing(before=60, after=60)]
    session = shared().start()
    for block in read_blocks(Chunks(piece for line in lines for piece in (line.encode(), b""))):
        session.feed(block)
        if block.number in (5, 90, 150):
            assert shared().peek(session).pack().lines[-1].line <= block.number + 1
    looked_at = shared().conclude(session).pack().text()

    assert looked_at == triage("".join(lines)).pack().text()


def test_every_start_of_a_log_has_a_pack_of_its_own_lines() -> None:
    one = "\n".join(failing()) + "\n"
    starts = list(shared().starts(one + one.replace("harbor", "anchor")))
    packs = [start.report.pack() for start in starts]

    assert 2 == len(packs)
    for start, pack in zip(starts, packs, strict=True):
        assert start.first <= pack.lines[0].line
        assert pack.lines[-1].line <= start.last


@pytest.mark.parametrize("spans", [[(0, 5)], [(3, 4), (30, 31)], [(0, 100)], [(99, 200)], [(-5, 2), (1, 9)]])
def test_stretches_hold_whole_lines_with_their_numbers(spans: list[tuple[int, int]]) -> None:
    lines = [f"line {number}" for number in range(1, 20)]
    whole = Stretch(1, "\n".join(lines).encode() + b"\n")

    for part in sliced(whole, spans):
        for offset, text in enumerate(part.data.decode().split("\n")):
            assert not text or f"line {part.number + offset}" == text


def test_blocks_of_a_slow_stream_are_joined() -> None:
    """A log that arrives line by line does not become a list of a million blocks."""
    keeper = Keeper()
    for block in read_blocks(Chunks(piece for number in range(3_000) for piece in (b"line %d\n" % number, b""))):
        keeper.extend(block, list)

    assert len(keeper.stretches()) < 10
    assert sys.getsizeof(keeper) < 1_000
