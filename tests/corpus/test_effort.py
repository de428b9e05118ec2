"""Every fix says whether the server must be started anew for it, and whether it needs root."""

from __future__ import annotations

from typing import Any

import pytest

from vllm_triage.corpus.action_text import read_actions
from vllm_triage.corpus.actions import packed
from vllm_triage.corpus.effort import tell_effort
from vllm_triage.corpus.store import load
from vllm_triage.corpus.types import Cause, Fix

CORPUS = load()
FIXES = [
    (bucket, cause, fix) for bucket in CORPUS.buckets() for cause in CORPUS.bucket(bucket).causes for fix in cause.fixes
]


def _told(**given: Any) -> Fix:
    told = {"title": "t", "kind": "command", "change": "c", "why": "w", "cost": "none", **given}
    actions, remark = read_actions(told.pop("change"), told["kind"], told.get("tags", ()))
    fix = Fix(**told, does=packed(actions), remark=remark)
    tell_effort(Cause("id", "title", "summary", fixes=(fix,)))
    return fix


def test_all_fixes_tell() -> None:
    assert {(bool, bool)} == {(type(fix.restart), type(fix.root)) for _, _, fix in FIXES}


def test_options_and_variables_count_at_the_next_start() -> None:
    assert [fix.title for _, _, fix in FIXES if fix.kind in ("flag", "env") and not fix.restart] == []


@pytest.mark.parametrize(
    ("fix", "restart", "root"),
    [
        ({"change": "pip install -U vllm"}, True, False),
        ({"change": "py-spy dump --pid PID", "tags": ("look", "beside")}, False, False),
        ({"change": "apt-get install -y libnuma1", "tags": ("root",)}, True, True),
        (
            {"change": '"stream": true', "title": "Stream the answer", "kind": "step", "tags": ("request",)},
            False,
            False,
        ),
        ({"change": "Wait for it", "kind": "step", "tags": ("wait",)}, False, False),
        ({"change": "sysctl vm.overcommit_memory=1", "root": False, "tags": ("root",)}, True, False),
        ({"change": "pip install -U vllm", "restart": False}, False, False),
    ],
)
def test_effort_by_the_tags_of_a_fix(fix: dict[str, Any], restart: bool, root: bool) -> None:
    """What the rule file says goes before what is worked out."""
    told = _told(**fix)

    assert (restart, root) == (told.restart, told.root)


def test_steps_of_client_buckets_need_no_restart() -> None:
    steps = [fix for bucket, _, fix in FIXES if bucket == "client_connection" and fix.kind == "step"]

    assert steps
    assert [fix.title for fix in steps if fix.restart] == []
