"""A time-out is not advised that the log has waited already."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.advice.context import Context
from vllm_triage.classifier.advice.guards import waited, withhold
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.complaints.case import Case
from vllm_triage.classifier.fix import Fix
from vllm_triage.corpus.actions import SetVariable


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("the cog did not turn within 10000ms", 10.0),
        ("timed out after 1800 seconds", 1800.0),
        ("ran for 600081 milliseconds before timing out", 600.081),
        ("timed out after 3 s, then timed out after 2 minutes", 120.0),
        ("the cog timed out", None),
    ],
)
def test_what_was_waited_is_read_in_its_unit(text: str, seconds: float | None) -> None:
    assert waited(text) == seconds


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("VLLM_ENGINE_READY_TIMEOUT_S", "1800", False),
        ("VLLM_ENGINE_READY_TIMEOUT_S", "3600", True),
        ("VLLM_RPC_TIMEOUT", "60000", False),
        ("VLLM_RPC_TIMEOUT", "3600000", True),
        ("VLLM_ENGINE_READY_TIMEOUT_S", "N", True),
    ],
)
def test_a_time_out_must_be_longer_than_what_was_waited(name: str, value: str, kept: bool) -> None:
    context = Context(Case("", {}, "0.19.1"), {}, "0.19.1", "timed out after 1800 seconds")
    fix = Fix(title="t", kind="env", actions=(SetVariable(name, value),), why="", cost="")

    found, why = withhold(fix, context, shared().corpus.guards())

    assert (found is not None) is kept
    assert ("1800 s already" in why) is not kept
