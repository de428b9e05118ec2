"""Which releases can have written a log, and what advice makes of it."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import Triage, shared
from vllm_triage.classifier.situation.releases import ReleaseBound, bound_of, gone_from, reference

RELEASES = ("0.6.3", "0.8.5", "0.9.1", "0.9.2", "0.10.0", "0.10.2", "0.11.0", "0.33.0")


@pytest.mark.parametrize(
    ("facts", "ranges", "expected"),
    [
        ({"vllm_version": "0.8.5"}, ["<0.7"], ("0.8.5",)),
        ({}, [], RELEASES),
        ({"engine": "V0"}, [], RELEASES[:-2]),
        ({"engine": "V1"}, [], RELEASES[1:]),
        ({}, ["<0.11"], RELEASES[:-2]),
        ({}, [">=0.8,<0.9"], ("0.8.5",)),
        ({}, ["<0.9", "<=0.6.3"], ("0.6.3",)),
        ({}, ["<0.9", ">=0.11"], ("0.6.3", "0.8.5")),
        ({"vllm_version": "0.1.dev3151+g31c7178"}, [], RELEASES),
    ],
)
def test_bound(facts: dict[str, str], ranges: list[str], expected: tuple[str, ...]) -> None:
    """The log's own goes first; then all that every sign allows, and of signs that contradict the first."""
    assert expected == bound_of(facts, [(text, "a sign") for text in ranges], RELEASES).releases


class Places:
    """What the places in a log tell of its release."""

    def __init__(self, marks: int, *releases: str, fitting: int = 0, nearest: tuple[str, ...] = ()) -> None:
        self.marks, self.releases, self.nearest = marks, releases, nearest
        self.fitting = fitting or marks


@pytest.mark.parametrize(
    ("places", "facts", "expected", "likely"),
    [
        (Places(10, "0.9.2"), {}, ("0.9.2",), "0.9.2"),
        (Places(5, "0.9.2"), {}, ("0.9.1", "0.9.2", "0.10.0"), "0.9.2"),
        (Places(9, fitting=6, nearest=("0.9.2",)), {}, ("0.9.1", "0.9.2", "0.10.0"), "0.9.2"),
        (Places(2, "0.9.2"), {}, ("0.8.5", "0.9.1", "0.9.2", "0.10.0", "0.10.2"), ""),
        (Places(10, "0.33.0"), {"engine": "V0"}, ("0.33.0",), "0.33.0"),
        (Places(1, "0.33.0"), {"engine": "V0"}, ("0.10.0", "0.10.2"), ""),
        (Places(1), {}, RELEASES, ""),
    ],
)
def test_places_in_the_log_bound_the_release(
    places: Places, facts: dict[str, str], expected: tuple[str, ...], likely: str
) -> None:
    """Ten that fit are a release's own; with fewer, or where one is wrong, its neighbours may have written the log as well."""
    found = bound_of(facts, [], RELEASES, lambda: places)  # type: ignore[arg-type,return-value]
    assert (found.releases, found.likely) == (expected, likely)


def test_what_advice_asks_of_a_bound() -> None:
    """A range holds for all, for none or for some; an option exists in all, in none, or from one on."""
    bound = ReleaseBound("", ("0.8.5", "0.9.2", "0.10.2"), ("a sign",), True)
    assert [bound.within(text) for text in (">=0.8", "<0.8", ">=0.9")] == [True, False, None]
    assert [bound.having(name) for name in ("--dtype", "--no-such-option")] == ["", None]
    assert bound.having("--mm-encoder-tp-mode") == ">=0.10.2"  # 0.10.1 brought it
    assert (str(bound), reference(bound, RELEASES)) == ("0.8.5 to 0.10.2", "0.10.2")


@pytest.mark.parametrize(
    ("ranges", "releases", "expected"),
    [
        ("<0.11", ("0.9.2",), "0.11"),
        ("<0.11", ("0.12.0",), ""),
        ("<0.11", ("0.9.2", "0.12.0"), "0.11"),
        (">=0.8", ("0.9.2",), ""),
        (">=0.6,<0.9", ("0.8.5",), "0.9"),
        ("<=0.9", ("0.8.5",), ""),
    ],
)
def test_words_that_are_gone(ranges: str, releases: tuple[str, ...], expected: str) -> None:
    """An upgrade past the words helps wherever the server may still have had them."""
    assert expected == gone_from(ranges, ReleaseBound("", releases, (), True))


def test_advice_for_a_log_without_a_version_says_for_which_release_it_is() -> None:
    """It is never taken for the newest's: what bounds it is named, and options are held against all that are left."""
    log = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
    answer = shared().report(log)

    assert any("The log does not say which vLLM release ran" in note for note in answer.notes)
    assert not any("newest" in note for note in answer.notes)
    assert not any("does not tell" in note for note in Triage(vllm_version="0.8.5").report(log).notes)
