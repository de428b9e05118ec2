"""Tables and commands that go on over the next lines."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.facts.continuation import JOINED, JOINED_LINES, capture_of, joined, unfinished
from vllm_triage.corpus.fact_keys import CONTINUATIONS


@pytest.mark.parametrize(
    ("sign", "begun", "whole"),
    [
        ("braces", "{'a': {'b': 1}", "{'a': {'b': 1}}"),
        ("parentheses", "a=f(1), b=2", "a=f(1), b=2)"),
        ("brackets", "['serve', ['x']", "['serve', ['x']]"),
        ("settings", "kv_cache_dtype=auto, devi", "kv_cache_dtype=auto, device_config=cuda"),
        ("backslash", "vllm serve x \\", "vllm serve x"),
    ],
)
def test_what_is_unfinished_is_told_by_its_own_sign(sign, begun, whole):
    """A bracket that is open, a setting that comes last, the shell's own mark."""
    assert (True, False) == (unfinished(sign, begun), unfinished(sign, whole))


def test_every_sign_that_a_rule_may_name_is_known():
    """And the capture that it speaks of."""
    assert ["table", "table", "table", "table", "command", "command"] == [capture_of(sign) for sign in CONTINUATIONS]
    assert {True, False} >= {unfinished(sign, "") for sign in CONTINUATIONS}
    with pytest.raises(KeyError):
        unfinished("dots", "")


def test_a_table_is_joined_as_it_was_cut():
    """A terminal cuts words in two: nothing comes between the pieces."""
    assert "{'model': 'acme/tiny'}" == joined("braces", "{'mod", b"el': 'acme\r\n/tiny'}\n{'not': 'this'}")


def test_a_command_is_joined_with_spaces():
    """Each line as a shell reads it."""
    after = b"   --port 8001 \\\n   --max-num-seqs 8\n   --not-this\n"

    assert ["vllm", "serve", "x", "--port", "8001", "--max-num-seqs", "8"] == joined(
        "backslash", "vllm serve x \\", after
    ).split()


@pytest.mark.parametrize(
    "line",
    [
        "INFO 10-25 13:08:44 [model.py:547] Resolved architecture: X",
        "ERROR:    x",
        "   ",
        "(EngineCore pid=7) WARNING 10-25 13:08:44 [x.py:1] y",
    ],
)
def test_the_next_log_line_ends_it(line):
    """As does an empty one: what was cut short stays so."""
    assert "{'a': 1, 'b'" == joined("braces", "{'a': 1,", f" 'b'\n{line}\n: 2}}".encode())


def test_only_so_much_is_looked_at():
    """A bracket that nobody closes does not swallow the log."""
    assert "{" + "x" * JOINED_LINES == joined("braces", "{", b"x\n" * 1000)
    assert "{" + "x" * JOINED == joined("braces", "{", b"x" * 100_000)


@pytest.mark.parametrize(
    ("after", "command"),
    [
        (b'      - --model\n      - acme/m\n      - "--max-model-len"\n      - "8192"\n    ports:\n', "--model acme/m --max-model-len 8192"),
        (b"      --model acme/m\n      --port 1\n    restart: always\n", "--model acme/m --port 1"),
        (b"      --model\n      acme/m\n    State:          Running\n", "--model acme/m"),
        (b"      - '{\"a\": 1}'\n", "'{\"a\": 1}'"),
        (b"    image: x\n", ""),
        (b"INFO 11-02 10:00:00 [a.py:1] x\n", ""),
    ],
)  # fmt: skip
def test_the_words_of_a_list_are_a_command(after: bytes, command: str) -> None:
    """YAML's items, a folded text, and what kubectl describes; the next key ends it."""
    assert command == joined("items", "", after)
