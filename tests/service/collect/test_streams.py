"""Streams as time goes by: what is told of them, when, and once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.collect.conftest import LOG
from vllm_triage.classifier.api import shared
from vllm_triage.corpus.store import HERE
from vllm_triage.service.collect.entries import StreamName
from vllm_triage.service.collect.streams import GATHER, LOOK_EVERY, SILENT, Streams, Verdict

A, B, C = (StreamName(pod=name) for name in "abc")
CAUSE = "kv_cache_oom/context_exceeds_cache"
HEALTHY = 'INFO:     Application startup complete.\nINFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'


@pytest.fixture
def streams() -> Streams:
    return Streams(shared(), 3)


def put(streams: Streams, name: StreamName, text: str, now: float) -> list[Verdict]:
    return list(streams.take(name, text.encode(), now))


def told(streams: Streams, *moments: float) -> list[tuple[str, str, str]]:
    return [(found.stream.pod, found.kind, found.report.cause) for now in moments for found in streams.tick(now)]


def test_a_cause_is_told_once_when_the_stream_has_settled(streams):
    put(streams, A, LOG, 0.0)

    assert told(streams, 0.6, 1.0) == []
    assert told(streams, 2.6, 3, 20, 400) == [("a", "cause", CAUSE)]


def test_a_stream_that_goes_on_is_looked_at_now_and_then(streams):
    put(streams, A, LOG, 0.0)
    found = []
    for second in range(1, 20):
        put(streams, A, "INFO: more\n", float(second))
        found += [(second, *item) for item in told(streams, float(second))]

    assert [item[1:] for item in found] == [("a", "cause", CAUSE)]
    assert found[0][0] <= LOOK_EVERY + GATHER


def test_streams_do_not_mix(streams):
    lines = LOG.splitlines(keepends=True)
    for number, line in enumerate(lines):
        put(streams, A, line, number / 100)
        put(streams, B, HEALTHY, number / 100)

    assert told(streams, 1, 5, 20) == [("a", "cause", CAUSE)]
    assert told(streams, 400, 401) == []


def test_lines_in_pieces_give_the_answer_of_the_whole(streams):
    """Numbers of lines, too."""
    verdicts: list[Verdict] = []
    for number, line in enumerate(LOG.splitlines(keepends=True)):
        put(streams, A, line, number * 1.0)
        verdicts += streams.tick(number * 1.0)
    verdicts += streams.tick(1000.0)
    (found,) = verdicts
    whole = shared().report(LOG)

    assert (found.report.cause, found.report.evidence[0].line) == (whole.cause, whole.evidence[0].line)


def test_what_was_not_certain_is_told_when_the_stream_falls_silent(streams):
    put(
        streams,
        A,
        "INFO 01-01 00:00:00 [api_server.py:1] vLLM API server version 0.19.1\nOddError: no such thing\n",
        0.0,
    )
    early = told(streams, 3, 30, SILENT - 1)
    late = told(streams, SILENT + 1, SILENT + 2, 2 * SILENT)

    assert [kind for _, kind, _ in early + late] == ["end"]


def test_a_failure_that_is_over_is_withdrawn_and_a_new_one_told(streams):
    """The container was started again and works; then it fails."""
    put(streams, A, LOG, 0.0)
    put(streams, A, "", 1.0)
    first = told(streams, 5)
    put(streams, A, LOG.partition("Traceback")[0] + HEALTHY * 3, 10.0)
    second = told(streams, 16, 17, 20)

    assert first == [("a", "cause", CAUSE)]
    assert [kind for _, kind, _ in second] in ([], ["withdrawn"])


def test_the_one_silent_for_longest_makes_room_and_is_answered(streams):
    put(streams, A, LOG, 0.0)
    for name, now in ((B, 1.0), (C, 2.0), (B, 3.0)):
        put(streams, name, HEALTHY, now)
    found = put(streams, StreamName(pod="d"), HEALTHY, 4.0)

    assert [(verdict.stream, verdict.kind, verdict.report.cause) for verdict in found] == [(A, "end", CAUSE)]
    assert len(streams) == 3


def test_only_so_many_are_looked_at_before_lines_are_taken_again(streams):
    for name in (A, B, C):
        put(streams, name, LOG, 0.0)
    list(streams.tick(1.0))

    assert [len(list(streams.tick(5.0, looks=2))) for _ in range(3)] == [2, 1, 0]


def test_everything_is_told_at_the_end(streams):
    put(streams, A, LOG, 0.0)
    put(streams, B, HEALTHY, 0.0)

    assert [(found.stream, found.kind) for found in streams.close(0.1)] == [(A, "end")]
    assert list(streams.close(0.2)) == []


def test_a_line_without_end_is_cut(streams):
    """What waits is bounded, whatever comes as one line."""
    put(streams, A, "x" * 3_000_000 + "\n" + LOG, 0.0)

    assert told(streams, 1, 5) == [("a", "cause", CAUSE)]
    assert streams._streams[A].size == 0


OTHERS = sorted((Path(__file__).parent / "others").glob("*.log"))
"""What other programs print, recorded while they worked, failed, or were started in the wrong way."""


def _all(streams: Streams, log: bytes, name: StreamName = A) -> list[Verdict]:
    """Return what is told of a stream to its end."""
    return [*streams.take(name, log, 0.0), *streams.tick(5.0), *streams.tick(400.0), *streams.close(500.0)]


def test_other_programs_are_told_of_to_nobody():
    """Redis, PostgreSQL, Java, Go, Django …: neither their failures nor that they are not known."""
    assert len(OTHERS) >= 60
    assert {path.stem: found for path in OTHERS if (found := _all(Streams(shared(), 3), path.read_bytes()))} == {}


@pytest.mark.slow
def test_every_failure_of_vllm_is_told():
    """Whatever the container is called, and however early it failed; some recorded programs use torch without vLLM."""
    logs = [path.read_bytes() for path in sorted((Path(HERE) / "logs" / "recorded").rglob("*.log"))[::12]]
    assert len(logs) > 30
    assert [
        log
        for log in logs
        if b"vllm" in log.lower() and shared().report(log).failed and not _all(Streams(shared(), 3), log)
    ] == []


def test_a_container_that_is_called_so_may_fail_before_vllm_says_a_word(streams):
    log = b'exec: "vllm": executable file not found in $PATH\n'
    assert _all(streams, log) == []
    assert [found.report.bucket for found in _all(streams, log, StreamName(container="vllm-server"))] != ["unknown"]
