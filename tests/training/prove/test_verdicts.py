"""From a failing start to a row of the table, on a stand-in for the starts."""

import json

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.training.prove.faults import ByHand, Proof
from vllm_triage.training.prove.starts import Started
from vllm_triage.training.prove.verdicts import Judge, to_row

REFUSED = (
    "vllm serve: error: argument --dtype: invalid choice: '{}' (choose from 'auto', 'bfloat16', 'float16', 'float32')\n"
)
FILL = {"models": "/m", "port": "8500"}


class Stand:
    """Starts nothing: a command works where it holds no word of ``bad``."""

    def __init__(self, *bad: str, log: str = "") -> None:
        self.bad, self.log = bad, log
        self.started: list[str] = []

    def start(self, command, request, files=None):
        self.started.append(command)
        bad = next((word for word in self.bad if word in command.split()), "")
        log = (self.log or REFUSED.format(bad)) if bad else "INFO Application startup complete.\n"
        return Started(log.encode(), not bad, "" if bad else "200 {}", bool(bad) and not self.log, 1.0)


def judge(tmp_path, stand, **keys):
    fault = Proof(id="x", broken="x", group="values", buckets=["invalid_argument"], **keys)
    return Judge(stand, shared(), tmp_path, FILL, "0.32.0").judge(fault)


def test_the_corrected_command_is_run_verbatim(tmp_path):
    """bf16 is written out, everything else stays."""
    stand = Stand("bf16")
    verdict = judge(tmp_path, stand, arguments=["--dtype", "bf16"])
    assert stand.started[-1] == "vllm serve /m/proof --host 127.0.0.1 --port 8500 --enforce-eager --dtype bfloat16"
    assert (verdict.cured_by, verdict.right, verdict.command, verdict.keeps, verdict.parses) == (
        1,
        True,
        True,
        True,
        True,
    )
    assert verdict.tried[0].command.startswith("vllm serve /models/proof --host 127.0.0.1 --port {port}")
    assert json.loads(to_row(verdict))["fault"] == "x"


def test_a_command_that_fails_again_is_no_cure_and_says_why(tmp_path):
    """The parser's refusal counts against it."""
    verdict = judge(tmp_path, Stand("bf16", "bfloat16"), arguments=["--dtype", "bf16"])
    assert (verdict.cured_by, verdict.command, verdict.parses) == (0, True, False)
    assert "invalid choice" in verdict.tried[0].why_not


def test_a_fault_that_does_no_harm_is_not_counted(tmp_path):
    """The server serves all the same."""
    assert judge(tmp_path, Stand(), arguments=["--dtype", "bf16"]) is None


def test_what_was_started_once_is_not_started_again(tmp_path):
    """Logs and outcomes are kept by command."""
    judge(tmp_path, Stand("bf16"), arguments=["--dtype", "bf16"])
    again = Stand("bf16")
    judge(tmp_path, again, arguments=["--dtype", "bf16"])
    assert again.started == []


@pytest.mark.parametrize(("says", "cured"), [("path", 1), ("no such words", 0)])
def test_a_step_cures_where_a_person_knows_what_to_fill_in(tmp_path, says, cured):
    """Only what the fix tells them to do."""
    log = (
        "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': "
        "'/m/none'. Use `repo_type` argument if needed.\n"
    )
    stand = Stand("/m/none", log=log)
    hand = ByHand(says=says, instead={"{models}/none": "{models}/proof"})
    verdict = judge(tmp_path, stand, model="{models}/none", by_hand=[hand])
    assert (verdict.cured_by, verdict.tried[0].by) == (cured, "hand" if cured else "")
