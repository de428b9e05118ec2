"""The C module of ``regex`` runs stored expressions before, and beside, the package's Python half."""

from __future__ import annotations

import marshal
import subprocess
import sys

import regex

from vllm_triage.corpus import regex_engine
from vllm_triage.corpus.store import load

ALONE = """
import sys
from vllm_triage.corpus.regex_engine import engine, version
from vllm_triage.corpus.build import regex_build
made = engine().compile(*{arguments!r})
assert made.search("a 12 x", timeout=1)["a"] == "12"
assert "regex" not in sys.modules, "the Python half was imported"
built = regex_build()
import regex
assert regex.compile("(?P<a>[0-9]+) x").search("a 12 x")["a"] == "12"
assert regex.sub("a(b)", r"\\1", "ab") == "b"
assert regex_build() == built and regex.__version__ == version()
from regex import _regex
assert _regex is engine()
"""


def test_the_python_half_is_not_needed_and_may_come_later() -> None:
    """In a process of its own: here it was imported long ago."""
    arguments = marshal.loads(regex_engine.program(regex.compile("(?P<a>[0-9]+) x")))
    done = subprocess.run(
        [sys.executable, "-c", ALONE.format(arguments=arguments)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_where_it_was_imported_its_own_engine_is_taken() -> None:
    """There is one C module in a process."""
    assert regex_engine.engine() is sys.modules["regex._regex"]


def test_stored_expressions_are_those_of_the_rules() -> None:
    """Each has its text, its flags and its groups."""
    rules = [rule for rule in load().rules if rule.pattern and rule.ready.get(rule.pattern)]

    assert len(rules) > 500
    for rule in rules[::25]:
        made, meant = rule.expression("pattern"), regex.compile(rule.pattern)
        assert (made.pattern, made.flags, made.groupindex) == (meant.pattern, meant.flags, meant.groupindex)
