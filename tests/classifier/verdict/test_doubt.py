"""Where nothing is known to have failed, a cut archive and words of a failure are no health."""

from __future__ import annotations

import gzip

import pytest
import zstandard

from tests.classifier.verdict.logs import ANSWERED, OOM, READY, START, STOPPED, TRIAGE

LIFE = START + READY + ANSWERED * 400 + STOPPED


@pytest.mark.parametrize(("pack", "less"), [("gzip", 9), ("gzip", 40), ("gzip", 200), ("zstd", 3), ("zstd", 40)])
def test_a_compressed_log_that_is_cut_is_never_healthy(pack: str, less: int) -> None:
    """Whole it is; a note says what to do."""
    whole = LIFE.encode()
    # Of two frames the first can be read: the package keeps back what a cut one held.
    frame = zstandard.ZstdCompressor().compress
    data = gzip.compress(whole, 0) if pack == "gzip" else frame(whole[:-4000]) + frame(whole[-4000:])
    answer = TRIAGE.report(data[: len(data) - less])

    assert "no_failure" == TRIAGE.report(data).bucket
    assert "unknown/broken_off" == answer.cause
    assert any("cut or damaged" in note for note in answer.notes)


def test_a_failure_in_what_could_be_read_is_the_answer() -> None:
    data = gzip.compress((START + OOM + ANSWERED * 400).encode(), 0)
    answer = TRIAGE.report(data[:-500])

    assert answer.bucket in ("runtime_oom", "model_load_oom")
    assert any("cut or damaged" in note for note in answer.notes)


@pytest.mark.parametrize(
    "words",
    [
        "**error: kernel.py:211:0: stack frame size exceeds limit",
        "| worker 3 | CogError: the seventh cog is gone",
        "cogs.cpp:62: Assertion `cog < teeth` failed",
        "thread 'main' panicked at src/cogs.rs:12:5",
        "vllm serve: error: the cogs do not mesh",
        "cog.py: error: the cogs do not mesh",
    ],
)
def test_words_of_a_failure_at_the_end_of_a_start_are_no_health(words: str) -> None:
    answer = TRIAGE.report(f"{START}{words}\n")

    assert "unknown" == answer.bucket
    assert words == answer.evidence[0].text


@pytest.mark.parametrize(
    "line", ["Falling back: errors are counted", "INFO 11-02 10:00:21 [a.py:1] retry after CogError: gone"]
)
def test_other_words_and_quiet_levels_leave_a_start_as_it_is(line: str) -> None:
    assert "no_failure/still_starting" == TRIAGE.report(f"{START}{line}\n").cause
