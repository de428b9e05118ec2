"""docs/collectors.md says what the protocols say."""

from __future__ import annotations

import re

from tests.service.collect.conftest import ROOT
from vllm_triage.service.collect.entries import NAMES
from vllm_triage.service.collect.registry import load, names

PAGE = (ROOT / "docs/collectors.md").read_text("utf-8")


def test_every_protocol_has_its_row():
    rows = re.findall(r"^\| `POST (/\S+)` \| (.*) \|$", PAGE, re.MULTILINE)

    assert sorted(rows) == sorted((load(name).PATH, load(name).ABOUT) for name in names())


def test_every_part_of_a_name_is_told():
    assert [part for part in NAMES if f"\n| {part} | " not in PAGE] == []
    told = set(re.findall(r"`([\w.]+)`", PAGE))
    assert [alias for names in NAMES.values() for alias in names[:1] if alias not in told] == []
