"""Advice of a kind that was seldom right is not shown, and what is shown says how often it was."""

from __future__ import annotations

import json
from pathlib import Path

from vllm_triage.classifier.advice import SILENT, track_record
from vllm_triage.classifier.api import shared

KNOWN = (
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.0 GiB KV cache is needed, which is larger "
    "than the available KV cache memory (5.12 GiB). Based on the available memory, the estimated maximum model length is 41936.\n"
)
NOBODYS = "(EngineCore pid=7) ERROR 11-21 12:00:01 [core.py:845] acme.CogError: cog 7 is gone\n"


def test_a_guess_is_withheld_with_its_share() -> None:
    """There is no fix then, a note says so, and nobody is sent on an errand."""
    report = shared().report(NOBODYS)
    assert report.failed
    assert () == report.fixes
    assert SILENT in report.notes
    assert any("right in" in withheld.reason for withheld in report.withheld)
    assert "" == report.corrected_command


def test_what_the_error_names_is_shown_with_its_share() -> None:
    """In the order of the ranks."""
    report = shared().report(KNOWN)
    assert [1, *range(2, len(report.fixes) + 1)] == [fix.rank for fix in report.fixes]
    assert all(0 < (fix.confidence or 0.0) < 1 for fix in report.fixes)
    assert '"confidence"' in report.to_json().partition('"fixes"')[2]


def test_no_cause_and_no_words_are_in_the_record() -> None:
    """It holds for what nobody has read: ways of deciding, kinds of action, tags."""
    weights = json.loads(Path(track_record.FILE).read_text(encoding="utf-8"))["weights"]
    assert {"right", "worth", "refuted"} == set(weights)
    kinds = ("place_", "by_", "way_", "tag_", "tier_", "does_")
    single = {"", "fixed_in", "worked_out", "has_source", "sure"}
    for table in weights.values():
        assert [name for name in table if name not in single and not name.startswith(kinds)] == []


def test_a_surer_answer_makes_surer_advice() -> None:
    """The share rises with the confidence of the rule that decided, and a search is worth less than what a message names."""
    traits = {"place_0": 1.0, "by_rule": 1.0, "does_sets_option": 1.0}
    assert track_record.share_of("right", traits | {"sure": 4.0}) > track_record.share_of(
        "right", traits | {"sure": 1.0}
    )
    assert track_record.share_of("right", traits | {"tag_search": 1.0}) < track_record.share_of("right", traits)


def test_what_was_read_is_told_less_sure_than_it_is_worth() -> None:
    """Rules are right oftener on logs that were read when they were written: the number that is told leaves that out."""
    traits = {"place_0": 1.0, "by_rule": 1.0, "way_certain": 1.0, "tier_first": 1.0, "sure": 4.0}
    assert track_record.share_of("right", traits) < track_record.share_of("worth", traits)
