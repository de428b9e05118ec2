"""What a question changes about an answer: which failures count, how sure it must be, the command it is about."""

from __future__ import annotations

import pytest

from tests.fixtures.marked import FOLDER, read_marked
from vllm_triage.classifier import api
from vllm_triage.classifier.advice import advise
from vllm_triage.classifier.api import shared, triage
from vllm_triage.classifier.question import Question
from vllm_triage.classifier.report.model import Filtered

BANNER = "INFO 11-21 10:00:00 [api_server.py:1] vLLM API server version 0.10.2"
READY = "INFO:     Application startup complete."
ANSWERED = 'INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK'
FULL = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`."
TAKEN = "OSError: [Errno 98] Address already in use"
REFUSED = "vllm: error: unrecognized arguments: --harbour-depth 3"
FAILING = [path for path in sorted(FOLDER.glob("*.log")) if not path.stem.startswith("no_failure")]


def compose(name: str, *texts: str) -> list[str]:
    return [f"{name}  | {text}" for text in texts]


def ask(*lines: str, **question):
    return triage("\n".join(lines) + "\n", Question(**question))


@pytest.mark.parametrize("path", FAILING, ids=lambda path: path.stem)
def test_a_filter_never_changes_the_cause_found(path):
    """Ignored by its bucket or its cause, or outside of what was asked for: the same answer, which does not count."""
    marked = read_marked(path)
    plain = triage(marked.log)
    other = "kv_cache_oom" if plain.bucket != "kv_cache_oom" else "port_in_use"
    asked = [Question(ignore=[plain.bucket]), Question(ignore=[plain.cause]), Question(only=[other])]
    answers = [triage(marked.log, question) for question in asked]

    assert [(plain.cause, plain.evidence, plain.fixes)] * 3 == [
        (answer.cause, answer.evidence, answer.fixes) for answer in answers
    ]
    assert [
        Filtered(by="ignore", ids=(plain.bucket,)),
        Filtered(by="ignore", ids=(plain.cause,)),
        Filtered(by="only", ids=(other,)),
    ] == [answer.filtered for answer in answers]
    assert (True, [False] * 3) == (plain.failed, [answer.failed for answer in answers])


@pytest.mark.parametrize("path", sorted(FOLDER.glob("no_failure*.log")), ids=lambda path: path.stem)
def test_a_filter_takes_no_benign_rule_away(path):
    """What is harmless stays so, whatever is ignored."""
    log = read_marked(path).log
    buckets = [name for name in shared().corpus.buckets() if name not in ("no_failure", "unknown")]

    assert triage(log).to_dict() == triage(log, Question(ignore=buckets)).to_dict()


def test_advice_is_made_once_for_the_answer_that_is_given(monkeypatch):
    """However many starts are looked at for a failure that counts, and whether or not one does."""
    advised = []

    def noted(verdict, known):
        advised.append(verdict.cause)
        return advise(verdict, known)

    monkeypatch.setattr(api, "advise", noted)
    ask(*[BANNER, FULL] * 2, *[BANNER, TAKEN] * 6, ignore=["port_in_use"])
    ask(BANNER, TAKEN, ignore=["port_in_use"])
    ask(BANNER, TAKEN, min_confidence=1)

    assert ["kv_cache_oom/no_cache_blocks", "port_in_use/http_port_taken", "unknown/below_threshold"] == advised


def test_an_answer_that_is_not_sure_enough_speaks_of_no_fix():
    """Nor of the release that fixes would be for."""
    withheld = ask(BANNER, FULL, min_confidence=1)

    assert ((), (), "") == (withheld.fixes, withheld.withheld, withheld.corrected_command)
    assert ["The best guess, kv_cache_oom/no_cache_blocks, is below the confidence asked for (1)."] == list(
        withheld.notes
    )


def test_an_answer_by_the_stage_is_filtered_as_well():
    """Silence between GPUs is told by no rule."""
    log = read_marked(FOLDER / "nccl_hang-0.19.1-silent.log").log
    answer = triage(log, Question(ignore=["nccl_hang/silent_distributed_init"]))

    assert ("nccl_hang/silent_distributed_init", "stage", False) == (answer.cause, answer.decided_by, answer.failed)


def test_unknown_can_be_ignored_too():
    """For CI that lets pass what nobody recognises, also where it is the confidence that is too low."""
    strange = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nacme.TideError: too low'

    assert [True, False] == [ask(strange).failed, ask(strange, ignore=["unknown"]).failed]
    assert [True, False] == [
        ask(FULL, min_confidence=0.999).failed,
        ask(FULL, min_confidence=0.999, ignore=["unknown"]).failed,
    ]


def test_another_server_of_the_log_may_still_fail():
    """The one failure is ignored, the other is not; a note tells of the first."""
    lines = [*compose("vllm-a-1", BANNER, REFUSED), *compose("vllm-b-1", BANNER, FULL)]
    plain = ask(*lines)
    ignored = ask(*lines, ignore=[plain.bucket])
    both = ask(*lines, ignore=["kv_cache_oom", "invalid_argument"])

    assert {"kv_cache_oom", "invalid_argument"} == {plain.bucket, ignored.bucket}
    assert (True, None) == (ignored.failed, ignored.filtered)
    assert any(plain.cause in note and "is left out by ignore" in note for note in ignored.notes)
    assert (plain.bucket, False) == (both.bucket, both.failed)


def test_an_earlier_start_of_the_server_may_still_fail():
    """Two starts in a row failed, each for its own reason; the last is ignored."""
    lines = [BANNER, FULL, BANNER, TAKEN]
    plain, ignored = ask(*lines), ask(*lines, ignore=["port_in_use"])

    assert ("port_in_use", "kv_cache_oom", True) == (plain.bucket, ignored.bucket, ignored.failed)
    assert plain.incidents == ignored.incidents == 2


def test_a_failure_that_a_good_start_has_overcome_stays_in_the_past():
    lines = [BANNER, FULL, BANNER, READY, ANSWERED, BANNER, TAKEN]
    ignored = ask(*lines, ignore=["port_in_use"])

    assert ("port_in_use", False) == (ignored.bucket, ignored.failed)


def test_a_given_command_is_corrected_and_one_that_starts_nothing_is_told():
    given = ask(FULL, command="vllm serve a/b --gpu-memory-utilization 0.5")
    useless = ask(FULL, command="echo hello")

    assert "vllm serve a/b" in given.corrected_command
    assert ("", True) == (useless.corrected_command, "--command was left out" in useless.notes[-1])
