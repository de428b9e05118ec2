"""Stored expressions are what ``re`` would have made, and a table that cannot be used costs time, never an answer."""

from __future__ import annotations

import marshal
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vllm_triage.classifier.patterns import precompiled as stored
from vllm_triage.corpus.packed_rules import joined, parts_of

EXPRESSIONS: list[tuple[str | bytes, int]] = [
    ("a(?P<x>b)?c", 0), (rb"\d+(?=x)", 0), ("[äß]+|(?i:K)", re.IGNORECASE), (r"^\s*#.*$", re.MULTILINE), ("(a)(?P<b>b)(c)", re.DOTALL),
    (r"(?x) a  b # words", 0), ("(?<=a)b|[^\\W\\d_]{2,5}?", re.ASCII),
]  # fmt: skip
TEXT = "abc ac 12x 34 äßÄ kK\u212a # note\n  # more\nab abc b xyz"


def holding(build: str, form: bytes) -> bytes:
    """Return a table with one form, of the expression ``a``."""
    key, end = (array("I", [number]).tobytes() for number in (stored._key("a", 0), len(form)))
    return joined(build.encode(), key, end, form)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A table of all expressions, in the place of the installed one."""
    path = tmp_path / "patterns.marshal"
    stored.write(path, EXPRESSIONS)
    monkeypatch.setattr(stored, "FILE", str(path))
    stored._stored.cache_clear()
    stored.compiled.cache_clear()
    yield path
    stored._stored.cache_clear()
    stored.compiled.cache_clear()


@pytest.mark.parametrize(("source", "flags"), EXPRESSIONS)
def test_a_stored_expression_is_the_compiled_one(table: Path, source: Any, flags: int) -> None:
    """Same program, flags and groups; ``re.compile`` is not asked."""
    text: Any = TEXT.encode() if isinstance(source, bytes) else TEXT
    expected: Any = re.compile(source, flags)
    made = stored.compiled(source, flags)
    assert stored._form(source, int(flags)) is not None
    assert expected == made
    assert (expected.groups, dict(expected.groupindex)) == (made.groups, dict(made.groupindex))
    assert [found.groupdict() for found in expected.finditer(text)] == [
        found.groupdict() for found in made.finditer(text)
    ]


def test_what_is_not_stored_compiles(table: Path) -> None:
    assert re.compile("elsewhere") == stored.compiled("elsewhere", 0)


def test_a_broken_expression_is_left_out_and_raises_when_it_is_used(tmp_path: Path) -> None:
    stored.write(tmp_path / "table", [("(", 0), ("a", 0)])
    assert len(parts_of((tmp_path / "table").read_bytes())[1].cast("I")) == 1
    with pytest.raises(re.error):
        stored.compiled("(", 0)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\x00", b"not a table", marshal.dumps(7), holding("another build", b"x"), holding(stored._build(), b""),
        holding(stored._build(), marshal.dumps(("a", 32, [1, 2, 3], 0, {}, (None,)))), holding(stored._build(), marshal.dumps("a")),
    ],
)  # fmt: skip
def test_a_table_of_no_use_changes_nothing(table: Path, content: bytes) -> None:
    """Cut off, of another interpreter, or with a program that the engine refuses."""
    table.write_bytes(content)
    stored._stored.cache_clear()
    stored.compiled.cache_clear()
    assert re.compile("a") == stored.compiled("a", 0)


def test_no_table_is_no_error(table: Path) -> None:
    table.unlink()
    stored._stored.cache_clear()
    stored.compiled.cache_clear()
    assert re.compile("a") == stored.compiled("a", 0)
