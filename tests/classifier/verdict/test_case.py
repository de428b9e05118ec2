"""What one start shows as evidence: what stands, what is harmless, what was overcome."""

from __future__ import annotations

from tests.classifier.verdict.logs import ANSWERED, DEAD, OOM, READY, START, STOPPED, STRANGE, TRIAGE, findings
from vllm_triage.classifier.verdict.case import Case, depth


def test_a_start_that_came_up_is_known_by_its_line() -> None:
    case = findings(START + READY).case
    assert (6, True, 0) == (case.ready, case.came_up, case.stop)


def test_a_start_that_did_not_come_up_has_no_such_line() -> None:
    case = findings(START).case
    assert (0, False) == (case.ready, case.came_up)


def test_a_stop_from_outside_is_known_by_its_line() -> None:
    assert 9 == findings(START + READY + ANSWERED + STOPPED).case.stop


def test_an_exception_that_a_rule_knows_is_explained() -> None:
    assert [] == findings(START + OOM).case.unexplained()


def test_an_exception_that_no_rule_knows_is_not() -> None:
    assert ["CogError"] == [trace.kind for trace in findings(START + STRANGE).case.unexplained()]


def test_a_logged_error_that_no_rule_knows_is_not_explained() -> None:
    line = "ERROR 11-02 10:05:01 [serving.py:33] the widget gave up\n"
    assert ["the widget gave up"] == [error.text for error in findings(START + line).case.unexplained_errors()]


def test_wrappers_come_in_the_order_of_the_log() -> None:
    numbers = [hit.line.number for hit in findings(START + DEAD + DEAD).case.wrappers()]
    assert numbers
    assert sorted(numbers) == numbers


def test_the_stage_at_a_line_is_the_furthest_so_far() -> None:
    case = findings(START + READY).case
    assert ["launch", "weights", "api_ready"] == [case.stage_at(number) for number in (1, 4, 6)]


def test_a_worker_stands_deeper_than_an_engine_and_that_deeper_than_the_server() -> None:
    assert [2, 1, 1, 0] == [depth(name) for name in ("VllmWorker TP0", "EngineCore_DP0", "rank0", "APIServer")]


def test_buckets_are_usual_where_nobody_says_otherwise() -> None:
    case = Case(findings(START).incident)
    assert (False, 0) == (case.traits("nccl_hang").waits, case.traits("engine_dead").wrapper_rank)


def test_advice_behind_an_exception_on_its_line_does_not_explain_it() -> None:
    """Where newlines are lost; on a line of its own it is what it is."""
    error = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    advice = "For debugging consider passing CUDA_LAUNCH_BLOCKING=1"
    trace = 'Traceback (most recent call last):\n  File "/a/b.py", line 3, in main\n    torch.cuda.synchronize()\n'

    assert "gpu_fault" == TRIAGE.report(f"{START}{trace}{error} {advice}\n").bucket
    assert "gpu_fault" == TRIAGE.report(f"{START}{trace}{error}\n{advice}\n").bucket
