"""Secrets by generation, names × forms × contexts × formats: none is shown; and what is none stays, over the whole corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.classifier.masking.generated import Case, cases
from tests.everyday import sample
from vllm_triage.classifier import triage
from vllm_triage.classifier.masking.apart import hide_apart
from vllm_triage.classifier.masking.mask import mask, mask_lines
from vllm_triage.corpus.store import HERE
from vllm_triage.service.render import interface

FORMATS = ("json", "text", "markdown", "sarif", "concise", "pack", "prompt")


def _shown(case: Case) -> bool:
    return case.secret in mask(case.text) or case.secret in "\n".join(mask_lines(case.text.split("\n")))


@pytest.mark.parametrize("part", sample(range(4), 2))
def test_no_secret_that_is_made_is_shown(part: int) -> None:
    """Under any name, in any spelling and at any place."""
    made = list(cases())[part::16]
    assert len(made) > 5000
    assert [case for case in made if _shown(case)] == []


def test_no_format_shows_what_is_masked() -> None:
    """In an exception's words, which stand in evidence, title and notes."""
    shown = []
    for case in [case for case in cases(2) if "\n" not in case.text][::1301]:
        report = triage(
            f"INFO 01-02 03:04:05 [api_server.py:1] vLLM API server version 0.19.1\nacme.OperatorError: {case.text}\n"
        )
        for name in FORMATS:
            text = interface.render(
                name, [interface.Result("-", report)], interface.Options(verbose=True, color="never")
            )
            shown += [(name, case)] * (case.secret in text)
    assert shown == []


def test_harmless_words_stay() -> None:
    """Of the words of all logs of the corpus at most one in 100,000 is taken for a secret."""
    words, masked = 0, []
    apart = []
    for path in sorted((Path(HERE) / "logs").rglob("*.log")):
        text = path.read_text(encoding="utf-8", errors="replace").split("\n")
        apart += [new for old, new in zip(text, hide_apart(text), strict=True) if old != new]
        lines = list(dict.fromkeys(text))
        words += sum(len(line.split()) for line in lines)
        masked += [line for line in lines if mask(line) != line]
    assert words > 100_000
    assert [] == apart
    assert len(masked) <= words / 100_000, masked
