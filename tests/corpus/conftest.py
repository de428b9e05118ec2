"""What the tests of the corpus share."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import Triage, shared


@pytest.fixture
def triage() -> Triage:
    """The engine with the built-in corpus."""
    return shared()
