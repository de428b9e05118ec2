"""Lines that lost their end, anywhere in a log: every rule and every correction has to live with half a message."""

from __future__ import annotations

import re
from random import Random

import pytest

from tests.damaged import recorded, written
from tests.everyday import sample
from vllm_triage.classifier.api import shared

BEHIND_A_COLON = re.compile(r"(?<=[Ee]rror: )[^\n]*|(?<=arguments: )[^\n]*")


def _empty(log: str, _chance: Random) -> str:
    return BEHIND_A_COLON.sub("", log)


def _blank(log: str, _chance: Random) -> str:
    return BEHIND_A_COLON.sub("  ", log)


def _short(log: str, chance: Random) -> str:
    return "\n".join(
        line[: chance.randrange(len(line) + 1)] if chance.random() < 0.5 else line for line in log.split("\n")
    )


def _unspaced(log: str, chance: Random) -> str:
    words = log.split(" ")
    return " ".join("" if chance.random() < 0.1 else word for word in words)


@pytest.mark.parametrize("cut", [_empty, _blank, _short, _unspaced])
def test_half_a_message_is_answered(cut) -> None:
    """Whatever it is taken for, there is a report that can be written."""
    chance = Random(20261123)
    for log in sample([*written(), *recorded(2)], 15):
        text = cut(log.text, chance)
        if text.strip():
            assert shared().report(text).to_dict()["bucket"]
