"""Which rows of the catalogue a text holds, and when its words decide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vllm_triage.corpus.messages import Label, Row
from vllm_triage.corpus.messages.index import anchor
from vllm_triage.corpus.messages.matching import Matcher, decided, of_module
from vllm_triage.corpus.messages.words import distinctive


def _row(template: str, bucket: str = "lora", *, specific: bool = True, fatal: str = "start", by: str = "read") -> Row:
    return Row("vllm", template, "raise", "ValueError", "a", "f", 1, "0.1", "", Label(bucket, "", "user", fatal, specific, by))  # fmt: skip


CACHE = _row("No available memory for the {} blocks. Try {}", "kv_cache_oom")
SHORT = _row("No available memory", "runtime_oom")
LORA = _row("LoRA rank {} is greater than max_lora_rank {}.")


def _names(text: str, *rows: Row) -> list[str]:
    return [match.row.template for match in Matcher(rows).find(text)]


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: No available memory for the cache blocks. Try less",
        "(EngineCore pid=7) ERROR x.py:3] ValueError: No available   memory for\n  the cache blocks. Try a\n",
    ],
)
def test_the_longest_template_is_found_over_line_breaks_and_what_lies_in_it_is_not_said_again(text: str) -> None:
    assert [CACHE.template] == _names(text, CACHE, SHORT, LORA)


def test_what_lacks_a_piece_of_the_template_is_not_found() -> None:
    assert [] == _names("LoRA rank 64 is greater than 16.", LORA)


def test_two_messages_of_one_text_are_both_found() -> None:
    text = "LoRA rank 64 is greater than max_lora_rank 16.\nNo available memory for the KV blocks. Try x"

    assert sorted([CACHE.template, LORA.template]) == sorted(_names(text, CACHE, LORA))


def _decision(text: str, *rows: Row) -> str:
    found = decided(Matcher(rows).find(text))
    return found.label.bucket if found else ""


def test_specific_words_decide_anywhere() -> None:
    assert "lora" == _decision("and LoRA rank 64 is greater than max_lora_rank 16. Then", LORA)


def test_other_words_decide_only_as_the_whole_message() -> None:
    row = _row("Engine is not running: {}", specific=False)

    assert "lora" == _decision("RuntimeError: Engine is not running: no", row)
    assert "" == _decision("it said: Engine is not running: no", row)


@pytest.mark.parametrize("fatal", ["survived", "never"])
def test_what_was_survived_or_only_wraps_another_error_decides_nothing(fatal: str) -> None:
    assert "" == _decision("ValueError: LoRA rank 64 is too large", _row("LoRA rank {} is too large", fatal=fatal))


def test_a_label_that_nobody_read_decides_nothing() -> None:
    assert "" == _decision("ValueError: LoRA rank 64 is too large", _row("LoRA rank {} is too large", by="place"))


def test_common_words_alone_decide_nothing() -> None:
    assert "" == _decision("ValueError: mode is not supported by the backend", _row("{} is not supported by the backend", specific=False))  # fmt: skip


def test_two_rows_that_disagree_decide_nothing() -> None:
    row = _row("The frobnicator is {}")
    other = replace(_row("The frobnicator is {}", "kv_transfer"), package="torch")

    assert "" == _decision("The frobnicator is full", row, other)
    assert "lora" == _decision("The frobnicator is full", row, replace(other, label=row.label))


def test_pieces() -> None:
    assert "for the blocks" == anchor("{} a {} for the blocks {}")
    assert 2 == distinctive("{} is not supported with LoRA ranks")


UNREAD = replace(
    _row("The bitmask of {} lanes has to lie beside its grammar", "structured_output", by="place", specific=False),
    package="xgrammar",
)


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (UNREAD, "structured_output"),
        (replace(UNREAD, package="vllm"), ""),
        (replace(UNREAD, template="The grammar is {}"), ""),
        (replace(UNREAD, label=replace(UNREAD.label, bucket="no_failure")), ""),
        (replace(UNREAD, label=replace(UNREAD.label, fatal="survived")), ""),
    ],
    ids=["whole", "vllm", "short", "harmless", "survived"],
)
def test_the_module_of_a_neighbour_tells_where_nobody_read_its_message(row: Row, named: str) -> None:
    """As the whole of a text; of vLLM's own messages, which were read, none is left to its module."""
    matches = Matcher([row]).find("ValueError: " + row.template.replace("{}", "32"))
    found = of_module(matches)
    assert named == (found.label.bucket if found else "")
    assert decided(matches) is None


def test_a_module_tells_nothing_of_words_within_others_or_of_two_modules() -> None:
    text = "The bitmask of 32 lanes has to lie beside its grammar"
    assert of_module(Matcher([UNREAD]).find(f"somebody said: {text}")) is None
    other = replace(UNREAD, package="outlines", label=replace(UNREAD.label, bucket="lora"))
    assert of_module(Matcher([UNREAD, other]).find(text)) is None


def test_what_pythons_own_code_says_names_nothing() -> None:
    row = replace(_row("'{}' got stuck in the {} revolving door", specific=False), package="python")
    assert decided(Matcher([row]).find("AttributeError: 'x' got stuck in the y revolving door")) is None
