"""The forms of the corrected command: each reads back, by its own reader, as the same options."""

from __future__ import annotations

import ast
import json
import re
import shlex

from hypothesis import given
from hypothesis import strategies as st

from tests.classifier.command.helpers import TEXTS, VALUES, Answer, answer, commands, fix, forms, load_yaml
from vllm_triage.classifier.advice import Advice
from vllm_triage.classifier.command import FORMS
from vllm_triage.classifier.command.blocks import quoted, read_flow, read_scalar, scalar
from vllm_triage.classifier.command.shell import hunk
from vllm_triage.classifier.incidents.types import Incident
from vllm_triage.classifier.report.build import build
from vllm_triage.classifier.report.model import Report
from vllm_triage.classifier.verdict.types import Verdict

CHANGE = fix("--max-model-len 4096")


def pod(text: list[str]) -> list[str]:
    """Undo a pod's escapes."""
    return [value.replace("$$(", "$(") for value in text]


@given(TEXTS)
def test_every_text_is_the_same_yaml_text(text):
    """A scalar, with or without need for quotes, is read by PyYAML as the text that was written."""
    assert [text, text] == load_yaml(f"- {scalar(text)}\n- {quoted(text)}\n")


@given(TEXTS)
def test_a_scalar_reads_back(text):
    """Our own small reader understands what we write, on its own and in a list."""
    assert text == read_scalar(scalar(text))
    assert ([text, "x"], len(f"[{quoted(text)}, x]")) == read_flow(f"[{quoted(text)}, x]")


@given(commands())
def test_the_docker_form_hands_on_every_word(words):
    """What follows the image is the model and the arguments, word for word."""
    made = shlex.split(forms(shlex.join(words), CHANGE, vllm_version="0.10.2")["docker"])
    assert made[:4] == ["docker", "run", "--gpus", "all"]
    assert ["--model", *words[2:], "--max-model-len", "4096"] == made[made.index("vllm/vllm-openai:v0.10.2") + 1 :]


@given(commands())
def test_the_compose_form_is_yaml_with_every_word(words):
    """PyYAML reads the service; a doubled dollar sign is a dollar sign to compose."""
    service = load_yaml(forms(shlex.join(words), CHANGE)["compose"])["services"]["vllm"]
    expected = ["--model", *words[2:], "--max-model-len", "4096"]
    assert expected == [value.replace("$$", "$") for value in service["command"]]


@given(commands())
def test_the_kubernetes_and_helm_forms_are_yaml_with_every_word(words):
    """PyYAML reads the container and the chart's values, each with the whole command."""
    made = forms(shlex.join(words), CHANGE)
    container = load_yaml(made["kubernetes"])["containers"][0]
    image = load_yaml(made["helm"])["image"]
    expected = [*words, "--max-model-len", "4096"]
    assert expected == pod([*container["command"], *container["args"]])
    assert expected == pod(image["command"])


@given(commands())
def test_the_python_form_holds_the_values_of_all_engine_arguments(words):
    """The call's arguments are Python literals: numbers as numbers, JSON as dictionaries, text as it is."""
    tree = ast.parse(forms(shlex.join(words), CHANGE)["python"])
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "LLM")
    given_values = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert (given_values["model"], given_values["max_model_len"]) == ("acme/tiny-7b", 4096)
    rest = iter(words[3:])
    for word in rest:
        name, equals, value = word.replace("_", "-").partition("=")[0], "=" in word, word.partition("=")[2]
        if name not in VALUES:
            continue
        value = value if equals else next(rest)
        if name == "--chat-template":
            continue  # of the server only
        expected = value if name in ("--tokenizer", "--download-dir") else json.loads(value)
        assert expected == given_values[name[2:].replace("-", "_")]


def test_python_names_the_servers_own_options_as_remarks():
    """LLM(...) has no port: the option is kept, where it does no harm."""
    made = forms(
        "X_Y=1 vllm serve a/b -tp 2 --port 8001 --max-model-len 16k --no-enable-prefix-caching", fix("--enforce-eager")
    )
    expected = """\
import os

os.environ["X_Y"] = "1"

from vllm import LLM

llm = LLM(
    model="a/b",
    tensor_parallel_size=2,
    max_model_len=16000,
    enable_prefix_caching=False,
    enforce_eager=True,
)
# Options of the server, not of the engine:
#   --port 8001
"""
    assert expected == made["python"]


def test_containers_get_the_gpus_that_the_parallel_sizes_need():
    """A changed tensor-parallel size changes the limits as well."""
    made = forms("vllm serve a/b -tp 4 -pp 2", fix("--tensor-parallel-size 2"))
    limits = load_yaml(made["kubernetes"])["containers"][0]["resources"]["limits"]
    assert limits == {"nvidia.com/gpu": "4"}
    assert load_yaml(made["helm"])["resources"]["requests"] == {"nvidia.com/gpu": 4}


def test_variables_are_handed_on_in_every_form():
    """A variable set in front stands in the container's environment."""
    made = forms("A=1 vllm serve a/b", fix("VLLM_USE_DEEP_GEMM=0", "env"))
    expected = {"A": "1", "VLLM_USE_DEEP_GEMM": "0"}
    assert expected == load_yaml(made["compose"])["services"]["vllm"]["environment"]
    container = load_yaml(made["kubernetes"])["containers"][0]
    assert expected == {entry["name"]: entry["value"] for entry in container["env"]}
    assert made["shell"] == "A=1 VLLM_USE_DEEP_GEMM=0 vllm serve a/b"
    assert "-e A=1 -e VLLM_USE_DEEP_GEMM=0 vllm/vllm-openai:latest" in made["docker"]


def test_the_shells_variables_become_those_of_each_form():
    """$NAME is a shell's and compose's, $(NAME) a pod's, expandvars Python's; in single quotes it is text."""
    made = forms("vllm serve $ROOT/x --download-dir '$y'", CHANGE)
    assert made["shell"] == "vllm serve $ROOT/x --download-dir '$y' --max-model-len 4096"
    assert load_yaml(made["compose"])["services"]["vllm"]["command"][1:4:2] == ["$ROOT/x", "$$y"]
    assert load_yaml(made["kubernetes"])["containers"][0]["args"][0:3:2] == ["$(ROOT)/x", "$y"]
    assert 'model=os.path.expandvars("$ROOT/x")' in made["python"]


def test_the_diff_shows_the_changed_option_alone():
    """One option a line, so the change is one line."""
    made = forms("vllm serve a/b --max-model-len 9000 --port 1", CHANGE)
    expected = """\
--- as run
+++ corrected
@@ -1,3 +1,3 @@
 vllm serve a/b
-    --max-model-len 9000
+    --max-model-len 4096
     --port 1
"""
    assert expected == made["diff"]


@given(st.lists(st.sampled_from("abcd"), min_size=0, max_size=9), st.lists(st.sampled_from("abcd"), max_size=9))
def test_a_hunk_turns_one_list_into_the_other(old, new):
    """Without the added lines the hunk is what was; without the removed ones, what is."""
    head, *lines = hunk(old, new)
    numbers = [int(number) for number in re.findall(r"\d+", head)]
    begin = max(0, numbers[0] - 1) if numbers[1] else numbers[0]
    was = [line[1:] for line in lines if line[0] in " -"]
    now = [line[1:] for line in lines if line[0] in " +"]
    assert was == old[begin : begin + numbers[1]]
    assert (len(was), len(now)) == (numbers[1], numbers[3])
    assert new == [*old[:begin], *now, *old[begin + numbers[1] :]]


def report_of(made: Answer) -> Report:
    """Return the report that holds a corrected command."""
    verdict = Verdict(Incident(1, facts=made.facts), "kv_cache_oom", "kv_cache_oom/x", 0.9, "rule", "title", "summary")
    return build(verdict, Advice(made.fixes, corrected_command=made.corrected_command), 1, 1)


def test_secrets_stand_in_no_form():
    """Keys and tokens are masked in the command, in what was run, and in every other form."""
    command = "HF_TOKEN=hf_abcdefghijklmnopqrst vllm serve a/b --api-key topsecret1 --chat-template 'Bearer abcdefghij'"
    made = answer(command, CHANGE)
    for text in [
        made.corrected_command,
        *map(str, (made.corrected or {}).values()),
        json.dumps(report_of(made).to_dict()),
    ]:
        assert "abcdefghij" not in text
        assert "topsecret1" not in text
    assert "HF_TOKEN='<secret>' vllm serve a/b --api-key '<secret>'" in made.corrected_command


def test_the_answer_carries_all_forms():
    """JSON and the typed report hold every form, the fix that was applied and what the command was made of."""
    made = answer(None, fix("--max-model-len 4096"), fix("--port 1", rank=2), arguments={"model": "a/b"})
    report = report_of(made)
    assert report.corrected is not None
    assert {*FORMS, "fix", "basis"} == set(report.corrected.to_dict())
    assert (report.corrected.fix, report.corrected.basis) == (1, "arguments")
    assert report.corrected_command == report.corrected.shell


def test_without_a_command_there_is_nothing_to_correct():
    """No command line, no arguments, no configuration: no form."""
    made = answer(None, CHANGE)
    assert (made.corrected_command, made.corrected) == ("", None)


def test_a_text_of_braces_alone_stays_a_text():
    """The option takes text: what looks like an empty object is none."""
    assert 'download_dir="{}"' in forms("vllm serve a/b --download-dir '{}'", fix("--enforce-eager"))["python"]
