"""The text around a log tells a release with which it worked."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

HEAD = "INFO 11-02 10:00:00 [api_server.py:1805] vLLM API server version 0.11.0\n"
TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/v/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 12, in execute_model\n'
    "    odd = rows[3]\n"
    "IndexError: list index out of range\n"
)
REFUSED = "vllm serve: error: argument --dtype: invalid choice: 'flaot16' (choose from 'auto', 'float16')\n"


@pytest.mark.parametrize(
    ("said", "change"),
    [
        ("It worked with v0.10.2 last month.", "pip install vllm==0.10.2   # or the image vllm/vllm-openai:v0.10.2"),
        ("The same start is fine on vLLM 0.9.1", "pip install vllm==0.9.1   # or the image vllm/vllm-openai:v0.9.1"),
        ("works in 0.12.0, by the way", "pip install 'vllm>=0.12.0'   # or the image vllm/vllm-openai:v0.12.0"),
        ("works in 0.90 though", "pip install vllm==0.9.0   # or the image vllm/vllm-openai:v0.9.0"),
    ],
)
def test_the_release_is_offered_before_searches(said: str, change: str) -> None:
    """Forth or back, whichever it is."""
    assert triage((HEAD + TRACE + said + "\n").encode()).fixes[0].change == change


@pytest.mark.parametrize(
    "said",
    ["It does not work with 0.10.2", "It never worked with 0.10.2", "worked in 0.41 s", "worked with 0.11.0", ""],
)
def test_nothing_is_offered_where_nothing_is_said(said: str) -> None:
    """Refusals, times, the release in use."""
    assert not any("with which it worked" in fix.title for fix in triage((HEAD + TRACE + said + "\n").encode()).fixes)


def test_another_platform_gets_its_own_build() -> None:
    """The registry's wheel is the one for CUDA."""
    log = (
        HEAD
        + "INFO 11-02 10:00:00 [__init__.py:216] Automatically detected platform rocm.\n"
        + TRACE
        + "worked with 0.10.2\n"
    )
    assert triage(log.encode()).fixes[0].change.startswith("Take the build of 0.10.2 for rocm")


def test_a_setting_that_is_refused_is_put_right() -> None:
    """Another release may take it, and yet it is the setting that is wrong."""
    answer = triage((HEAD + REFUSED + "worked with 0.10.2\n").encode())
    assert not any("with which it worked" in fix.title for fix in answer.fixes)
