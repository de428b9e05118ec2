"""Signs of a platform: what is looked for first stands in all that the expressions match."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_triage.classifier.advice import signs


@pytest.mark.parametrize(("needs", "marks"), [(needs, marks) for _, needs, marks in signs._PLATFORMS])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_looked_for_first_is_in_every_match(needs, marks, data):
    """Whatever an expression matches holds one of the strings."""
    match = data.draw(st.from_regex(marks.made.pattern))
    assert any(need in match for need in needs)


@pytest.mark.parametrize(
    ("words", "platform"),
    [
        ("vllm_ascend/worker.py", "npu"),
        ("torch_neuronx failed", "neuron"),
        ("vllm 0.9+gaudi", "hpu"),
        ("libtpu.so", "tpu"),
        ("XPU out of memory", "xpu"),
        ("cpu_worker.py", "cpu"),
        ("MI300X", "rocm"),
        ("hipErrorNoBinaryForGpu", "rocm"),
        ("chip cannot", ""),
    ],
)
def test_a_platform_is_told_by_its_words(words, platform):
    """And nothing by words that only look like them."""
    assert platform == signs.told_by(words, {}).get("platform", "")
