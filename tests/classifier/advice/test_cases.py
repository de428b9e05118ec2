"""What past readings of answers found wrong, as data: a miss adds a case to a file of ``cases/``, never a test.

A case holds a log, what the first fix's change begins with (``first``), what a title or change holds (``shown``), and what none
of them holds (``absent``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vllm_triage.classifier import triage

FOLDER = Path(__file__).parent / "cases"
KEYS = {"log", "first", "shown", "absent"}


def cases() -> Iterator[Any]:
    """Yield the cases of all files."""
    for path in sorted(FOLDER.glob("*.toml")):
        for number, case in enumerate(tomllib.loads(path.read_text(encoding="utf-8"))["case"], 1):
            yield pytest.param(case, id=f"{path.stem}-{number}-{case.get('first') or case.get('shown') or ''}"[:60])


@pytest.mark.parametrize("case", [*cases()])
def test_the_advice_is_what_a_reader_asked_for(case: dict[str, Any]) -> None:
    """First what the log asks for; nothing that it rules out."""
    assert set(case) <= KEYS
    assert set(case) > {"log"}
    fixes = triage(case["log"]).fixes
    said = [f"{fix.title}\n{fix.change}" for fix in fixes]
    assert fixes
    assert fixes[0].change.startswith(case.get("first", "")), said
    assert any(case.get("shown", "") in each for each in said), said
    assert [] == [(word, each) for word in case.get("absent", ()) for each in said if word in each]
