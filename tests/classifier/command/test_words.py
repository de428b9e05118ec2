"""Shell words: read as ``shlex`` reads them, written so that they read back."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.command.words import SECRET, Word, is_secret, join, masked, quote, split


@given(st.text(st.sampled_from("ab -=_$'\"\\\t#&|é\u00a0"), max_size=40))
def test_words_are_those_of_shlex(text):
    """Whatever shlex can split, we split into the same words; what it refuses, we refuse."""
    try:
        expected = shlex.split(text)
    except ValueError:
        with pytest.raises(ValueError, match="quote is not closed"):
            split(text)
        return
    assert expected == [word.value for word in split(text)]


@given(st.lists(st.text(max_size=20)))
def test_quoted_words_read_back(values):
    """Any list of values, written as a command and read again, is the same list."""
    assert values == shlex.split(join(Word(value) for value in values))


def test_a_line_that_goes_on_is_one_line():
    """A backslash at a line's end joins two lines, as in a shell."""
    assert [word.value for word in split("a \\\n  b \\\r\n c")] == ["a", "b", "c"]


def test_an_assignment_is_quoted_behind_its_equals_sign():
    """Quoting the whole of NAME=value would make a program of it."""
    assert quote("A=b c") == "A='b c'"


@pytest.mark.parametrize(
    ("text", "expected"), [("$HOME/x", True), ('"$A"', True), ("'$A'", False), ("\\$A", False), ("a$", False)]
)
def test_a_word_knows_whether_the_shell_puts_a_value_in(text, expected):
    """Single quotes and backslashes take the dollar sign's meaning away."""
    assert expected == split(text)[0].expands


@pytest.mark.parametrize(
    "name", ["--api-key", "--api_key", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "DB_PASSWORD"]
)
def test_names_of_secrets_are_known(name):
    """What is called a key, token or password is one."""
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["--max-num-batched-tokens", "--ssl-keyfile", "--tokenizer", "--return-tokens-as-token-ids", "--token-file"]
)
def test_names_that_only_look_like_secrets_are_not(name):
    """Counting tokens is no secret."""
    assert not is_secret(name)


def test_a_reference_to_a_secret_is_kept():
    """TOKEN=$TOKEN tells nothing, TOKEN=value does."""
    assert masked(split("HF_TOKEN=$HF_TOKEN")[0]).raw == "HF_TOKEN=$HF_TOKEN"
    assert f"HF_TOKEN={SECRET}" == masked(split("HF_TOKEN=abc")[0]).value
