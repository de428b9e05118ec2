"""What each format writes, to the letter: a change to the output shows in a file of tests/service/golden.

``TRIAGE_BLESS=1 pytest tests/service/render/test_golden.py`` writes the files anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.service.samples import failure, healthy, unknown
from vllm_triage.service.render.formats import sarif
from vllm_triage.service.render.interface import Options, names, render

GOLDEN = Path(__file__).parent.parent / "golden"
SAMPLES = {"failure": failure, "unknown": unknown, "healthy": healthy}
VARIANTS = {
    "": Options(color="never", width=100),
    "-verbose": Options(verbose=True, explain=True, color="never", width=100),
    "-narrow": Options(color="never", width=60),
    "-color": Options(color="always", width=100),
}
CASES = [
    (sample, form, variant)
    for sample in SAMPLES
    for form in names()
    for variant in VARIANTS
    if variant in ("", "-verbose") or form == "text"
]


@pytest.mark.parametrize(("sample", "form", "variant"), CASES)
def test_output_is_as_written_down(sample, form, variant, monkeypatch):
    """Every format, with and without -v, wide and narrow, with colours."""
    monkeypatch.setattr(sarif, "version", lambda: "1.2.3")
    path = GOLDEN / f"{sample}{variant}.{form}"
    text = render(form, [SAMPLES[sample]()], VARIANTS[variant])
    if os.environ.get("TRIAGE_BLESS"):
        path.write_text(text, encoding="utf-8")

    assert path.read_text(encoding="utf-8") == text


def test_no_file_is_left_over():
    """A case that is gone takes its file with it."""
    assert {path.name for path in GOLDEN.iterdir()} == {f"{sample}{variant}.{form}" for sample, form, variant in CASES}
