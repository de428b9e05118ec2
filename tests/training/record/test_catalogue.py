"""The fault catalogue: what the TOML files must and must not say."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.corpus import load
from vllm_triage.training.record.faults import Catalogue, CatalogueError, within

CATALOGUE = Catalogue()
EVERYTHING = [f"{a}.{b}.{c}" for a, b, c in itertools.product(range(3), range(41), range(10))]
VERSIONS = st.sampled_from(EVERYTHING)


def test_there_are_enough_faults_and_healthy_runs_in_every_release():
    """Every release that can be recorded has at least 45 faults and 8 healthy runs."""
    for release in CATALOGUE.releases:
        buckets = [fault.outcome(release).bucket for fault in CATALOGUE.faults_of(release)]
        assert buckets.count("no_failure") >= 8
        assert len(buckets) - buckets.count("no_failure") >= 45


def test_every_bucket_named_is_one_of_the_corpus():
    """A bucket that does not exist can never be answered."""
    known = set(load().buckets())
    named = {
        bucket
        for fault in CATALOGUE.faults.values()
        for outcome in (fault, *fault.variant)
        for bucket in (outcome.bucket, *outcome.also)
    }
    assert set() == named - known - {"unknown"}


def test_every_model_folder_that_a_fault_uses_is_made_or_missing_on_purpose():
    """A misspelt model would be recorded as a missing one."""
    made = {*CATALOGUE.models, *CATALOGUE.adapters}
    for fault in CATALOGUE.faults.values():
        texts = [fault.model, fault.script, *fault.arguments, *fault.command]
        used = {text.split("/")[0].split('"')[0] for given in texts for text in given.split("{models}/")[1:]}
        assert set() == {name for name in used if name not in made and not name.startswith("no-such-")}, fault.id


def test_every_signal_goes_to_somebody_and_every_action_is_complete():
    """An action without its figures would do nothing, unseen."""
    for fault in CATALOGUE.faults.values():
        for action in fault.traffic:
            needed = {
                "signal": action.signal and action.process,
                "wait": action.seconds,
                "wait-for": action.text,
                "raw": action.text,
            }
            assert needed.get(action.do, True), fault.id


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[[fault]]\nid = "a"\nbroken = "x"\nbucket = "lora"', "evidence"),
        ('[[fault]]\nid = "a"\nbroken = "x"\nbucket = "lora"\nevidence = ["("]', "evidence"),
        ('[[fault]]\nid = "a"\nbroken = "x"\nbucket = "no_failure"\nmodle = "x"', "modle"),
        ('[[fault]]\nid = "A b"\nbroken = "x"\nbucket = "no_failure"', "fault A b"),
        ('[[falut]]\nid = "a"', "falut"),
        ('[[model]]\nid = "a"\n[[model]]\nid = "a"', "twice"),
    ],
)
def test_a_wrong_catalogue_is_refused_and_the_place_named(tmp_path: Path, text: str, complaint: str):
    """A misspelt key, a failure without evidence, an unreadable pattern: all are errors, with the file's name."""
    (tmp_path / "broken.toml").write_text(text)
    with pytest.raises(CatalogueError, match=complaint) as error:
        Catalogue(tmp_path)
    assert str(error.value).startswith("broken.toml: ")


def test_a_variant_replaces_the_outcome_in_its_releases_only(tmp_path: Path):
    """The same fault may end otherwise in other releases."""
    (tmp_path / "one.toml").write_text(
        '[[fault]]\nid = "a"\nbroken = "x"\nbucket = "lora"\nevidence = ["x"]\n'
        'variant = [{ since = "0.9", until = "0.10", bucket = "no_failure" }]'
    )
    fault = Catalogue(tmp_path).faults["a"]
    assert [fault.outcome(v).bucket for v in ("0.8.5", "0.9.0", "0.10.2", "0.11.0")] == [
        "lora",
        "no_failure",
        "no_failure",
        "lora",
    ]


@given(VERSIONS, VERSIONS)
def test_of_two_ranges_that_meet_exactly_one_holds(given_version: str, border: str):
    """Every release lies before a border or from it on, never both."""
    before = _below(border)
    lower = before is not None and within(given_version, "0", before)
    assert lower != within(given_version, border, "999")


def _below(version: str) -> str | None:
    """Return the last release before ``version`` in the numbers that the strategy uses; None where there is none."""
    place = EVERYTHING.index(version)
    return EVERYTHING[place - 1] if place else None
