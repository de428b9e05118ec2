"""The table: all releases in one file, nothing lost on the way there and back."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.training.options.release import SECTIONS, Release
from vllm_triage.training.options.table import pack, text, unpack

ATTRIBUTES = st.dictionaries(
    st.sampled_from(["default", "choices", "kind"]),
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(0, 3), max_size=2),
)
RELEASE = st.fixed_dictionaries(
    {name: st.dictionaries(st.sampled_from(["--a", "--b", "c"]), ATTRIBUTES) for name in SECTIONS}
)
RELEASES = st.lists(RELEASE, min_size=1, max_size=6).map(
    lambda items: {f"0.{place}.0": item for place, item in enumerate(items)}
)


@given(RELEASES)
def test_unpacking_gives_back_what_was_packed(releases: dict[str, Release]) -> None:
    """Any history of any option: gone, back again, changed, with and without an attribute; 1 and True kept apart."""
    table = json.loads(text(pack(releases)))
    assert json.dumps(unpack(table), sort_keys=True) == json.dumps(releases, sort_keys=True)


def test_an_entry_holds_runs_of_releases_and_changes() -> None:
    """What makes the table small: nothing is written twice."""
    history = [{"default": 1}, {"default": 1}, None, {"default": 2}, {}]
    releases: dict[str, Release] = {
        f"0.{place}.0": {name: {"--a": cell} if name == "flags" and cell is not None else {} for name in SECTIONS}
        for place, cell in enumerate(history)
    }
    assert pack(releases)["flags"] == {"--a": {"on": [[0, 1], [3, 4]], "default": [[0, 1], [3, 2], [4]]}}


def test_the_file_has_one_name_a_line() -> None:
    """A new release shows in a review as the lines that it changed."""
    releases: dict[str, Release] = {"0.1.0": {name: {"--a": {}, "--b": {}} for name in SECTIONS}}
    lines = text(pack(releases)).splitlines()
    assert lines.count('"--a":{"on":[[0,0]]},') == len(SECTIONS)


def test_a_table_of_another_format_counts_as_empty() -> None:
    """A changed miner reads all releases again rather than mix what two of them saw."""
    table = pack({"0.1.0": {name: {} for name in SECTIONS}})
    assert unpack({**table, "format": -1}) == {}
