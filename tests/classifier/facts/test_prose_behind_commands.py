"""A sentence that goes on behind a quoted command is not part of it."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.facts.arguments import cut_command

COMMAND = "vllm serve acme/x-8b --max-model-len 8192 --enable-prefix-caching"


@pytest.mark.parametrize(
    "prose",
    [" on 2xA100 and get", " -- this is what I run", " (worked with 0.10)", ", then it fails", " fails after a minute.", " => out of memory", " — one L40S"],
)  # fmt: skip
def test_a_sentence_behind_a_command_is_cut_off(prose: str) -> None:
    assert cut_command(COMMAND + prose) == COMMAND


@pytest.mark.parametrize(
    "option",
    [
        """--override-generation-config '{"stop": ["and then", "on it"], "n": 1}'""",
        "--served-model-name 'the model on two GPUs'",
        "--chat-template /data/for/all.jinja --api-key x",
    ],
)
def test_values_stay_whole(option: str) -> None:
    assert cut_command(f"{COMMAND} {option}") == f"{COMMAND} {option}"
