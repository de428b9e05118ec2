"""Rows of the catalogue: labels that were read go before those of modules; frames alone teach places."""

from __future__ import annotations

import random
import re

import pytest

from vllm_triage.corpus import load
from vllm_triage.corpus.messages import Label
from vllm_triage.corpus.messages import Row as Message
from vllm_triage.training.examples.terms import terms
from vllm_triage.training.messages.templates import Template
from vllm_triage.training.text_model.rows.augment import variants
from vllm_triage.training.text_model.rows.label import Catalogued
from vllm_triage.training.text_model.rows.messages import filled, frame_rows, message_rows
from vllm_triage.training.text_model.rows.other_software import other_rows

TEXT = "rank {} holds no harbour of this size"
FIXED = "holds no harbour of this size"


def _message(bucket: str = "parallel_config", **changed: str) -> Message:
    told = {
        "package": "torch",
        "kind": "raise",
        "name": "ValueError",
        "path": "distributed/c10d",
        "by": "read",
        "fatal": "start",
    }
    told.update(changed)
    by, fatal = told.pop("by"), told.pop("fatal")
    label = Label(bucket, "too_many_gpus", "user", fatal, False, by)
    return Message(told["package"], TEXT, told["kind"], told["name"], told["path"], "init", 1, "0.9.0", "", label)


def _template(path: str = "vllm/distributed/c10d.py") -> Template:
    return Template(path, 7, "init", "ValueError", "rank 4 holds no harbour of this size", FIXED)


def test_a_message_that_was_read_keeps_its_label() -> None:
    """The literal words find the row, whatever stood in its slots."""
    found = Catalogued([_message(package="vllm")]).find(_template())
    assert found is not None
    assert found.label.bucket == "parallel_config"


def test_of_two_modules_the_own_one_tells() -> None:
    """The same words may mean two things; where the module tells neither, nothing is said."""
    catalogue = Catalogued([_message("lora", path="lora/layers"), _message("multimodal", path="multimodal/media")])
    here, elsewhere = (catalogue.find(_template(path)) for path in ("vllm/lora/layers.py", "vllm/config/model.py"))
    assert here is not None
    assert here.label.bucket == "lora"
    assert elsewhere is None


def test_what_only_its_module_labels_is_not_read() -> None:
    """Such a row says no more than the table of modules does."""
    assert Catalogued([_message(by="place")]).find(_template()) is None


def test_a_neighbours_message_shows_its_own_frame() -> None:
    """The innermost frame is the package's, by which the model knows whose error it is."""
    (row,) = message_rows([_message()], set(), 1)
    assert re.search(r'site-packages/torch/distributed/c10d\.py", line \d+, in init\n', row.text)
    assert (row.bucket, row.cause) == ("parallel_config", "too_many_gpus")
    assert {"k:ValueError", "o:torch"} <= set(terms(row))


def test_what_releases_yielded_comes_once() -> None:
    """Their rows have the call paths as well."""
    assert list(message_rows([_message(package="vllm")], {FIXED}, 1)) == []


def test_warnings_that_were_survived_are_healthy() -> None:
    """Whatever their words."""
    (row,) = message_rows([_message("no_failure", kind="log", name="WARNING", fatal="survived")], set(), 1)
    assert (row.bucket, row.origin) == ("no_failure", "healthy")
    assert row.text.startswith("WARNING ")


@pytest.mark.parametrize(
    ("path", "bucket"), [("lora/layers/base", "lora"), ("entrypoints/openai/api_server", "engine_bug"), ("version", "")]
)
def test_an_error_of_pythons_own_has_the_bucket_of_its_module(path: str, bucket: str) -> None:
    """A module that tells nothing yields nothing."""
    found = list(frame_rows([_message(package="vllm", path=path)], 1))
    assert [row.bucket for row in found] == [bucket] * bool(bucket)
    assert all(f"vllm/{path}.py" in row.text and not row.cause for row in found)


def test_slots_are_filled_with_figures_where_words_ask_for_them() -> None:
    """Otherwise with names."""
    text = filled("rank {} of {} cannot be {}", random.Random(1))
    assert re.fullmatch(r"rank \d+ of .+ cannot be .+", text)
    assert "{}" not in text


def test_pasted_text_keeps_its_words() -> None:
    """Without newlines or indentation: one variant in some."""
    (row,) = message_rows([_message()], set(), 1)
    words = row.text.split()
    made = [item.text for seed in range(40) for item in variants(row, random.Random(seed))]
    flat = [text for text in made if text != row.text and text.split() == words]
    assert any("\n" not in text for text in flat)
    assert any("\n" in text and "\n  " not in text for text in flat)


def test_buckets_of_rows_exist() -> None:
    """Other engines are nobody's bucket but 'unknown'."""
    rows = list(other_rows(random.Random(1)))
    assert {row.bucket for row in rows} <= set(load().buckets())
    engines = [row for row in rows if row.group == "other/engines"]
    assert len(engines) > 50
    assert {row.bucket for row in engines} == {"unknown", "no_failure"}
