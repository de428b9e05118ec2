"""Python literals are read as Python reads them."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vllm_triage.classifier.facts.literals import evaluated

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=12,
)
PIECES = st.lists(
    st.sampled_from(["'a'", '"b"', "1", "-", "0", "1.5", "1e3", ".", "_", "True", "x", "[", "]", "{", "}", "(", ")", ",", ":", " ", "\n", "#", "\\", "é", "\ud800", "\x00"]),
    max_size=12,
).map("".join)  # fmt: skip


def as_python(text: str) -> object:
    """Return what ``ast`` makes of a text: value and type, or the kind of error."""
    return _outcome(ast.literal_eval, text)


def _outcome(read: object, text: str) -> object:
    try:
        return repr(read(text))  # type: ignore[operator]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        return type(error)


@given(PLAIN)
def test_what_repr_prints_is_read_back(value):
    """All kinds of values, within one another."""
    assert repr(value) == repr(evaluated(repr(value)))


@given(PIECES)
@example("{'a': [1, 2.5, None,], 'b': {}}")
@example(" 'a' ")
@example("'a' 'b'")
@example("01")
@example("1.")
@example("-0")
@example("[1 2]")
@example("{'a'}")
@example("{1: 2}")
@example("1\n")
def test_anything_else_is_what_ast_says(text):
    """The same value, or the same error."""
    assert as_python(text) == _outcome(evaluated, text)


@pytest.mark.parametrize(("text", "needed"), [("{'a': [1, 'b', True, None, -2.5]}", False), ("(1, 2)", True)])
def test_ast_is_imported_for_what_is_not_plain_alone(text, needed):
    """It takes longer to import than the table to be read."""
    code = f"import sys; from vllm_triage.classifier.facts.literals import evaluated; evaluated({text!r}); print('ast' in sys.modules)"
    told = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False, env={"PYTHONPATH": ":".join(sys.path)})  # fmt: skip
    assert str(needed) == told.stdout.strip()
