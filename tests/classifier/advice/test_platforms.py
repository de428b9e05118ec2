"""A fix is shown as it holds on the platform that the log tells of."""

from __future__ import annotations

import pytest

from tests.fixes import context as situation
from tests.fixes import guarded as on_platform
from tests.fixes import made as fix
from vllm_triage.classifier.advice.adapters.options import adapt


@pytest.mark.parametrize(
    ("change", "platform", "shown"),
    [
        ("NCCL_P2P_DISABLE=1 vllm serve m", "npu", False),
        ("--disable-custom-all-reduce", "tpu", False),
        ("--disable-custom-all-reduce", "rocm", True),
        ("--disable-custom-all-reduce", "", True),
        ("export VLLM_SKIP_P2P_CHECK=1", "cpu", False),
        ("HCCL_IF_IP=10.0.0.9", "npu", True),
        ("--kv-cache-dtype fp8", "npu", False),
        ("--kv-cache-dtype fp8", "hpu", True),
        ("--kv-cache-dtype auto", "npu", True),
    ],
)
def test_what_a_platform_lacks_is_left_out(change: str, platform: str, shown: bool) -> None:
    """With a reason that names the platform."""
    made, reason = on_platform(fix(change), situation(platform=platform))
    assert (made is not None) is shown
    assert (platform in reason) if not shown else reason == ""


def test_a_plug_in_has_quantised_formats_of_its_own() -> None:
    """Those of GPUs are not named there; a fix of another kind keeps its words."""
    step = fix("Use an AWQ or GPTQ checkpoint", "step", tags=("formats",))
    shown = [adapt(step, situation(platform=platform))[0] for platform in ("npu", "tpu", "cuda", "cpu")]
    assert [each is step for each in shown] == [False, False, True, True]


@pytest.mark.parametrize(
    ("release", "platform", "kept"),
    [("0.14.1", "cpu", False), ("0.20.0", "cpu", True), ("0.14.1", "cuda", True), ("0.14.1", "", True)],
)
def test_no_speculation_is_set_up_where_the_runner_has_none(release: str, platform: str, kept: bool) -> None:
    """vLLM's runner for CPUs asserts so up to 0.19.1 (v1/worker/cpu_model_runner.py); to leave it out is always possible."""
    server = situation(release=release, platform=platform)
    drafts = fix("""--speculative-config '{"method": "ngram"}'""")
    assert (on_platform(drafts, server)[0] is not None) is kept
    assert on_platform(fix("leave out --speculative-config"), server)[0] is not None
