"""What is proposed is tested here, whether or not such advice was right often enough to be shown (``test_track_record``)."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.advice import track_record


@pytest.fixture(autouse=True)
def _everything_is_shown(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.module.__name__.rpartition(".")[2] != "test_track_record":
        monkeypatch.setattr(track_record, "FIRST", 0.0)
        monkeypatch.setattr(track_record, "LATER", 0.0)
        monkeypatch.setattr(track_record, "REFUTED", 1.0)
