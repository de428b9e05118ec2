"""Whoever wrote a log does not decide what a command does that is pasted from its answer."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.advice.sources.cause import advise
from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.command.words import as_word, in_prose
from vllm_triage.classifier.values.options import accepted_value, gone_options, meant_options
from vllm_triage.corpus.action_text import read_actions
from vllm_triage.corpus.actions import packed
from vllm_triage.corpus.kinds import Kind
from vllm_triage.corpus.types import Cause, Fix

HOSTILE = "/tmp/$(id);x"
PLUGIN = """
id = "acme_plugin"
title = "The Acme plug-in failed"
meaning = "Our own plug-in."
[[cause]]
id = "bad_cache"
title = "The plug-in's cache is damaged"
summary = "It cannot be read."
  [[cause.rule]]
  id = "bad-cache"
  role = "cause"
  pattern = '''acme cache (?P<path>.+) is damaged'''
  match = ["AcmeError: acme cache /tmp/k7 is damaged"]
  [[cause.fix]]
  title = "Empty the cache"
  kind = "command"
  change = "rm -r {path}"
  why = "It is filled anew."
  cost = "none"
"""


def changed(change: str, kind: Kind = "command", **values: str) -> tuple[str, bool]:
    """Return what a fix with this template comes to, and whether it can be pasted."""
    actions, remark = read_actions(change, kind)
    fix = Fix(title="t", kind=kind, option="--x", does=packed(actions), why="w", cost="none", remark=remark)
    advice = advise(Cause("id", "t", "s", fixes=(fix,)), {}, values)[0]
    return advice.change, advice.exact


@pytest.mark.parametrize(
    ("entry", "command"),
    [
        ("/tmp/k7", "rm -r /tmp/k7"),
        ("~/.cache/acme@2,x=1:y", "rm -r ~/.cache/acme@2,x=1:y"),
        (HOSTILE, "rm -r '/tmp/$(id);x'"),
        ("it's", "rm -r 'it'\"'\"'s'"),
        ("a b", "rm -r 'a b'"),
    ],
)
def test_a_plug_ins_fix_quotes_what_the_log_says(tmp_path, entry, command):
    """An ordinary word stands as it is; what a shell would act on becomes one word."""
    (tmp_path / "acme_plugin.toml").write_text(PLUGIN)
    answer = Triage([tmp_path]).report(f"AcmeError: acme cache {entry} is damaged")

    assert command == answer.fixes[0].change


@pytest.mark.parametrize("kind", ["command", "flag", "env"])
def test_every_kind_that_is_pasted_is_quoted(kind):
    """Options and variables go into a command line too."""
    name = "VLLM_MODEL=" if kind == "env" else "--model "
    assert (f"{name}'/tmp/$(id);x'", True) == changed(f"{name}{{model}}", kind, model=HOSTILE)


def test_within_quotes_nothing_ends_or_expands_them():
    """There a value cannot be quoted once more; what would break out is left out, and the command is not ready."""
    template = "python -c \"LLM('{model|MODEL}')\""

    assert ("python -c \"LLM('acme/tiny 7b')\"", True) == changed(template, model="acme/tiny 7b")
    assert ("python -c \"LLM('MODEL')\"", False) == changed(template, model="x$(id)")
    assert ("python -c \"LLM('MODEL')\"", False) == changed(template, model="x')#")
    assert ("grep '…'", False) == changed("grep '{word}'", word="a' b")


def test_an_escaped_quote_opens_nothing_and_a_remark_neither():
    """The template is read as a shell reads it."""
    assert r"echo \" 'a b'" == changed(r"echo \" {word}", word="a b")[0]
    assert "pip install x   # it's for 'a b'" == changed("pip install x   # it's for {word}", word="a b")[0]
    assert "echo \"it's\" 'a b'" == changed('echo "it\'s" {word}', word="a b")[0]


def test_a_line_end_gets_into_no_command():
    """It would end a remark, and with it what keeps the rest from being run."""
    assert ("pip install x   # for …", False) == changed("pip install x   # for {word}", word="a\nid")


def test_steps_are_sentences():
    """Quoted only where a command in them would do something else."""
    assert "needs cuda>=12.4 (or newer)" == changed("needs {what}", "step", what="cuda>=12.4 (or newer)")[0]
    assert "hf download 'a;id'" == changed("hf download {what}", "step", what="a;id")[0]
    assert None is in_prose("a\nb")


@given(st.text(alphabet=st.characters(blacklist_categories=["C", "Z"]) | st.just(" "), min_size=1))
def test_any_value_is_one_word(value):
    """Outside quotes, inside either kind: a shell reads the value and nothing else, or it is not there."""
    outside, double, single = as_word(value, "rm "), as_word(value, 'rm "x'), as_word(value, "rm 'x")

    assert outside is None or shlex.split(f"rm {outside}") == ["rm", value]
    assert double is None or shlex.split(f'rm "x{double}"') == ["rm", f"x{value}"]
    assert single is None or shlex.split(f"rm 'x{single}'") == ["rm", f"x{value}"]
    assert double is None or not set("$`!\\") & set(double)


def test_pieces_of_commands_are_quoted_where_they_are_worked_out():
    """Values of options that a log lists, and words that it says are accepted."""
    facts = {"option": "--served-model-nam $(id) --use-v2-block-manager a;b", "vllm_version": "0.10.2"}
    assert "--served-model-name '$(id)'   # instead of --served-model-nam '$(id)'" == meant_options(facts).value
    assert "--use-v2-block-manager 'a;b'" == gone_options(facts).value

    facts = {"option": "--load-format", "allowed": "'auto', 'safe$(id)'", "given": "safe(id)", "vllm_version": "0.10.2"}
    assert "--load-format 'safe$(id)'" == accepted_value(facts).value
