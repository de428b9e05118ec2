"""The table of options as a wheel holds it says what the files of the corpus say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vllm_triage.corpus import options
from vllm_triage.corpus.options_table import SECTIONS, Section, Table, made_of, pack, unpack

TOLD = {
    "releases": ["0.1.0", "0.2.0"],
    "flags": {"--a-b": {"on": [[0, 1]], "aliases": [[0, ["-a", "--ab"]], [1, ["-a"]]]}, "--c": {"on": [[1, 1]]}},
    "variables": {"VLLM_A": {"on": [[0, 0]]}},
    "arguments": {},
    "metrics": {},
}


def made() -> Table:
    """Return a table of two releases."""
    build = {"VLLM_B": {"first": "0.1.0", "last": "0.2.0"}, "VLLM_A": {"first": "0.1.0", "last": "0.2.0"}}
    return made_of(TOLD, build, options.version_key)


def test_what_the_build_alone_reads_is_added_and_changes_nothing_that_is_told():
    """By the numbers of its releases."""
    assert {"VLLM_A": {"on": [[0, 0]]}, "VLLM_B": {"on": [[0, 1]]}} == made().sections["variables"]


def test_other_names_lead_to_their_flags():
    """Each flag once, however many releases told the name."""
    assert {"-a": ["--a-b"], "--ab": ["--a-b"]} == made().aliases


def test_packed_and_unpacked_it_says_the_same(tmp_path):
    """All of the shipped table."""
    known = json.loads(Path(options.KNOWN).read_bytes())
    whole = made_of(json.loads(Path(options.TABLE).read_bytes()), known["build"], options.version_key)
    path = tmp_path / "options.marshal"
    path.write_bytes(pack(whole))
    back = unpack(str(path))
    assert (whole.releases, whole.keys, whole.aliases) == (back.releases, back.keys, back.aliases)
    assert {name: dict(whole.sections[name]) for name in SECTIONS} == {
        name: dict(back.sections[name].items()) for name in SECTIONS
    }


def test_an_option_that_is_not_there_is_a_key_error():
    """As in any mapping."""
    section = Section({})
    assert "--x" not in section
    with pytest.raises(KeyError):
        section["--x"]
