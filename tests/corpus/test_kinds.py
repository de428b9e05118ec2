"""Words that stand as a type and as values are the same ones."""

from __future__ import annotations

from typing import get_args

from vllm_triage.classifier.decides import Decides
from vllm_triage.classifier.question import ENGINES
from vllm_triage.corpus import kinds
from vllm_triage.corpus.findings import FINDINGS
from vllm_triage.corpus.stages import STAGES


def test_types_and_values_name_the_same_words():
    """The types are left out where an answer is made, so each list stands twice."""
    assert (get_args(kinds.Stage), get_args(kinds.Finding), get_args(Decides)) == (STAGES, FINDINGS, ENGINES)
