"""Words that are gone from newer releases are found, with what became of the code that had them."""

from __future__ import annotations

import ast
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from vllm_triage.classifier.facts.fingerprint_index import index
from vllm_triage.corpus.options import FOLDER
from vllm_triage.corpus.types import Rule
from vllm_triage.training.fingerprint import fixed
from vllm_triage.training.fingerprint.fixed import Texts, gone, rules
from vllm_triage.training.fingerprint.texts import SLOT, Text, texts_of
from vllm_triage.training.options.index import Files

CORPUS = Path(FOLDER).parent

CHECK = 'class Pool:\n    def free(self, block):\n        raise ValueError(f"Block {block} is already freed twice")\n'
REWORDED = CHECK.replace("is already freed twice", "was already freed twice")
WITHOUT = "class Pool:\n    def free(self, block):\n        return block\n"
MOVED = "class Other:\n    pass\n"


def releases(folder: Path, *contents: str) -> Texts:
    """Return the texts of releases 0.1.0, 0.2.0 … that consist of one file each."""
    texts = Texts()
    for number, content in enumerate(contents, 1):
        archive = folder / f"{number}.zip"
        with zipfile.ZipFile(archive, "w") as opened:
            opened.writestr("vllm/pool.py", content)
        texts.add(f"0.{number}.0", archive)
    return texts


BARE = Rule("engine_bug/double-free", "cause", cause="pool_fault", source="vllm")
BY_PATTERN = replace(BARE, pattern=r"Block \d+ (?:is|was) already freed")
BY_MESSAGE = replace(BARE, exception="ValueError", message="already freed twice")


@pytest.mark.parametrize("wanted", [BY_PATTERN, BY_MESSAGE], ids=["pattern", "message"])
def test_a_check_that_was_taken_out_is_told_with_its_function(tmp_path: Path, wanted: Rule) -> None:
    """The function is still there: the code did not just move."""
    found = gone(wanted, releases(tmp_path, CHECK, CHECK, WITHOUT, WITHOUT))

    assert found is not None
    assert ("0.2.0", "0.3.0") == (found.last_with, found.first_without)
    assert "Block … is already freed twice" == found.words
    assert ["vllm/pool.py:Pool.free"] == found.places
    assert "in every release from 0.1.0 on; vllm/pool.py: Pool.free is there without" == found.evidence


def test_words_put_otherwise_are_told_as_that(tmp_path: Path) -> None:
    """The check itself is still there."""
    found = gone(replace(BARE, pattern="is already freed twice"), releases(tmp_path, CHECK, REWORDED))

    assert found is not None
    assert found.evidence.endswith("put otherwise: 'Block … was already freed twice'")


def test_code_that_moved_is_told_as_that(tmp_path: Path) -> None:
    """Nothing is known of the fault then."""
    found = gone(BY_PATTERN, releases(tmp_path, WITHOUT, CHECK, MOVED))

    assert found is not None
    assert "in every release from 0.2.0 on; vllm/pool.py: Pool.free is gone" == found.evidence


@pytest.mark.parametrize("contents", [(CHECK, CHECK), (WITHOUT, CHECK), (CHECK, REWORDED), (WITHOUT, WITHOUT)])
def test_words_that_are_not_gone_are_left_out(tmp_path: Path, contents: tuple[str, ...]) -> None:
    """The newest release has them, or none ever had."""
    assert gone(BY_PATTERN, releases(tmp_path, *contents)) is None


def test_a_rule_without_words_is_left_out(tmp_path: Path) -> None:
    """Frames alone are no text."""
    assert gone(replace(BARE, innermost="vllm/pool"), releases(tmp_path, CHECK, WITHOUT)) is None


def test_texts_have_slots_for_what_is_put_in() -> None:
    """However the sources put it in."""
    module = ast.parse(
        "def check(a):\n"
        '    raise ValueError("Cannot use %s with this" % a)\n'
        '    raise errors.KeyError("Cannot find {} in it".format(a))\n'
        '    assert a > 0, f"Not positive: {a!r}" " at all"\n'
        '    self.fail("Cannot do " + a + " at once")\n'
        '    logger.error("Cannot load %s from it", a)\n'
        '    raise TypeError("short")\n'
    )

    assert [
        Text(f"Cannot use {SLOT} with this", "ValueError", "check"),
        Text(f"Cannot find {SLOT} in it", "KeyError", "check"),
        Text(f"Not positive: {SLOT} at all", "AssertionError", "check"),
        Text("assert a > 0", "AssertionError", "check"),
        Text(f"Cannot do {SLOT} at once", "", "check"),
        Text(f"Cannot load {SLOT} from it", "", "check"),
    ] == [text for text in texts_of(module) if text.exception or SLOT in text.text]


def test_the_command_prints_what_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One JSON object a line."""
    releases(tmp_path, CHECK, WITHOUT)
    monkeypatch.setattr(fixed, "releases", lambda since: [Files("1"), Files("2")] if since else [])
    monkeypatch.setattr(fixed, "fetch", lambda files, cache, _progress: cache / f"{files.version}.zip")
    monkeypatch.setattr(fixed, "rules", lambda _folder: iter([BY_PATTERN]))

    assert fixed.main(["--cache", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["first_without"] == "2"


def test_rules_on_vllms_words_are_asked() -> None:
    """Of the corpus as it is, causes alone."""
    found = list(rules(CORPUS))

    assert len(found) > 100
    assert {"cause"} == {each.role for each in found}


READ = [json.loads(line) for line in (Path(fixed.__file__).with_name("fixed.jsonl")).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("row", READ, ids=lambda row: str(row["rule"]))
def test_what_was_read_is_about_a_rule_and_two_neighbouring_releases(row: dict[str, str]) -> None:
    """The corpus may have moved on since it was read."""
    names = index().releases
    found = next(rule for rule in rules(CORPUS) if rule.id == row["rule"])

    assert row["cause"] == found.cause
    assert names.index(row["last_with"]) + 1 == names.index(row["first_without"])
    assert row["evidence"]
