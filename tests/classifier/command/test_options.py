"""``--command`` and ``--as`` on the command line."""

from __future__ import annotations

import json

import pytest

from tests.fixtures.marked import FOLDER
from vllm_triage.service.cli.main import main

LOG = str(FOLDER / "kv_cache_oom-0.33.0-tp2.log")
GIVEN = "docker run --gpus all vllm/vllm-openai:v0.33.0 --model a/b --api-key topsecret1"


def test_the_given_command_is_corrected(capsys):
    """What the user says was run is shown with the fix applied, and no secret of it."""
    assert main([LOG, "--command", GIVEN]) == 1
    shown = " ".join(capsys.readouterr().out.replace("\\\n", " ").split())
    assert "vllm/vllm-openai:v0.33.0 --model a/b --api-key '<secret>' --max-model-len 43984" in shown
    assert "topsecret1" not in shown


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("shell", "  vllm serve acme/harbor-32b --tensor-parallel-size 2 --max-model-len 43984"),
        ("compose", "        - --max-model-len"),
        ("kubernetes", '        - "43984"'),
        ("helm", "      - --max-model-len"),
        ("python", "      max_model_len=43984,"),
        ("diff", "  +    --max-model-len 43984"),
    ],
)
def test_the_text_ends_with_the_form_asked_for(form, line, capsys):
    """One form at a time, indented as a block."""
    assert main([LOG, "--as", form]) == 1
    assert line in capsys.readouterr().out.splitlines()


def test_json_carries_every_form_whatever_is_asked_for(capsys):
    """The corrected command stays the shell's, the other forms stand beside it."""
    assert main([LOG, "--as", "python", "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (
        data["corrected_command"]
        == data["corrected"]["shell"]
        == "vllm serve acme/harbor-32b --tensor-parallel-size 2 --max-model-len 43984"
    )
    assert data["corrected"]["basis"] == "arguments"


def test_a_command_that_starts_no_vllm_is_noted(capsys):
    """The answer is given all the same."""
    assert main([LOG, "--command", "ls -l", "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert any("--command was left out" in note for note in data["notes"])
    assert data["corrected_command"] == "vllm serve acme/harbor-32b --tensor-parallel-size 2 --max-model-len 43984"
