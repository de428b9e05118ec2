"""Whatever shows a proposed fix shows that it is one."""

from __future__ import annotations

import pytest

from tests.service.ask.double import ANSWER
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.proposal import Proposal
from vllm_triage.classifier.report.model import Report
from vllm_triage.corpus.store import HERE
from vllm_triage.service.render.interface import Options, Result, names, render

EVIDENCE = {"pack", "prompt"}
"""What says nothing of proposals."""


def joint() -> Report:
    """Return an answer in which a proposed fix stands first."""
    with open(f"{HERE}/logs/written/kv-cache-too-small.log", encoding="utf-8") as file:  # noqa: PTH123
        return shared().report(file.read(), proposals=[Proposal.from_json(ANSWER, "acme/oak-70b")])


@pytest.mark.parametrize("form", names())
def test_every_format_says_whose_a_fix_is(form) -> None:
    """Beside the fix, with who; evidence for the next reader holds neither."""
    told = render(form, [Result("x.log", joint())], Options(width=120, color="never", height=0))
    assert ("--max-model-len 32768" in told, "proposed by acme/oak-70b" in told.replace("\\", "")) == (
        (False, False) if form in EVIDENCE else (True, True)
    )


def test_notebooks_and_plain_text_do_too() -> None:
    """What ``print`` and a cell show."""
    report = joint()
    assert "proposed by acme/oak-70b" in str(report)
    assert "proposed by acme/oak-70b" in report._repr_html_()
    assert "proposed by acme/oak-70b" in str(report.to_row()["fix"])


def test_messages_of_chats_do_too() -> None:
    """Each in its form."""
    from vllm_triage.service.chat import discord_embed, short, slack_blocks, teams_card
    from vllm_triage.service.chat.interface import Event

    event = Event(joint())
    made = [short.text(event), slack_blocks.message(event), teams_card.message(event), discord_embed.message(event)]
    assert [True] * 4 == ["proposed by acme/oak-70b" in str(told).replace("\\", "") for told in made]
