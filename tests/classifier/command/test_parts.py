"""vLLM's arguments: taken apart as vLLM does, changed where they stand."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.classifier.command.helpers import commands, fix, forms
from vllm_triage.classifier.command.parts import long_name, read
from vllm_triage.classifier.command.words import Word, split


def changed(command: str, change: str, kind: str = "flag") -> str:
    """Return the shell form of a command with one change."""
    return str(forms(command, fix(change, kind))["shell"])


@given(commands())
def test_taking_apart_loses_no_word(words):
    """The parts put together again are the command."""
    parts = read([Word(word) for word in words[2:]])
    assert words[2:] == [word.value for part in parts for word in part.words]


@given(commands(), st.integers(1, 10**6))
def test_one_option_is_set_and_all_others_stay(words, length):
    """The corrected command reads back as the old one with the new option behind it."""
    expected = [*words, "--max-model-len", str(length)]
    assert expected == shlex.split(changed(shlex.join(words), f"--max-model-len {length}"))


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ("--max-model-len 9000 --port 1", "--max-model-len 4096", "--max-model-len 4096 --port 1"),
        ("--max_model_len=9000", "--max-model-len 4096", "--max_model_len=4096"),
        ("--max-model-len -1 --port 1", "--max-model-len 4096", "--max-model-len 4096 --port 1"),
        ("-tp 4 --port 1", "--tensor-parallel-size 2", "-tp 2 --port 1"),
        ("-tp=4", "--tensor-parallel-size 2", "-tp=2"),
        ("--tensor-parallel-size 4", "-tp 2", "--tensor-parallel-size 2"),
        ("--seed 1 --port 1 --seed 2", "--seed 3", "--seed 3 --port 1"),
        ("--no-enable-prefix-caching --port 1", "--enable-prefix-caching", "--enable-prefix-caching --port 1"),
        ("--enable-prefix-caching", "--no-enable-prefix-caching", "--no-enable-prefix-caching"),
        ("--lora-modules a=/a b=/b --port 1", "--lora-modules c=/c", "--lora-modules c=/c --port 1"),
        ("--enforce-eager", "--max-model-len 4 --max-num-seqs 2", "--enforce-eager --max-model-len 4 --max-num-seqs 2"),
    ],
)  # fmt: skip
def test_a_value_is_replaced_where_it_stands(before, change, after):
    """The option keeps its place and its spelling; what is given twice is given once."""
    assert f"vllm serve a/b {after}" == changed(f"vllm serve a/b {before}", change)


def test_a_switch_does_not_swallow_the_model():
    """What follows a switch is no value of it, so the model is known and can be changed."""
    assert changed("vllm serve --enforce-eager a/b", "--model c/d") == "vllm serve --enforce-eager c/d"


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        (
            """--compilation-config '{"level": 3}'""",
            """--compilation-config '{"cudagraph_mode": "NONE"}'""",
            {"level": 3, "cudagraph_mode": "NONE"},
        ),
        (
            """-cc='{"level": 3}'""",
            "--compilation-config.cudagraph_mode NONE",
            {"level": 3, "cudagraph_mode": "NONE"},
        ),
        (
            """--hf-overrides '{"a": {"b": 1, "c": 2}}'""",
            """--hf-overrides '{"a": {"b": 9}}'""",
            {"a": {"b": 9, "c": 2}},
        ),
        (
            """--speculative-config '{"method": "eagle", "model": "x"}'""",
            """--speculative-config '{"method": "ngram"}'""",
            {"method": "ngram"},
        ),
    ],
)  # fmt: skip
def test_keys_of_a_json_option_are_merged(before, change, after):
    """vLLM lets the last JSON value replace all others, so one value must hold all keys."""
    words = shlex.split(changed(f"vllm serve a/b {before}", change))
    assert after == json.loads(words[3].partition("=")[2] if "=" in words[3] else words[4])
    assert len(words) == (4 if "=" in words[3] else 5)


def test_dotted_keys_stay_dotted():
    """Beside dotted keys a JSON value would be thrown away: the change becomes one more dotted key."""
    expected = "vllm serve a/b --compilation-config.level=3 --compilation-config.cudagraph_mode=NONE"
    shown = changed(
        "vllm serve a/b --compilation-config.level=3", """--compilation-config '{"cudagraph_mode": "NONE"}'"""
    )
    assert expected == shown


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("--max_model_len", ("--max-model-len", False)),
        ("-q", ("--quantization", False)),
        ("-cc.cudagraph_mode", ("--compilation-config.cudagraph_mode", False)),
        ("--no-enable-lora", ("--enable-lora", True)),
        ("--hf-overrides.text_config.a_b", ("--hf-overrides.text_config.a_b", False)),
        ("-O3", ("-O3", False)),
    ],
)
def test_an_option_is_known_by_its_long_name(spelled, expected):
    """Aliases, underscores and denials name the same option; keys keep their underscores."""
    assert expected == long_name(spelled)


def test_numbers_below_zero_are_values():
    """-1 is what an option is set to, no option."""
    assert [(part.name, part.values[0].value) for part in read(split("--seed -1 x"))] == [("--seed", "-1"), ("", "x")]
