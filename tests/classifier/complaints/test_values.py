"""What was meant by a refused value: spelling, units, quotes, ranges; where nothing tells, nothing is made up."""

from __future__ import annotations

import json

import pytest

from vllm_triage.classifier.complaints import values

DTYPES = ("auto", "bfloat16", "float16", "float32")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("fp16", "float16"), ("half", "float16"), ("f16", "float16"), ("bf16", "bfloat16"), ("fp32", "float32"),
        ("f32", "float32"), ("float", "float32"), ("FLOAT16", "float16"), (" 'auto' ", "auto"), ("flaot16", "float16"),
        ("float15", ""), ("int7", ""), ("zebra", ""), ("", ""),
    ],
)  # fmt: skip
def test_short_and_misspelt_types(given: str, meant: str) -> None:
    """Common short forms and swapped letters; another number is another type."""
    assert values.choice(given, DTYPES) == meant


@pytest.mark.parametrize(
    ("given", "allowed", "meant"),
    [
        ("half", ("auto", "half", "float16"), "half"),
        ("fp16", ("auto", "half"), ""),
        ("deepseek", ("deepseek_v3", "hermes"), "deepseek_v3"),
        ("deepseek", ("deepseek_v3", "deepseek_r1"), ""),
        ("mistral_large_instruct", ("mistral", "hermes"), "mistral"),
        ("flash-attn", ("FLASH_ATTN", "TRITON_ATTN"), "FLASH_ATTN"),
        ("flash.attn", ("FLASH_ATTN", "TRITON_ATTN"), "FLASH_ATTN"),
        ("int", ("int_wide_format", "text"), ""),
        ("qwn3", ("qwen3", "granite"), "qwen3"),
        ("FP8", ("fp8", "FP8"), "fp8"),
        ("fp8_e4m2", ("fp8_e4m3", "auto"), ""),
        ("hermess", ("hermes2", "hermes"), "hermes"),
    ],
)
def test_the_one_of_a_list_that_is_near(given: str, allowed: tuple[str, ...], meant: str) -> None:
    """By dashes and dots, by its beginning where one alone has it (four letters or more), by its letters."""
    assert values.choice(given, allowed) == meant


@pytest.mark.parametrize(
    ("given", "whole", "unit", "number"),
    [
        ("1,024", True, "", "1024"), ("1,024,000", True, "", "1024000"), ("1_024", True, "", "1024"), ("+8", True, "", "8"),
        ("-8", True, "", "-8"), ("8.0", True, "", "8"), ("8.5", True, "", ""), ("8.5", False, "", "8.5"),
        ("0,85", False, "", "0.85"), (".5", False, "", "0.5"), ("'16'", True, "", "16"),
        ("16k", True, "", "16000"), ("16K", True, "", "16384"), ("2m", True, "", "2000000"), ("2M", True, "", "2097152"),
        ("1g", True, "", "1000000000"), ("1G", True, "", "1073741824"), ("1t", True, "", "1000000000000"),
        ("1T", True, "", "1099511627776"), ("2KiB", True, "", "2048"), ("2kb", True, "", "2000"), ("512 tokens", True, "", "512"),
        ("1 token", True, "", "1"), ("2 gpus", True, "", "2"), ("1 gpu", True, "", "1"), ("64B", True, "", "64"),
        ("50%", True, "", ""), ("ten", True, "", ""), ("", True, "", ""), ("1.5.2", False, "", ""),
        ("90%", False, "share", "0.9"), ("90", False, "share", "0.9"), ("0.9", False, "share", "0.9"), ("1", False, "share", "1"),
        ("0.9%", False, "share", "0.9"), ("20G", False, "share", ""), ("92.5%", False, "share", "0.925"),
        ("16G", False, "gib", "16"), ("16GiB", False, "gib", "16"), ("16", False, "gib", "16"), ("2048M", False, "gib", "2"),
        ("512mb", False, "gib", "0.5"), ("1048576k", False, "gib", "1"), ("1T", False, "gib", "1024"), ("1.5 G", False, "gib", "1.5"),
        ("512M", True, "gib", ""), ("16%", False, "gib", ""),
    ],
)  # fmt: skip
def test_numbers_with_units(given: str, whole: bool, unit: str, number: str) -> None:
    """Thousands' commas, decimal commas, vLLM's 16k and 16K, per cent of a share, sizes in GiB."""
    assert values.number(given, whole, unit) == number


@pytest.mark.parametrize(
    ("value", "low", "high", "open_low", "open_high", "inside"),
    [
        (1, 1, None, False, False, True), (1, 1, None, True, False, False), (0.9, 1, None, False, False, False),
        (1.1, 1, None, True, False, True), (5, None, 5, False, False, True), (5, None, 5, False, True, False),
        (5.1, None, 5, False, False, False), (4.9, None, 5, False, True, True), (3, 1, 5, True, True, True),
        (7, None, None, False, False, True),
    ],
)  # fmt: skip
def test_ends_of_a_range(value: float, low: float, high: float, open_low: bool, open_high: bool, inside: bool) -> None:
    """An open end does not belong to the range, a closed one does."""
    assert values.within(value, low, high, open_low, open_high) is inside


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        (("true", "True", "yes", "on", "1", "y", "t", " 'YES' "), "true"),
        (("false", "False", "no", "off", "0", "n", "f", '"Off"'), "false"),
        (("maybe", "", "2", "truely"), ""),
    ],
)
def test_words_for_yes_and_no(words: tuple[str, ...], meaning: str) -> None:
    """Whatever people write for a switch."""
    assert {word: values.boolean(word) for word in words} == dict.fromkeys(words, meaning)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ('{"a": 1}', {"a": 1}),
        ("{'a': 1}", {"a": 1}),
        ("'{\"a\": 1}'", {"a": 1}),
        ('"\'{"a": 1}\'"', {"a": 1}),
        ("{a: 1}", {"a": 1}),
        ("a: 1", {"a": 1}),
        ('"a": 1', {"a": 1}),
        ("{a: b}", {"a": "b"}),
        ("{a: org/name-1.0}", {"a": "org/name-1.0"}),
        ("{a: True, b: False, c: None}", {"a": True, "b": False, "c": None}),
        ("{a: true, b: null}", {"a": True, "b": None}),
        ("{a: [x, y]}", {"a": ["x", "y"]}),
        ("{a: [x, y,],}", {"a": ["x", "y"]}),
        ('{"a": {"b": 2}', {"a": {"b": 2}}),
        ('{"a": [1, 2', {"a": [1, 2]}),
        ('{"a": 1,', {"a": 1}),
        ('{"a": "x', {"a": "x"}),
        ('{\\"a\\": 1}', {"a": 1}),
        ("\u201ca\u201d: 1", {"a": 1}),
        ("{\u201ea\u201c: 1}", {"a": 1}),
        ("{\xaba\xbb: 1}", {"a": 1}),
        ("{\u2018a\u2019: 1}", {"a": 1}),
        ("{\u2032a\u2032: 1}", {"a": 1}),
        ("{\u2033a\u2033: 1}", {"a": 1}),
        ("image=2,video=1", {"image": 2, "video": 1}),
        ("image=2", {"image": 2}),
        ("a=x,b=True,c=False,d=None", {"a": "x", "b": True, "c": False, "d": None}),
        ("a = 1", None),
        ("{}", None),
        ("[1, 2]", None),
        ("{1: 2}", None),
        ("plain words", None),
        ("{'a': {1, 2}}", None),
        ('{"a": 1]', None),
        ("", None),
    ],
)
def test_what_was_meant_to_be_json(given: str, meant: dict[str, object] | None) -> None:
    """Quotes lost to a shell or bent by a word processor, bare names, Python's words, missing brackets, key=value."""
    made = values.mended(given)
    assert (json.loads(made) if made else None) == meant


def test_letters_of_other_languages_are_kept_in_json() -> None:
    """They are not written out as numbers."""
    assert values.mended("{'a': 'größer'}") == '{"a": "größer"}'


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (["a"], 2, {"a": 2, "b": {"c": 1}}),
        (["a"], None, {"b": {"c": 1}}),
        (["b", "c"], 2, {"a": 1, "b": {"c": 2}}),
        (["b", "d"], 2, {"a": 1, "b": {"c": 1, "d": 2}}),
        (["b", "c"], None, {"a": 1, "b": {}}),
        (["a", "x"], 2, {"a": {"x": 2}, "b": {"c": 1}}),
        (["absent"], None, {"a": 1, "b": {"c": 1}}),
    ],
)
def test_one_key_of_an_object_is_set_or_taken_out(path: list[str], value: object, expected: dict[str, object]) -> None:
    """The object that was given stays as it was."""
    given = {"a": 1, "b": {"c": 1}}
    assert values.with_key(given, path, value) == expected
    assert given == {"a": 1, "b": {"c": 1}}
