"""The sample logs that this project ships are answered as their list says."""

from __future__ import annotations

import re

import pytest

from vllm_triage.classifier.testing import CORPUS, assert_verdict

FOLDER = CORPUS / "logs" / "written"
LISTED = dict(re.findall(r"^\| `([\w.-]+\.log)` .* `(\w+/\w+)` \|$", (FOLDER / "README.md").read_text(), re.MULTILINE))


def test_the_list_is_complete():
    """Every log of the folder, and nothing else."""
    assert set(LISTED) == {path.name for path in FOLDER.glob("*.log")}


@pytest.mark.parametrize("name", LISTED)
def test_a_written_log_is_answered_as_listed(name):
    """What a person sees who tries one."""
    assert_verdict(FOLDER / name, LISTED[name])
