"""Outputs that do not speak UTF-8: nothing fails, a failure is told from what is not recognised, JSON stays JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.samples import failure, healthy, unknown
from vllm_triage.service.render.encoding import encodable
from vllm_triage.service.render.interface import Options, names, render


def test_the_signs_of_the_verdicts_stay_apart():
    """A failure, no failure, not recognised."""
    texts = [render("text", [sample()], Options(color="never")) for sample in (failure, healthy, unknown)]

    assert ["X", "+", "?"] == [encodable(text, "ascii")[0] for text in texts]
    assert texts == [encodable(text, "utf-8") for text in texts]


@pytest.mark.parametrize("form", names())
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_every_format_can_be_written(form, encoding):
    text = render(form, [failure(), unknown()], Options(verbose=True, color="never", width=100))

    encodable(text, encoding).encode(encoding)


@given(st.text(max_size=100))
def test_json_says_the_same_in_escapes(text):
    """But for halves of surrogates, which nothing can hold."""
    whole = text.encode("utf-8", "replace").decode()
    written = json.dumps([text], ensure_ascii=False)

    assert [whole] == json.loads(encodable(written, "ascii"))
