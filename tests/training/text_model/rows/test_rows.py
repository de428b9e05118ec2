"""The training set: labels by place, texts drawn from patterns, augmentation that is the same each time."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.text_model.ask import units
from vllm_triage.corpus import load
from vllm_triage.corpus.compiler import read_bucket
from vllm_triage.training.examples.row import Row, digest_of, later, read_rows, write_rows
from vllm_triage.training.examples.terms import judged_parts, terms
from vllm_triage.training.text_model.rows.augment import variants
from vllm_triage.training.text_model.rows.dataset import CORPUS
from vllm_triage.training.text_model.rows.label import _table, by_place
from vllm_triage.training.text_model.rows.other_software import other_rows
from vllm_triage.training.text_model.rows.pattern_texts import draw
from vllm_triage.training.text_model.rows.rules import rule_rows

ROW = Row("ValueError: max_num_seqs (4) must be greater than 0", "invalid_argument", "g", "rule")


@pytest.mark.parametrize(
    ("path", "kind", "bucket"),
    [
        ("vllm/lora/peft_helper.py", "ValueError", "lora"),
        ("vllm/config/parallel.py", "ValueError", "parallel_config"),
        ("vllm/config/model.py", "ValueError", "invalid_argument"),
        ("vllm/v1/core/kv_cache_utils.py", "ValueError", "kv_cache_oom"),
        ("vllm/v1/core/sched/scheduler.py", "AssertionError", "engine_bug"),
        ("vllm/loras.py", "ValueError", ""),
        ("vllm/version.py", "ValueError", ""),
    ],
)
def test_the_longest_prefix_labels(path: str, kind: str, bucket: str) -> None:
    """A module's own line goes before its package's; a name that only begins alike is another."""
    assert by_place(path, kind) == bucket


def test_every_place_names_a_bucket() -> None:
    """A typing error would make a class of its own."""
    assert set(_table()[0].values()) <= set(load().buckets())


@pytest.mark.parametrize(
    "pattern",
    [
        r"CUDA (?:error|failure): (?P<text>out of memory|illegal access)",
        r"rank (\d+) of \d{1,3}",
        r"failed .{0,40} after [\d.]+ s",
        r"(?<!not )found [A-Z]\w+",
    ],
)
def test_drawn_texts_match_their_pattern(pattern: str) -> None:
    """Each draw is checked by the expression itself."""
    found = draw(pattern, 5, random.Random(1))
    assert found
    assert all(re.search(pattern, text) for text in found)


@given(st.text(alphabet="ab(|)[]\\d+*?.{2}^$", max_size=25))
def test_drawing_never_raises(pattern: str) -> None:
    """What cannot be drawn yields nothing."""
    assert all(isinstance(text, str) for text in draw(pattern, 2, random.Random(1)))


def test_augmentation_is_the_same_each_time() -> None:
    """The same seed yields the same rows, and the row itself goes first."""
    first, second = list(variants(ROW, random.Random(7))), list(variants(ROW, random.Random(7)))
    assert first == second
    assert first[0].text == ROW.text
    assert {row.group for row in first} == {"g"}
    assert len({row.text for row in first}) > 3


def test_healthy_lines_are_not_made_errors() -> None:
    """An INFO line that were logged as ERROR would teach the wrong thing."""
    row = Row("INFO 11-02 10:00:00 [core.py:1] all is well", "no_failure", "g", "healthy")
    assert [item.text for item in variants(row, random.Random(1))] == [row.text]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.xz"])
def test_rows_come_back_as_written(tmp_path, name: str) -> None:
    """Compressed or not; the digest names the set, in its order."""
    rows = [ROW, Row("höher\nzwei", "unknown", "h", "other", "0.19.1", "weights", 0.5, "a_cause")]
    write_rows(tmp_path / name, rows)
    assert read_rows(tmp_path / name) == rows
    assert digest_of(rows) != digest_of(rows[::-1])


@pytest.mark.parametrize(
    ("release", "newest", "expected"),
    [("0.23.0", "0.19.1", True), ("0.19.1", "0.19.1", False), ("0.9.2", "0.10.2", False), ("", "0.19.1", False)],
)
def test_what_belongs_to_no_release_is_later_than_none(release: str, newest: str, expected: bool) -> None:
    """And nothing is later where no release is the newest."""
    assert later(release, newest) is expected
    assert later(release, "") is False


def test_rules_give_rows_of_their_bucket_and_healthy_ones() -> None:
    """Causes are labelled with their bucket, benign rules with no_failure."""
    rows = list(rule_rows([read_bucket(CORPUS / "buckets" / "kv_cache_oom.toml")], random.Random(1)))
    assert {row.bucket for row in rows} <= {"kv_cache_oom", "no_failure"}
    assert sum(row.bucket == "kv_cache_oom" for row in rows) > 10


def test_every_written_negative_can_be_judged() -> None:
    """A line that yields no term would teach nothing."""
    empty = [row.text for row in other_rows(random.Random(1)) if row.bucket == "unknown" and not terms(row)]
    assert empty == []


def test_paths_figures_and_names_are_normalised() -> None:
    """Two machines' copies of one error have the same words."""
    texts = [
        "ValueError: cannot read /data/a/model with 4096 tokens at 0x7f12",
        "ValueError: cannot read /srv/b/c/model with 17 tokens at 0x99ab",
    ]
    found = [units(*_judged(text))[0].terms.keys() for text in texts]
    assert found[0] == found[1]
    assert "w:<path>" in found[0]


def _judged(text: str):
    _, traces, lines = judged_parts(text)
    return traces, lines
