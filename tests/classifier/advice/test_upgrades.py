"""Upgrades are offered where something says that a later release helps."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.report.model import Report

STACK = """INFO 03-01 04:55:00 [api_server.py:1] vLLM API server version {release}
(EngineCore_DP0 pid=266) ERROR 03-01 04:55:09 [core.py:938] Traceback (most recent call last):
(EngineCore_DP0 pid=266) ERROR 03-01 04:55:09 [core.py:938]   File "/opt/venv/lib/python3.12/site-packages/vllm/{path}", line 397, in {function}
(EngineCore_DP0 pid=266) ERROR 03-01 04:55:09 [core.py:938]     {code}
(EngineCore_DP0 pid=266) ERROR 03-01 04:55:09 [core.py:938] {error}
"""
SCHEDULER = {"path": "v1/core/sched/scheduler.py", "function": "schedule", "code": "self.block_pool.touch(blocks)"}
SPARE = {
    "path": "v1/core/sched/scheduler.py",
    "function": "update_from_output",
    "code": "request = self.requests[req_id]",
}
ROPE = """INFO 03-01 04:55:00 [api_server.py:1] vLLM API server version 0.17.0
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/vllm/transformers_utils/configs/qwen3_5.py", line 76, in __init__
    super().__init__(**kwargs)
  File "/opt/venv/lib/python3.12/site-packages/transformers/modeling_rope_utils.py", line 670, in convert_rope_params_to_dict
    ignore_keys = ignore_keys_at_rope_validation | {"partial_rotary_factor"}
TypeError: unsupported operand type(s) for |: 'list' and 'set'
"""


def answer(release: str, **error: str) -> Report:
    return shared().report(STACK.format(release=release, **error))


def test_an_upgrade_that_nothing_speaks_for_is_told_as_a_try_behind_what_discriminates() -> None:
    report = answer("0.13.0", **SCHEDULER, error="AssertionError: block 17 is not in the pool")
    titles = [fix.title for fix in report.fixes]
    assert report.cause == "engine_bug/scheduler_fault"
    assert "Try the newest release, without knowing that it helps" in titles[1:]
    assert not any(title.startswith(("Upgrade", "Update")) for title in titles)


def test_it_says_what_to_search_for_when_the_newest_release_says_the_same() -> None:
    report = answer("0.13.0", **SPARE, error="KeyError: 'cmpl-7'")
    tries = [fix for fix in report.fixes if fix.title.startswith("Try the newest")]
    assert tries
    assert "search vLLM's issues for KeyError" in tries[0].why


def test_it_is_left_out_beside_two_other_fixes() -> None:
    error = "torch.AcceleratorError: CUDA error: unspecified launch failure"
    report = shared().report(f"(EngineCore_DP0 pid=7) ERROR 03-01 04:55:09 [core.py:938] {error}\n")
    assert report.cause == "gpu_fault/launch_failure"
    assert [held.title for held in report.withheld if "newer release helps" in held.reason] == ["Upgrade vLLM"]


@pytest.mark.parametrize(("release", "offered"), [("0.13.0", True), ("0.32.0", False)])
def test_a_release_that_the_server_has_is_no_upgrade(release: str, offered: bool) -> None:
    line = "io.UnsupportedOperation: fileno"
    error = {"path": "utils/system_utils.py", "function": "suppress_stdout", "code": "stdout_fd = sys.stdout.fileno()"}
    report = answer(release, **error, error=line)
    assert report.cause == "engine_bug/stdout_without_file"
    assert any("vllm>=0.32" in fix.change for fix in report.fixes) is offered


def test_a_known_mend_stays_where_it_is() -> None:
    report = shared().report(ROPE)
    assert [fix.change for fix in report.fixes[:2]] == [
        "pip install --force-reinstall vllm==0.17.0",
        "pip install -U 'vllm>=0.19'",
    ]
