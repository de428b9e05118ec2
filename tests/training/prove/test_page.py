"""The page of what was proved."""

import json

from vllm_triage.training.prove.__main__ import FIRST_LOOKS, ROWS, SEEN
from vllm_triage.training.prove.faults import load_faults
from vllm_triage.training.prove.page import PAGE, page, written
from vllm_triage.training.record.faults import Catalogue

FAULTS = load_faults(Catalogue())


def rows(path=ROWS):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_page_is_written_from_the_rows():
    """`python -m vllm_triage.training.prove --page` writes it anew."""
    assert PAGE.read_text(encoding="utf-8") == written(rows(), FAULTS, SEEN, rows(FIRST_LOOKS))


def test_rows_are_of_faults_that_the_catalogue_has_and_hold_nothing_of_this_machine():
    """Paths of the work folder are replaced."""
    text = ROWS.read_text(encoding="utf-8")
    assert {row["fault"] for row in rows()} <= set(FAULTS)
    assert not any(sign in text for sign in ("/work/", "/home/", "site-packages", "/tmp/"))


def test_figures_are_shares_of_the_faults_of_a_release():
    """Two faults, one cured by the second fix."""
    row = {
        "release": "1.0", "group": "values", "broken": "a|b", "cause": "x/y", "right": True, "cured_by": 1, "command": True,
        "alone": False, "parses": True, "keeps": True, "unsafe": False, "tried": [],
    }  # fmt: skip
    other = {
        **row,
        "cured_by": 2,
        "right": False,
        "command": False,
        "tried": [{"title": "Do x", "why_not": "it failed"}],
    }
    text = page([row, other], FAULTS)
    assert (
        "| 1.0 (first look) | 2 | 0.50 (1) | 0.50 (1) | 1.00 (2) | 0.50 (1) | 1.00 (1) | 0.00 (0) | 0 | 0 | 0 |" in text
    )
    assert "| a\\|b | x/y (wrong) | 2 | Do x: it failed |" in text
    assert "1.0 (seen)" in page([row], FAULTS, ["1.0"])
    assert "| 1.0 | 2 | 0.50 (1) | 0.50 (1) | 1.00 (2) | 0.50 (1) |" in page([row], FAULTS, first=[row, other])
