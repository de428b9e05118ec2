"""Start commands of all kinds: the change lands where vLLM, or its container, reads it."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given

from tests.classifier.command.helpers import answer, commands, fix, forms
from vllm_triage.classifier.api import shared
from vllm_triage.corpus.actions import SetOption

FLAG = fix("--max-model-len 4096")
VARIABLE = fix("XX_GEMM=0", "env")
CORPUS = shared().corpus
MODULE = "python3 -m vllm.entrypoints.openai.api_server"


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        (f"{MODULE} --model a/b --port 1", FLAG, f"{MODULE} --model a/b --port 1 --max-model-len 4096"),
        ("/opt/v/bin/vllm serve a/b", FLAG, "/opt/v/bin/vllm serve a/b --max-model-len 4096"),
        ("vllm serve a/b 2>&1 | tee log", FLAG, "vllm serve a/b --max-model-len 4096 2>&1 | tee log"),
        ("$ vllm serve a/b &", FLAG, "vllm serve a/b --max-model-len 4096 &"),
        ("nohup vllm serve a/b > log", FLAG, "nohup vllm serve a/b --max-model-len 4096 > log"),
        ("A=1 vllm serve a/b", VARIABLE, "A=1 XX_GEMM=0 vllm serve a/b"),
        ("XX_GEMM=1 A=1 vllm serve a/b", VARIABLE, "XX_GEMM=0 A=1 vllm serve a/b"),
        ("cd /x && vllm serve a/b", VARIABLE, "cd /x && XX_GEMM=0 vllm serve a/b"),
        ("sudo vllm serve a/b", VARIABLE, "sudo XX_GEMM=0 vllm serve a/b"),
        ("env A=1 vllm serve a/b", VARIABLE, "env A=1 XX_GEMM=0 vllm serve a/b"),
        ("bash -c 'vllm serve a/b --seed 1'", FLAG, "bash -c 'vllm serve a/b --seed 1 --max-model-len 4096'"),
        ("docker run --gpus all i/m --model a/b", FLAG, "docker run --gpus all i/m --model a/b --max-model-len 4096"),
        ("docker run -it -e A=1 i/m --model a/b", VARIABLE, "docker run -it -e A=1 -e XX_GEMM=0 i/m --model a/b"),
        ("docker run -eXX_GEMM=1 i/m --model a/b", VARIABLE, "docker run -eXX_GEMM=0 i/m --model a/b"),
        ("docker run --env=XX_GEMM=1 i/m --model a/b", VARIABLE, "docker run --env=XX_GEMM=0 i/m --model a/b"),
        ("sudo podman run -d i/m serve a/b", FLAG, "sudo podman run -d i/m serve a/b --max-model-len 4096"),
        ("docker run m bash -c 'vllm serve a/b'", FLAG, "docker run m bash -c 'vllm serve a/b --max-model-len 4096'"),
        ("['vllm', 'serve', 'a/b', '--seed', '1']", FLAG, "vllm serve a/b --seed 1 --max-model-len 4096"),
        ("--model a/b --seed 1", FLAG, "vllm serve a/b --seed 1 --max-model-len 4096"),
    ],
)  # fmt: skip
def test_the_change_lands_where_it_is_read(before, change, after):
    """Flags go to vLLM's arguments, variables to the process or the container that vLLM runs in."""
    assert after == forms(before, change)["shell"]


@pytest.mark.parametrize("kept", ["docker run i/m --model a/b", f"{MODULE} --model a/b", 'vllm serve "$M" --x "a b"'])
def test_what_is_not_changed_is_printed_as_it_was_written(kept):
    """Quotes and variables of the user's own stay as they are."""
    assert f"{kept} --max-model-len 4096" == forms(kept, FLAG)["shell"]


@given(commands())
def test_a_docker_command_keeps_its_own_words(words):
    """Around the change, every word of the docker command is as before."""
    before = ["docker", "run", "--rm", "-v", "/a b:/c", "vllm/vllm-openai", "--model", *words[2:]]
    made = forms(shlex.join(before), FLAG)
    assert [*before, "--max-model-len", "4096"] == shlex.split(made["shell"])
    assert made["shell"] == made["docker"]


@given(commands())
def test_arguments_from_the_log_make_the_command(words):
    """Values as vLLM lists them become options: switches bare, denials as --no-, lists as words."""
    arguments = {"model": words[2], "enforce_eager": True, "enable_prefix_caching": False,
                 "hf_overrides": {"a": [1]},
                 "served_model_name": ["x", "y"], "chat_template": " ".join(words), "api_key": None}  # fmt: skip
    made = forms(None, FLAG, arguments=arguments)
    named = ["--served-model-name", "x", "y", "--chat-template", " ".join(words)]
    expected = ["vllm", "serve", words[2], "--enforce-eager", "--no-enable-prefix-caching", "--hf-overrides"]
    expected += ['{"a": [1]}', *named, "--max-model-len", "4096"]
    assert (expected, "arguments") == (shlex.split(made["shell"]), made["basis"])


def test_of_a_configuration_that_is_printed_whole_what_was_set_is_kept():
    """Fields that are nothing were not set, in nested tables too; zero and false say something."""
    printed = {"mode": None, "cache_dir": "", "level": 0, "use": False, "pass_config": {"fuse": None}, "sizes": [1]}
    made = forms(None, FLAG, arguments={"model": "a/b", "compilation_config": printed})
    assert """--compilation-config '{"level": 0, "use": false, "sizes": [1]}'""" in made["shell"]


def test_adapters_are_read_from_their_objects():
    """vLLM lists adapters as Python objects; their names and paths are enough."""
    arguments = {"model": "a/b", "lora_modules": "[LoRAModulePath(name='n', path='/p', base_model_name=None)]"}
    assert forms(None, FLAG, arguments=arguments)["shell"] == "vllm serve a/b --lora-modules n=/p --max-model-len 4096"


def test_an_object_that_no_flag_can_say_gives_no_command():
    """A command without it would start something else."""
    assert answer(None, FLAG, arguments={"model": "a/b", "x": "Config(level=3)"}).corrected_command == ""


def test_the_configuration_is_the_last_resort():
    """Where no command and no arguments are told, the engine's configuration says what differs from the defaults."""
    made = forms(None, FLAG, model="a/b", max_model_len=9000, tensor_parallel_size=2, pipeline_parallel_size=1,
                 tokenizer="a/b", kv_cache_dtype="auto", enforce_eager=False, dtype="bfloat16")  # fmt: skip
    expected = "vllm serve a/b --dtype bfloat16 --max-model-len 4096 --tensor-parallel-size 2"
    assert (expected, "configuration") == (made["shell"], made["basis"])


@pytest.mark.parametrize(
    "first",
    [
        fix("--seed 1", exact=False),
        fix("--seed 2", "step"),
        fix("--seed 3", safety="destructive"),
        fix("--tokenizer ORG/ORIGINAL"),
        fix("--chat-template /path/to/x.jinja"),
        fix("VLLM_PORT=51000, and --port 8000 for HTTP", "env"),
        fix("VLLM_LOGGING_LEVEL=DEBUG python run.py", "env"),
        fix("--max-model-len N   (N up to what config.json says)"),
        fix("leave --kv-transfer-config away"),
        fix("--port 1"),
    ],
    ids=lambda item: item.change,
)
def test_a_first_fix_that_cannot_be_pasted_gives_no_command(first):
    """Placeholders, prose, what destroys, and what is so already: a later fix is not applied in its place."""
    made = answer("vllm serve a/b --port 1", first, fix("--max-model-len 4096", rank=2))
    assert ("", None) == (made.corrected_command, made.corrected)


def test_options_that_a_fix_leaves_out_are_gone_from_the_command():
    """Alone, in place of others, and as a key of a JSON value."""
    command = """vllm serve a/b --dtype int7 --hf-overrides '{"a": 1, "b": 2}' --port 1"""
    left = answer(command, fix("leave out --dtype int7", exact=True))
    assert left.corrected_command == """vllm serve a/b --hf-overrides '{"a": 1, "b": 2}' --port 1"""
    instead = answer(command, fix("--seed 1   # instead of --dtype int7"))
    assert instead.corrected_command == """vllm serve a/b --hf-overrides '{"a": 1, "b": 2}' --port 1 --seed 1"""
    key = answer(command, fix("leave out --hf-overrides.a 1"))
    assert key.corrected_command == """vllm serve a/b --dtype int7 --hf-overrides '{"b": 2}' --port 1"""


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("VLLM_PORT=x vllm serve a/b", "vllm serve a/b"),
        ("vllm serve a/b", "env -u VLLM_PORT vllm serve a/b"),
        ("docker run -e VLLM_PORT=x i --model a/b", ""),
    ],
)
def test_a_variable_that_a_fix_unsets_is_not_set(command, expected):
    """Taken out where the command sets it; kept from being inherited where it does not."""
    assert expected == answer(command, fix("unset VLLM_PORT", "env")).corrected_command


def test_arguments_are_written_as_their_release_takes_them():
    """A switch that cannot be denied is not, true and false are given where they are values, lists of JSON as JSON."""
    arguments = {
        "model": "a/b",
        "multi_step_stream_outputs": False,
        "enable_lora": False,
        "allowed_origins": ["x", "y"],
    }
    made = answer(None, FLAG, vllm_version="0.6.6", arguments=arguments)
    expected = 'vllm serve a/b --multi-step-stream-outputs false --allowed-origins \'["x", "y"]\' --max-model-len 4096'
    assert expected == made.corrected_command


@pytest.mark.parametrize("change", ["export XX_GEMM=0", "XX_GEMM=0 vllm serve MODEL", "XX_GEMM=0   # first"])
def test_a_change_may_be_written_as_a_person_types_it(change):
    """What a shell needs around the variable is not part of the change."""
    assert forms("vllm serve a/b", fix(change, "env"))["shell"] == "XX_GEMM=0 vllm serve a/b"


NAMES = {"FLASH_ATTN", "TRITON_ATTN", "TRITON_ATTN_VLLM_V1", "FLASHINFER", "FLEX_ATTENTION", "XFORMERS", "NONE"}
NAMES |= {"PIECEWISE", "HND", "NHD"}
"""Values of vLLM's options that are written in capitals."""


def test_no_placeholder_of_the_corpus_is_pasted():
    """Words in capitals stand for a person's own value, unless they are values of an option."""
    pasted = []
    for cause in (cause for bucket in CORPUS.buckets() for cause in CORPUS.bucket(bucket).causes):
        settings = [action for item in cause.fixes if item.kind in ("flag", "env") for action in item.actions]
        given = [each for each in settings if isinstance(each, SetOption) and not each.open]
        pasted += [re.sub(r"\{[a-z_0-9]+(?:\|[^{}]*)?\}", "7", value) for each in given for value in each.values]
    words = {word for value in pasted for word in re.split(r"[^A-Za-z0-9_]+", value)}
    assert {word for word in words if word.isupper()} <= NAMES
    assert "TRITON_ATTN" in words


def test_a_remark_behind_a_change_is_not_pasted():
    """What stands behind two blanks and a sign is for the reader."""
    assert forms("vllm serve a/b", fix("--device cpu   # or cuda, tpu"))["shell"] == "vllm serve a/b --device cpu"
