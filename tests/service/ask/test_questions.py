"""A model is asked where the rules are not sure, once for each failure, and not without end."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.proposal import Proposal
from vllm_triage.classifier.report.model import Report
from vllm_triage.classifier.report.pack.request import request_of
from vllm_triage.corpus.records import replace
from vllm_triage.service.ask.questions import HOUR, AskError, Questions, is_wanted

UNKNOWN = "(EngineCore pid=7) ERROR 11-21 12:00:01 [core.py:845] acme.CogError: cog {} is gone\n"
HEALTHY = "INFO 11-21 12:00:01 [api_server.py:100] Starting vLLM API server on http://0.0.0.0:8000\n"


class Double:
    """Answers, and remembers what it was asked."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def ask(self, prompt: str) -> Proposal:
        """Propose nothing."""
        self.prompts.append(prompt)
        return Proposal("m", f"cause {len(self.prompts)}")


def report(text: str) -> Report:
    """Read a log."""
    return shared().report(text)


def test_nobody_is_asked_about_a_healthy_server_or_never() -> None:
    """Whatever the mode, a question needs a failure."""
    failed = report(UNKNOWN.format(1))
    assert [is_wanted(failed, "auto"), is_wanted(failed, "always"), is_wanted(failed, "never")] == [True, True, False]
    assert not is_wanted(report(HEALTHY * 3), "always")


def test_a_sure_fix_is_asked_about_where_an_exception_is_left_over() -> None:
    """0.9 is sure; an exception that no rule reads stands beside the cause."""
    known = report("ValueError: No available memory for the cache blocks.\n")
    unsure = replace(known, fixes=(replace(known.fixes[0], confidence=0.89),))
    sure = replace(known, fixes=(replace(known.fixes[0], confidence=0.9),))
    residue = replace(sure, unread=known.evidence)
    assert [True, False, True] == [is_wanted(each, "auto") for each in (unsure, sure, residue)]


def test_the_same_failure_is_asked_about_once() -> None:
    """Its values may differ; another failure is another question."""
    double = Double()
    questions = Questions(double, "always")
    first = questions.proposal(report(UNKNOWN.format(1)))
    assert first == questions.proposal(report(UNKNOWN.format(2)))
    assert 1 == len(double.prompts)
    questions.proposal(report("ValueError: No available memory for the cache blocks.\n"))
    assert 2 == len(double.prompts)


def test_an_hour_has_so_many_questions() -> None:
    """Then it is said when the next one may be asked; what is known is answered all the same."""
    now = [0.0]
    questions = Questions(Double(), "always", per_hour=1, clock=lambda: now[0])
    known, other = report(UNKNOWN.format(1)), report("ValueError: No available memory for the cache blocks.\n")
    questions.proposal(known)
    assert questions.proposal(known) is not None
    with pytest.raises(AskError, match="60 min"):
        questions.proposal(other)
    now[0] = HOUR
    assert questions.proposal(other) is not None


def test_nothing_but_the_masked_pack_is_sent() -> None:
    """Secrets do not leave, and the question fits the budget."""
    double = Double()
    token = "hf_" + "Kd7RmPq2" * 4 + "ab"
    log = report(f"HF_TOKEN={token} vllm serve acme/oak\n" + UNKNOWN.format(1))
    Questions(double, "always", budget=2_000).proposal(log)
    assert [request_of(log, 2_000)] == double.prompts
    assert token not in double.prompts[0]
    assert len(double.prompts[0]) < 6_500
