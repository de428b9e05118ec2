"""Lines around the deciding one, and answers before the log is over."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.input.read import Block, Chunks, read_blocks

CAUSE = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`."


def _log(before: int, after: int) -> str:
    lines = [f"INFO 11-02 09:15:01 [loader.py:{number}] quiet line {number}" for number in range(1, before + 1)]
    lines.append(f"(EngineCore pid=7) ERROR 11-02 09:15:01 [core.py:1] {CAUSE}")
    lines += [f"(APIServer pid=3) INFO 11-02 09:15:01 [a.py:1] later {number}" for number in range(after)]
    return "\n".join(lines) + "\n"


def test_context_holds_the_lines_around_the_deciding_one() -> None:
    """Numbers are those of the log, the process is told."""
    context = shared().report(_log(100, 50)).context

    assert [line.line for line in context] == list(range(95, 110))
    assert context[0].text.endswith("quiet line 95")
    assert (context[6].line, context[6].process) == (101, "EngineCore")
    assert context[7].process == "APIServer"


def test_context_at_the_ends_of_a_log_is_what_there_is() -> None:
    assert [line.line for line in shared().report(_log(0, 0)).context] == [1]


@pytest.mark.parametrize("seed", range(8))
def test_context_is_the_same_however_the_log_arrives(seed: int) -> None:
    """A block may end anywhere near the line: what came before and what comes after is put together."""
    data = _log(40, 40).encode()
    chance = random.Random(seed)

    def pieces() -> Iterator[bytes]:
        at = 0
        while at < len(data):
            size = chance.choice([1, 30, 70, 200, 900])
            yield data[at : at + size]
            if chance.random() < 0.7:
                yield b""  # hand on what there is
            at += size

    assert shared().report(data).context == shared().report(Chunks(pieces())).context


def test_secrets_in_context_are_masked() -> None:
    log = "export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzABCDEFGH\n" + _log(0, 0)

    assert "abcdefghij" not in str(shared().report(log).context)


def test_an_empty_piece_hands_on_what_was_gathered() -> None:
    """A log that is written slowly is answered while it comes in."""
    read: list[bytes] = []

    def pieces() -> Iterator[bytes]:
        for number in range(3):
            yield f"line {number}\nhalf".encode()
            yield b""
            read.append(b"".join(block.data for block in blocks))

    blocks: list[Block] = []
    for block in read_blocks(Chunks(pieces())):
        blocks.append(block)  # noqa: PERF402 - what was handed on is looked at meanwhile

    assert b"line 1\n" in read[2]
    assert b"line 0\nhalfline 1\nhalfline 2\nhalf" == b"".join(block.data for block in blocks)


def test_a_look_at_the_answer_so_far_changes_nothing() -> None:
    """The final answer is that of a log that nobody looked at before its end."""
    engine = shared()
    log = "INFO 11-02 09:15:01 [a.py:1] vLLM API server version 0.11.0\n" + _log(200, 5)
    analysis = engine.start()
    for number, line in enumerate(log.splitlines(keepends=True), 1):
        analysis.feed(Block(line.encode(), number, len(line)))
        early = engine.peek(analysis)
        assert ("kv_cache_oom" if number > 201 else "no_failure") == early.bucket

    assert engine.report(log).to_dict() == engine.conclude(analysis).to_dict()


def test_a_look_at_nothing_is_refused() -> None:
    engine = shared()

    with pytest.raises(InputError, match="empty"):
        engine.peek(engine.start())
