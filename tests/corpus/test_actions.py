"""The grammar of actions: text becomes a type and is written from it again; what is none is refused; JSON goes both ways."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.corpus import actions as grammar
from vllm_triage.corpus.action_text import TextError, read_actions
from vllm_triage.corpus.actions import (
    ActionError,
    ChangeRequest,
    DropOption,
    DropVariable,
    Install,
    Look,
    Run,
    Serve,
    SetOption,
    SetVariable,
    Step,
    Uninstall,
    UseImage,
    from_json,
    packed,
    to_json,
    unpacked,
    written,
)
from vllm_triage.corpus.schema import CorpusError, parse_text

SLOT = "{fit|4096}"
ROWS: list[tuple[str, str, list[Any]]] = [
    ("flag", "--max-model-len 4096", [SetOption("--max-model-len", ("4096",))]),
    ("flag", f"--max-model-len {SLOT}", [SetOption("--max-model-len", (SLOT,))]),
    ("flag", "--no-enable-prefix-caching", [SetOption("--enable-prefix-caching", (), True)]),
    ("flag", "--compilation-config.mode 0", [SetOption("--compilation-config.mode", ("0",))]),
    ("flag", "--hf-overrides '{\"a\": [1, 2]}'", [SetOption("--hf-overrides", ('{"a": [1, 2]}',))]),
    ("flag", "--data-parallel-size <GPUs>", [SetOption("--data-parallel-size", ("<GPUs>",), open=True)]),
    ("flag", "leave out --dtype --quantization", [DropOption("--dtype"), DropOption("--quantization")]),
    ("env", "VLLM_USE_V1=0", [SetVariable("VLLM_USE_V1", "0")]),
    ("env", "VLLM_PLUGINS=", [SetVariable("VLLM_PLUGINS", "")]),
    ("env", "unset A_B C", [DropVariable("A_B"), DropVariable("C")]),
    ("env", "NCCL_DEBUG=INFO vllm serve …", [SetVariable("NCCL_DEBUG", "INFO"), Serve()]),
    ("command", "pip install -U vllm", [Install("vllm", "", True)]),
    ("command", "pip install 'vllm>=0.9,<0.11' tqdm", [Install("vllm", ">=0.9,<0.11"), Install("tqdm")]),
    ("command", "pip uninstall -y xformers && pip install torchao", [Uninstall("xformers"), Install("torchao")]),
    ("command", "uv venv && uv pip install vllm", [Run("uv venv"), Install("vllm", by="uv pip")]),
    ("command", "nvidia-smi; df -h", [Run("nvidia-smi; df -h")]),
    ("step", "Ask your administrator", [Step("Ask your administrator")]),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS, ids=[row[1] for row in ROWS])
def test_a_short_text_becomes_actions_that_are_written_as_it_stood(kind, text, expected):
    """What a row of the corpus says is a type; what people paste is written of it again, word for word."""
    actions, remark = read_actions(text, kind)
    assert expected == list(actions)
    assert text == written(actions) + remark
    assert actions == unpacked(packed(actions))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("flag", "max-model-len 4096"),
        ("flag", "add a key to --kv-transfer-config"),
        ("env", "VLLM_PORT=1, and --port 2"),
        ("env", "VLLM_HOST_IP=$(hostname -I)"),
        ("env", "--dtype half"),
        ("command", "pip install 'vllm' extra!"),
        ("command", "pip install --upgrade vllm"),
    ],
)
def test_what_is_no_action_of_its_kind_is_refused(kind, text):
    """Prose in a flag, a shell's substitution in a variable, an installation that cannot be read."""
    with pytest.raises(TextError):
        read_actions(text, kind)


def test_a_remark_and_an_image_stand_behind_the_actions():
    """What people read behind a command is not part of it; an image is another way to the same release."""
    actions, remark = read_actions("--port 80   # on every node", "flag")
    assert ([SetOption("--port", ("80",))], "   # on every node") == (list(actions), remark)
    actions, remark = read_actions("pip install 'vllm>=0.9'   # or the image vllm/vllm-openai:v0.9", "command")
    assert [Install("vllm", ">=0.9"), UseImage("vllm/vllm-openai:v0.9")] == list(actions)
    assert not remark


def test_tags_say_what_a_sentence_asks_for():
    """A sentence is a look, a wait or another request where its row says so; its words are not asked."""
    assert Look("Restart") == read_actions("Restart", "step", ("look",))[0][0]
    assert ChangeRequest("Look at it") == read_actions("Look at it", "step", ("request",))[0][0]


FIX = """
id = "acme"
title = "T"
meaning = "M."

[[cause]]
id = "one"
title = "T"
summary = "S."

[[cause.fix]]
title = "T"
kind = "flag"
option = "--dtype"
change = "{}"
why = "W."
cost = "none"
"""


def test_a_rule_file_with_a_text_that_is_no_action_is_refused_with_its_line():
    """Who writes a rule is told the line, and how the text is written where only its form is at fault."""
    assert [SetOption("--dtype", ("half",))] == list(
        parse_text(FIX.format("--dtype half"), "a.toml").causes[0].fixes[0].actions
    )
    with pytest.raises(CorpusError, match=r"a\.toml:15: .*sets no option"):
        parse_text(FIX.format("set the dtype to half"), "a.toml")
    with pytest.raises(CorpusError, match=r"write it '--dtype half'"):
        parse_text(FIX.format("--dtype   half"), "a.toml")


def test_actions_go_through_json():
    """A language model is given, and gives, the same actions."""
    for _, text, actions in ROWS:
        assert tuple(actions) == from_json(to_json(actions)), text
    assert [{"do": "set_option", "name": "--dtype", "values": ["half"]}] == to_json([SetOption("--dtype", ("half",))])


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ("x", "a list"),
        (["x"], "action 1: an object"),
        ([{"do": "sudo"}], "'do' must be one of"),
        ([{"do": "expand", "slot": "{x}"}], "'do' must be one of"),
        ([{"do": "set_option"}], "needs name"),
        ([{"do": "set_option", "name": "--x", "values": "1"}], "a list of texts"),
        ([{"do": "set_option", "name": "--x; rm -rf /"}], "is no option"),
        ([{"do": "set_variable", "name": "A B", "value": "1"}], "is no variable"),
        ([{"do": "install", "package": "$(id)"}], "is no package"),
        ([{"do": "run", "shell": "ls", "sudo": True}], "has no 'sudo'"),
    ],
)
def test_json_that_holds_no_actions_is_refused_with_a_reason(told, says):
    """Bad answers of a language model get an error that says what was expected."""
    with pytest.raises(ActionError, match=says):
        from_json(told)


@given(st.text(min_size=1, max_size=20))
def test_a_value_is_one_word_of_a_shell(value):
    """Whoever wrote the value: what is pasted holds it as one word."""
    import shlex

    text = written([SetOption("--served-model-name", (value,))])
    assert ["--served-model-name", value] == shlex.split(text)


def test_every_kind_is_in_the_list():
    """The list of kinds is closed: what is an action is in it."""
    kinds = {kind for kind in vars(grammar).values() if isinstance(kind, type) and issubclass(kind, grammar.Action)}
    assert kinds - {grammar.Action, grammar.Sentence} == set(grammar.KINDS.values())
