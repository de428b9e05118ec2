"""One cause, several messages: the first fix goes by what the message says."""

from __future__ import annotations

from vllm_triage.classifier import triage


def test_an_access_line_gives_no_words_to_search_for():
    """It holds an address and a path, which nobody else's report has."""
    answer = triage('INFO:     10.0.0.9:41000 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error')

    assert [] == [
        fix for fix in answer.fixes if "10.0.0.9" in (fix.change or "") or "issues for:" in (fix.change or "")
    ]
