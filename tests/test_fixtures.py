"""Whole logs: each must be answered as it is marked, however it comes wrapped."""

from __future__ import annotations

import os

import pytest

from tests.fixtures.marked import FOLDER, bless, complaints, read_marked
from vllm_triage.classifier.api import Triage, shared

PATHS = sorted(FOLDER.glob("*.log"))


@pytest.fixture
def triage() -> Triage:
    """The engine with the built-in corpus."""
    return shared()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_log_is_answered_as_it_is_marked(path, triage):
    """Cause, the line that proves it, and the values that were read out of it."""
    if os.environ.get("TRIAGE_BLESS"):
        bless(path, triage)
    marked = read_marked(path)

    assert complaints(marked, triage.diagnose(marked.log), triage) == []
