"""The periodic lines are found wherever they stand, whatever the blocks, and each belongs to its start and its engine."""

from __future__ import annotations

from copy import deepcopy

import pytest

from vllm_triage.classifier.lines.tail import Tail
from vllm_triage.classifier.serving import recorder as module
from vllm_triage.classifier.serving.recorder import Recorder
from vllm_triage.classifier.serving.types import Records


def line(second: int, engine: str = "Engine 000: ", pid: int = 7, running: int = 3) -> str:
    stamp = f"05-01 {second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return (
        f"(APIServer pid={pid}) INFO {stamp} [loggers.py:123] {engine}Avg prompt throughput: 1.0 tokens/s, Avg generation"
        f" throughput: 20.0 tokens/s, Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: 1.5%\n"
    )


def read(text: str, size: int = 1 << 20) -> Records:
    """Read a log in blocks of whole lines, of about so many bytes."""
    recorder, tail, number = Recorder(), Tail(), 1
    data = text.encode()
    while data:
        cut = data.find(b"\n", size - 1) + 1 or len(data)
        block, data = data[:cut], data[cut:]
        recorder.read(block, number)
        number += block.count(b"\n")
        tail.extend(block, number)
    return recorder.finish(tail, number - 1) or Records()


def numbers(records: Records, engine: str = "000") -> list[int]:
    return [sample.line for sample in records.engines[engine]]


@pytest.mark.parametrize("size", [1, 300, 5000, 1 << 20])
def test_the_size_of_the_blocks_makes_no_difference(size):
    text = "".join(
        line(second) + 'INFO:     10.0.0.1:4 - "GET /health HTTP/1.1" 200 OK\n' for second in range(0, 400, 10)
    )

    found = read(text, size)

    assert ([*range(1, 81, 2)], 40) == (numbers(found), found.lines)
    assert {10.0} == {later.at - earlier.at for earlier, later in zip(*[iter(found.engines["000"])] * 2, strict=True)}


def test_of_a_long_log_stretches_are_read_and_its_end_whole(monkeypatch):
    """What lies between is like what is read; the last lines are what counts."""
    monkeypatch.setattr(module, "WHOLE", 20_000)
    monkeypatch.setattr(module, "STRETCH", 2_000)
    text = "".join(line(second) for second in range(3000))

    found = read(text, 20_000)

    assert 400 < found.lines < 900
    assert [*range(2937, 3001)] == numbers(found)[-64:]
    assert [*range(1, 25)] == numbers(found)[:24]


def test_each_engine_has_its_own_lines():
    text = "".join(line(second, engine) for second in range(0, 60, 10) for engine in ("Engine 000: ", "Engine 001: "))

    found = read(text + line(60, "2 Engines Aggregated: "))

    assert {"000": 6, "001": 6, "2 Engines Aggregated": 1} == {name: len(rows) for name, rows in found.engines.items()}
    assert 13 == found.lines


def test_many_engines_are_told_apart_and_no_more_than_that():
    text = "".join(line(0, f"Engine {engine:03d}: ") for engine in range(200))

    assert 16 == len(read(text).engines)


def test_the_server_that_speaks_last_is_judged():
    """A restart that left no mark: what its predecessor said is not part of its life."""
    found = read(line(0, pid=7) + line(10, pid=7) + line(60, pid=8))

    assert ([3], 1) == (numbers(found), found.lines)


def test_a_start_gets_its_own_lines_and_the_next_one_the_rest():
    recorder, tail = Recorder(), Tail()
    data = "".join(line(second) for second in range(0, 60, 10)).encode()
    recorder.read(data, 1)
    tail.extend(data, 7)

    first = recorder.cut(4)
    second = recorder.finish(tail, 6)

    assert first is not None
    assert second is not None
    assert ([1, 2, 3, 4], [5, 6]) == (numbers(first), numbers(second))
    assert (0, 6) == (first.end.line, second.end.line)


def test_a_log_without_such_lines_costs_no_more_than_the_look():
    recorder, tail = Recorder(), Tail()
    recorder.read(b"INFO 05-01 10:00:00 [x.py:1] Application startup complete.\n", 1)

    assert (None, None) == (recorder.cut(1), recorder.finish(tail, 1))


def test_how_the_log_goes_on_is_known():
    after = (
        'INFO:     10.0.0.1:4 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
        'INFO:     10.0.0.1:4 - "GET /health HTTP/1.1" 200 OK\n'
        "INFO 05-01 00:02:40 [logger.py:41] Received request cmpl-1\n"
    )

    found = read(line(60) + line(70) + after)

    assert (5, (3,)) == (found.end.line, found.end.answered)
    assert 90.0 == found.end.at - found.engines["000"][-1].at


def test_a_copy_can_be_finished_while_the_original_reads_on():
    recorder, tail = Recorder(), Tail()
    recorder.read(line(0).encode(), 1)
    copied = deepcopy(recorder)

    recorder.read(line(10).encode(), 2)

    assert ([1], [1, 2]) == (numbers(copied.finish(tail, 1)), numbers(recorder.finish(tail, 2)))  # type: ignore[arg-type]
