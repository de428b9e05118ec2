"""From which release to which vLLM's sources hold the words of a rule."""

from __future__ import annotations

import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from vllm_triage.training.drift.lifetimes import Lifetime, lifetimes, read_sources


def _rule(name: str, versions: str, *literals: str) -> SimpleNamespace:
    return SimpleNamespace(id=name, versions=versions, literals=literals)


SOURCES = [("0.8.5", b"old words; common"), ("0.9.2", b"old words; common"), ("0.11.0", b"common; new words")]


def test_lifetimes_by_the_sources() -> None:
    """A rule lives as long as one of its literals; words that stand nowhere are another program's."""
    rules = [
        _rule("a", "", "old words"),
        _rule("b", "", "new words"),
        _rule("c", "", "old words", "common"),
        _rule("d", "", "nowhere"),
    ]

    found = {life.rule: (life.first, life.last, life.gone) for life in lifetimes(rules, SOURCES)}

    assert {"a": ("0.8.5", "0.9.2", "0.11.0"), "b": ("0.11.0", "0.11.0", ""), "c": ("0.8.5", "0.11.0", "")} == found


@pytest.mark.parametrize(
    ("versions", "gone", "complains"),
    [
        ("", "0.11.0", True),
        (">=0.8", "0.11.0", True),
        ("<0.11", "0.11.0", False),
        ("", "", False),
        (">=0.8", "", False),
    ],
)
def test_complaint_where_an_upper_bound_is_missing(versions: str, gone: str, complains: bool) -> None:
    assert complains == bool(Lifetime("a", versions, "0.8.5", "0.9.2", gone).complaint("0.33.0"))


def test_messages_in_two_parts_are_read_as_one(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "vllm-0.9.2.zip", "w") as archive:
        archive.writestr("vllm/a.py", 'raise ValueError("No available memory "\n    f"for the cache")\n')
        archive.writestr("vllm/b.txt", "not read")

    text = read_sources(tmp_path / "vllm-0.9.2.zip")

    assert b"No available memory for the cache" in text
    assert b"not read" not in text
