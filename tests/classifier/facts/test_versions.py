"""Version strings of releases, candidates, checkouts and forks, and the ranges that options are known for."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vllm_triage.classifier.facts.versions import in_range, version_key


@pytest.mark.parametrize(
    "ordered",
    [
        ["0.6.3", "0.6.3.post1", "0.6.4", "0.10.0", "0.10.1.1", "1.0"],
        ["0.19.1", "0.19.2rc1.dev206+g95995bbef", "0.19.2"],
        ["0.9.0", "0.9.1.dev12+gabcdef", "0.9.1rc1", "0.9.1"],
    ],
)
def test_versions_are_ordered_as_they_were_released(ordered: list[str]) -> None:
    """Candidates and builds come before their release, corrections after it."""
    keys = [version_key(version) for version in ordered]
    assert None not in keys
    assert sorted(keys, key=lambda key: key or (0, 0, 0, 0, 0)) == keys


@pytest.mark.parametrize("version", ["0.1.dev3151+g31c7178", "dev", "", "main", "9" * 5000])
def test_a_build_from_a_checkout_names_no_release(version: str) -> None:
    """Then nothing is known about its options either."""
    assert version_key(version) is None
    assert in_range(version, ">=0.8") is None


@pytest.mark.parametrize(
    ("version", "wanted", "expected"),
    [
        ("0.10.2", "<=0.10", True),
        ("0.10.2", ">0.10", False),
        ("0.10.2", ">=0.8,<0.11", True),
        ("0.11.0", ">=0.8,<0.11", False),
        ("0.10.1.1+381074ae.nv25.09", ">=0.10,<0.11", True),
        ("0.8.0rc1", ">=0.8", True),
        ("0.8.0rc1", "<0.8", False),
        ("0.9.1.dev12+gabc", ">=0.9.1", True),
        ("0.8.0rc1", ">=0.8.0rc2", False),
        ("0.6.3.post1", "<=0.6.3", False),
        ("0.6.3.post1", ">=0.6.3.post1", True),
        ("0.7.3", "!=0.7.3", False),
        ("0.7.3", "", True),
    ],
)
def test_ranges_speak_of_series_and_of_releases(version: str, wanted: str, expected: bool) -> None:
    """Two numbers mean the whole series; a candidate counts as the release that it leads to."""
    assert expected == in_range(version, wanted)


@given(st.text(max_size=80), st.text(alphabet="<>=!.,0123456789rcdevpost ", max_size=40))
@example("0." + "9" * 70, ">=0.8")
@example("0.8.0", ">=" + "9" * 38)
def test_no_text_breaks_the_comparison(version: str, wanted: str) -> None:
    """Whatever a log prints as a version: yes, no or unknown."""
    assert in_range(version, wanted) in (True, False, None)
    assert in_range("0.8.0", wanted) in (True, False)
