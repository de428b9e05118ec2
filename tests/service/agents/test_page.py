"""What docs/agents.md shows and says is so (TRIAGE_BLESS=1 writes the sample anew)."""

from __future__ import annotations

import os
import re

import pytest

from tests.service.agents.conftest import ROOT
from vllm_triage.service.agents.interface import load, names

PAGE = ROOT / "docs/agents.md"


@pytest.mark.anyio
async def test_the_sample_is_what_is_answered(ask):
    pattern = re.compile(r"(<!-- sample: triage_log -->\n````text\n)(.*?\n)(````\n)", re.DOTALL)
    async with ask() as client:
        answer = await client.call_tool("triage_log", {"path": "server.log", "budget": 4000})
    told = answer.content[0].text + "\n"
    text = PAGE.read_text("utf-8")
    if os.environ.get("TRIAGE_BLESS"):
        text = pattern.sub(lambda found: found[1] + told + found[3], text)
        PAGE.write_text(text, "utf-8")
    found = pattern.search(text)

    assert found is not None
    assert told == found[2]


def test_every_tool_has_a_row_with_what_it_takes():
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE.read_text("utf-8"), re.MULTILINE))

    assert sorted(rows) == list(names())
    for name in names():
        if name != "plan_memory":  # as the HTTP API, it says
            assert set(load(name).Asked.model_fields) <= set(re.findall(r"`(\w+)`", rows[name])), name
