"""What errors say whatever the program."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from vllm_triage.classifier.idioms import TABLE, WORKED_OUT, idiom_of

ROWS = tomllib.loads(Path(TABLE).read_text(encoding="utf-8"))["idiom"]


@pytest.mark.parametrize(
    ("row", "text"),
    [pytest.param(row, text, id=f"{row['id']}-{at}") for row in ROWS for at, text in enumerate(row["examples"])],
)
def test_each_row_explains_its_examples(row: dict[str, str], text: str) -> None:
    """And no row before it does; nothing is left to fill in."""
    found = idiom_of(text)
    assert found is not None
    assert found.id == row["id"]
    assert not re.search(r"[{}]", found.says.replace("{top}", ""))


def test_there_are_rows_enough_with_slots_that_can_be_filled() -> None:
    """At least forty, each with two examples; slots are groups of the words, or worked out."""
    assert len(ROWS) >= 40
    for row in ROWS:
        groups = re.compile(row["words"]).groupindex.keys() | WORKED_OUT.keys()
        slots = set(re.findall(r"\{(\w+)\}", " ".join((row["says"], row["do"], row.get("then", "")))))
        assert slots <= groups, row["id"]
        assert len(row["examples"]) >= 2, row["id"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ModuleNotFoundError: No module named 'yaml'", "pyyaml"),
        ("ImportError: cannot import name 'override' from 'typing' (x)", "3.12"),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x4096 and 2048x9)", "exactly 2 times apart"),
        (
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x4096 and 4100x9)",
            "takes 4100 features got 4096.",
        ),
        ("worker exited with code -11", "SIGSEGV"),
        ("exit status 127", "found no such program"),
        ("ImportError: /a/b.so: undefined symbol: _ZN3c105ErrorE", "(torch)"),
        ("HTTPError: 403 Client Error: Forbidden for url: https://example.com", "the token may not do that"),
        ("UnicodeDecodeError: 'utf-8' codec can't decode byte 0x8b in position 1: x", "gzip"),
    ],
)
def test_what_follows_from_the_values_is_worked_out(text: str, said: str) -> None:
    """Packages, floors, ratios, signals, owners of symbols, kinds of files."""
    found = idiom_of(text)
    assert found is not None
    assert said in f"{found.says} {found.do}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ValueError: the sky is too low",
        "INFO: 12 of 137 shards",
        "AssertionError",
        "KeyError: 'lm_head.weight'",
        "exit code: 0",
    ],
)
def test_other_words_are_no_idiom(text: str) -> None:
    """Nothing is said of them."""
    assert idiom_of(text) is None
