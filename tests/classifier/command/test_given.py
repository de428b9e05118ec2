"""A start command that the user gives beside the log."""

import pytest

from vllm_triage.classifier.command.source import given_arguments, know_command, read_text
from vllm_triage.classifier.facts.types import Facts
from vllm_triage.classifier.incidents.types import Incident


def given(command: str) -> Facts:
    start = read_text(command)
    assert start is not None
    return given_arguments(start, "0.32.0")


def test_arguments_are_typed_as_the_releases_parser_types_them():
    """JSON is an object, several values are a list, switches are true or false; what cannot be read stays a text."""
    found = given(
        "vllm serve a/b --max-model-len 4096 --gpu-memory-utilization 0.9 --enforce-eager --no-enable-prefix-caching "
        "--lora-modules x=/a y=/b --speculative-config '{\"method\": \"ngram\"}' --max-num-seqs many --hf-overrides '{a: 1'"
    )
    assert found == {
        "max_model_len": 4096, "gpu_memory_utilization": 0.9, "enforce_eager": True, "enable_prefix_caching": False,
        "lora_modules": ["x=/a", "y=/b"], "speculative_config": {"method": "ngram"}, "max_num_seqs": "many",
        "hf_overrides": "{a: 1",
    }  # fmt: skip


def test_the_given_command_goes_before_the_logs_and_the_logs_arguments_stay():
    """The command is the user's; what vLLM lists of the arguments is what arrived."""
    incident = Incident(1)
    incident.facts = {"command": "vllm serve a/b", "arguments": {"port": 8000}}
    assert know_command([incident], "vllm serve c/d --port 1 --seed 3") == ""
    assert incident.facts == {
        "command": "vllm serve c/d --port 1 --seed 3", "arguments": {"port": 8000, "seed": 3}, "model": "c/d",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["ls -l", "vllm serve 'a", "", "command: [nginx]"])
def test_a_given_command_that_starts_no_vllm_is_said_to_be_none(text):
    """The log's own command stays, and a note says why."""
    incident = Incident(1)
    incident.facts = {"command": "vllm serve a/b"}
    assert know_command([incident], text).startswith("--command was left out")
    assert incident.facts == {"command": "vllm serve a/b"}
