"""Upgrades for vLLM's own mistakes name the release in which the failing line was rewritten."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.report.model import Fix, Report

HEAD = "INFO 03-01 04:55:00 [api_server.py:1] vLLM API server version {}\n"
STACK = """(EngineCore_DP0 pid=266) ERROR 03-01 04:55:09 [core.py:938] Traceback (most recent call last):
(EngineCore_DP0 pid=266) ERROR 03-01 04:55:09 [core.py:938]   File "/opt/venv/lib/python3.12/site-packages/{path}", line 397, in {function}
(EngineCore_DP0 pid=266) ERROR 03-01 04:55:09 [core.py:938]     {code}
{inner}(EngineCore_DP0 pid=266) ERROR 03-01 04:55:09 [core.py:938] {error}
"""
INNER = """(EngineCore_DP0 pid=266) ERROR 03-01 04:55:09 [core.py:938]   File "/opt/venv/lib/python3.12/site-packages/{}", line 12, in {}
(EngineCore_DP0 pid=266) ERROR 03-01 04:55:09 [core.py:938]     {}
"""
TIED = ("vllm/model_executor/models/gemma3.py", "__init__", "assert config.tie_word_embeddings", "AssertionError")
BLOCKS = (
    "vllm/attention/backends/flash_attn.py", "build", "input_block_tables[i, :len(block_table)] = block_table",
    "ValueError: could not broadcast input array from shape (513,) into shape (512,)",
)  # fmt: skip
RENAMED = (
    "vllm/v1/worker/block_table.py", "append_row", "self.block_table_np[row_idx, start:start + num_blocks] = block_ids",
    "ValueError: could not broadcast input array from shape (513,) into shape (512,)",
)  # fmt: skip


def answer(release: str, frame: tuple[str, str, str, str], inner: str = "") -> Report:
    """Return the answer to one exception of the engine."""
    path, function, code, error = frame
    head = HEAD.format(release) if release else ""
    return shared().report(head + STACK.format(path=path, function=function, code=code, error=error, inner=inner))


def upgrades(report: Report) -> list[Fix]:
    """Return the fixes that install a newer vLLM, or try one."""
    return [fix for fix in report.fixes if "pip install -U" in fix.change or "newest release" in fix.title]


@pytest.mark.parametrize(
    ("release", "frame", "first", "how"),
    [
        ("0.10.2", TIED, "0.14.0", "the line that failed is no longer there"),
        ("0.6.0", BLOCKS, "0.6.1", "vllm-project/vllm#8340 rewrites the failing line"),
        ("", TIED, "0.14.0", "the line that failed is no longer there"),
    ],
)
def test_the_upgrade_goes_to_the_release_without_the_line(
    release: str, frame: tuple[str, str, str, str], first: str, how: str
) -> None:
    """It says what is known, and no more."""
    (fix,) = upgrades(answer(release, frame))
    assert fix.change == f"pip install -U 'vllm>={first}'"
    assert fix.fixed_in == first
    assert fix.title.startswith(f"Upgrade vLLM to {first} or later: {how}")
    assert first in fix.why
    assert "do not say" in fix.why


def test_no_upgrade_where_the_newest_release_has_the_line() -> None:
    """A new name is no other line; the reason stands in what was withheld."""
    report = answer("0.10.2", RENAMED)
    assert not upgrades(report)
    reasons = "\n".join(left.reason for left in report.withheld)
    assert "still has the failing line of append_row in vllm/v1/worker/block_table.py" in reasons


@pytest.mark.parametrize(
    ("release", "frame", "inner"),
    [
        ("0.15.0", TIED, ""),  # a release without that line: a fork, or your own changes
        ("0.4.3", BLOCKS, ""),  # older than what is known
        ("0.10.2", TIED, INNER.format("transformers/modeling_utils.py", "get", "return self.embeddings")),
        ("0.10.2", TIED, INNER.format("vllm/platforms/cuda.py", "check", "raise AssertionError")),
        ("0.10.2", (*TIED[:3], "RuntimeError: CUDA error: unspecified launch failure"), ""),
    ],
)
def test_nothing_is_said_of_what_the_line_is_not_to_blame_for(
    release: str, frame: tuple[str, str, str, str], inner: str
) -> None:
    """Another package's frame, an error raised on purpose below, a device's error."""
    report = answer(release, frame, inner)
    assert not [fix for fix in report.fixes if "no longer there" in fix.title]
    assert not [left for left in report.withheld if "failing line" in left.reason]


def test_what_torch_refuses_is_its_callers_line() -> None:
    """Frames of torch, and of vLLM's own wrappers, show what was handed to them."""
    inner = INNER.format("vllm/_custom_ops.py", "run", "op(*tensors)") + INNER.format(
        "torch/_ops.py", "__call__", "return self._op()"
    )
    frame = (*TIED[:3], "RuntimeError: The size of tensor a (7) must match the size of tensor b (1)")
    assert [fix.fixed_in for fix in upgrades(answer("0.10.2", frame, inner))] == ["0.14.0"]


def test_a_build_of_ones_own_is_told_the_release_and_not_replaced() -> None:
    """The change is to be taken over where the build comes from."""
    report = answer("0.10.2.dev12+g1234567.d20250901", TIED)
    assert not [fix for fix in report.fixes if "pip install" in fix.change]
    assert "was rewritten in 0.14.0" in "\n".join(fix.why for fix in report.fixes)


def test_where_nothing_else_is_left_the_answer_sends_to_the_issues() -> None:
    """With the reason why no upgrade is advised."""
    frame = (
        "vllm/v1/core/sched/scheduler.py", "_update_after_schedule", "request = self.requests[req_id]",
        "KeyError: 'chatcmpl-7'",
    )  # fmt: skip
    (fix,) = answer("0.10.2", frame).fixes
    assert fix.title == "Search vLLM's issues for this error"
    assert "still has the failing line of _update_after_schedule" in fix.why


def test_a_name_that_is_missing_elsewhere_was_not_asked_for_in_that_line() -> None:
    """Frames further in were left out of the log."""
    frame = (*TIED[:3], "AttributeError: 'Gemma3Config' object has no attribute 'rope_local'")
    assert not [fix for fix in answer("0.10.2", frame).fixes if "no longer there" in fix.title]
