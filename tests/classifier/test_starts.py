"""Every start of a log is answered by itself, in bounded memory."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.input.read import BLOCK

BANNER = "INFO 11-02 10:{minute:02}:00 [api_server.py:1] vLLM API server version 0.19.1\n"
NO_CACHE = "(EngineCore_DP0 pid=7) ERROR 11-02 10:{minute:02}:30 [core.py:708] ValueError: No available memory for the cache blocks.\n"
TAKEN = "OSError: [Errno 98] Address already in use\n"
FILLER = "INFO 11-02 10:{minute:02}:40 [weight_utils.py:1] nothing that anybody looks at\n"


def crash(minute: int, filler: int = 0) -> str:
    """Return the log of a start that has no room for its cache."""
    return (BANNER + FILLER * filler + NO_CACHE).format(minute=minute)


def test_each_start_has_its_own_answer() -> None:
    """The whole log is answered for its last start; here each counts."""
    log = crash(1) + BANNER.format(minute=2) + TAKEN
    first, second = shared().starts(log)
    assert [first.report.bucket, second.report.bucket] == ["kv_cache_oom", "port_in_use"]
    assert [(first.first, first.last), (second.first, second.last)] == [(1, 2), (3, 4)]
    assert [first.followed, second.followed] == [True, False]
    assert [first.number, second.number] == [1, 2]


def test_lines_and_times_are_those_of_the_log() -> None:
    """Evidence is numbered as in the log, and the stamps are the first and the last of the start."""
    _, second = shared().starts(crash(1) + crash(2))
    assert second.report.evidence[0].line == 4
    assert (second.begun, second.ended) == ("11-02 10:02:00", "11-02 10:02:30")


def test_one_start_is_answered_like_the_log() -> None:
    """Where there is one start both ways say the same."""
    log = crash(1)
    assert [start.report for start in shared().starts(log)] == [shared().report(log)]


def test_a_long_crash_loop_keeps_its_answers() -> None:
    """Starts are handed on as they end: none is thinned out, however many blocks the log has."""
    log = "".join(crash(number % 60, 400) for number in range(80))
    assert len(log) > 2 * BLOCK
    starts = list(shared().starts(log))
    assert len(starts) == 80
    assert {start.report.cause for start in starts} == {"kv_cache_oom/no_cache_blocks"}
    assert [start.number for start in starts] == list(range(1, 81))


def test_servers_of_one_log_are_told_apart() -> None:
    """Each start names the container that printed it."""
    one = "".join(f"vllm-1  | {line}\n" for line in crash(1).splitlines())
    two = "".join(f"vllm-2  | {line}\n" for line in (BANNER.format(minute=1) + TAKEN).splitlines())
    told = {start.server: start.report.bucket for start in shared().starts(one + two)}
    assert told == {"vllm-1": "kv_cache_oom", "vllm-2": "port_in_use"}


@pytest.mark.parametrize("log", [b"", b"  \n"])
def test_what_is_no_log_is_refused(log: bytes) -> None:
    """As for the log as a whole."""
    with pytest.raises(InputError, match="empty"):
        list(shared().starts(log))
