"""Compose files, Kubernetes manifests, Helm values: changed in place, everything else untouched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.classifier.command.helpers import TEXTS, fix, forms, load_yaml

FLAG = fix("--max-model-len 4096")
VARIABLES = fix("VLLM_USE_DEEP_GEMM=0 NCCL_DEBUG=INFO", "env")

COMPOSE = """\
services:
  proxy:
    image: nginx:1   # in front
    command: [nginx]
  vllm:
    image: vllm/vllm-openai:v0.11.0
    environment:
      - HF_HOME=/data
    command:
      - --model
      - acme/tiny-7b
      - --max-model-len=9000   # too much
      - --seed
      - "1"
    ports: ["8000:8000"]
"""
POD = """\
apiVersion: v1
kind: Pod
spec:
  containers:
  - name: sidecar
    image: busybox
    args: ["sleep", "1"]
    env:
    - name: A
      value: "1"
  - name: server
    image: vllm/vllm-openai:v0.11.0
    command: ["vllm", "serve", "acme/tiny-7b"]
    args:
    - --max-model-len
    - "9000"
    env:
    - name: HF_TOKEN
      valueFrom:
        secretKeyRef: {name: hf, key: token}
    - name: NCCL_DEBUG
      value: WARN
    ports: []
"""
VALUES = """\
image:
  repository: vllm/vllm-openai
  tag: v0.23.0
  command: ["vllm", "serve", "/data/", "--max-model-len", "9000"]
servicePort: 80
"""


def lines_changed(before: str, after: str) -> list[str]:
    """Return the lines that were added, in order."""
    kept = before.splitlines()
    return [line for line in after.splitlines() if line not in kept]


def test_a_compose_list_is_changed_in_one_line():
    """The other service, comments elsewhere and the order stay."""
    made = forms(COMPOSE, FLAG)
    assert lines_changed(COMPOSE, made["compose"]) == ['      - "--max-model-len=4096"']
    assert made["compose"].splitlines()[3] == "    command: [nginx]"


def test_a_compose_file_gets_variables_in_its_own_style():
    """A list of NAME=value gets more of them."""
    made = load_yaml(forms(COMPOSE, VARIABLES)["compose"])["services"]
    assert made["vllm"]["environment"] == ["HF_HOME=/data", "VLLM_USE_DEEP_GEMM=0", "NCCL_DEBUG=INFO"]
    assert load_yaml(COMPOSE)["services"]["proxy"] == made["proxy"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ("", {"VLLM_USE_DEEP_GEMM": "0", "NCCL_DEBUG": "INFO"}),
        ("    environment: {}\n", {"VLLM_USE_DEEP_GEMM": "0", "NCCL_DEBUG": "INFO"}),
        ("    environment: {A: b}\n", {"A": "b", "VLLM_USE_DEEP_GEMM": "0", "NCCL_DEBUG": "INFO"}),
        ('    environment: ["A=b"]\n', ["A=b", "VLLM_USE_DEEP_GEMM=0", "NCCL_DEBUG=INFO"]),
        ("    environment:\n      NCCL_DEBUG: WARN\n", {"NCCL_DEBUG": "INFO", "VLLM_USE_DEEP_GEMM": "0"}),
    ],
)
def test_variables_are_set_however_they_are_written(environment, expected):
    """Absent, empty, between brackets, or a table: each gets the new variables."""
    text = f"services:\n  vllm:\n    command: --model a/b\n{environment}    ports: []\n"
    assert expected == load_yaml(forms(text, VARIABLES)["compose"])["services"]["vllm"]["environment"]


def test_a_pod_is_changed_in_the_container_that_runs_vllm():
    """Arguments and variables of other containers are none of ours; a value from a secret stays one."""
    made = forms(POD, FLAG, VARIABLES)
    before, after = load_yaml(POD)["spec"], load_yaml(made["kubernetes"])["spec"]
    assert before["containers"][0] == after["containers"][0]
    assert after["containers"][1]["args"] == ["--max-model-len", "4096"]
    assert [line for line in made["diff"].splitlines()[3:] if line[0] in "+-"] == ['-    - "9000"', '+    - "4096"']
    env = load_yaml(forms(POD, VARIABLES)["kubernetes"])["spec"]["containers"][1]["env"]
    assert before["containers"][1]["env"][0] == env[0]
    assert env[1:] == [{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "VLLM_USE_DEEP_GEMM", "value": "0"}]


def test_helm_values_are_changed_in_their_command():
    """The chart's image.command is the whole command; image.env holds the variables."""
    made = load_yaml(forms(VALUES, FLAG)["helm"])
    assert made["image"]["command"] == ["vllm", "serve", "/data/", "--max-model-len", "4096"]
    env = load_yaml(forms(VALUES, VARIABLES)["helm"])["image"]["env"]
    assert env == [{"name": "VLLM_USE_DEEP_GEMM", "value": "0"}, {"name": "NCCL_DEBUG", "value": "INFO"}]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("command: --model a/b --max-model-len 9000\n", "command"),
        ("command: >\n  --model a/b\n  --max-model-len 9000\n", "command"),
        ('args: ["--model", "a/b",\n  "--max-model-len", "9000"]\n', "args"),
        ('args: ["-c", "vllm serve a/b --max-model-len 9000"]\n', "args"),
    ],
)
def test_fragments_are_changed_too(text, key):
    """One key of a manifest, as logs show it, is enough."""
    made = forms(text, FLAG)
    shown = load_yaml(made["compose" if key == "command" else "kubernetes"])[key]
    assert "9000" not in str(shown)
    assert "4096" in str(shown)


@pytest.mark.parametrize(
    ("text", "shell", "image"),
    [
        (COMPOSE, "HF_HOME=/data vllm serve acme/tiny-7b --max-model-len=4096 --seed 1", "vllm/vllm-openai:v0.11.0"),
        (POD, "NCCL_DEBUG=WARN vllm serve acme/tiny-7b --max-model-len 4096", "vllm/vllm-openai:v0.11.0"),
        (VALUES, "vllm serve /data/ --max-model-len 4096", "vllm/vllm-openai:v0.23.0"),
    ],
    ids=["compose", "pod", "values"],
)
def test_a_manifest_gives_all_other_forms(text, shell, image):
    """The shell's form and the others are made of the command within, with the image that it names."""
    made = forms(text, FLAG)
    assert shell == made["shell"]
    assert f" {image} --model " in made["docker"]
    for form in ("compose", "kubernetes", "helm"):
        assert "4096" in str(load_yaml(made[form]))


def test_secrets_of_a_manifest_are_masked():
    """A token among the variables, a key among the arguments: neither leaves, and the file stays YAML."""
    text = POD.replace("value: WARN", "value: WARN\n    - name: HUB_TOKEN\n      value: topsecret1")
    text = text.replace('"9000"', '"9000"\n    - --api-key\n    - topsecret2')
    made = forms(text, FLAG)
    assert not [form for form in made if "topsecret" in str(made[form])]
    assert load_yaml(made["kubernetes"])["spec"]["containers"][1]["env"][2]["value"] == "<secret>"


@given(st.lists(TEXTS.filter(str.isprintable), min_size=1, max_size=4), st.sampled_from([None, False]))
def test_any_argument_survives_in_a_pod(values, flow):
    """Whatever the arguments hold, only the changed one changes."""
    words = ["--model", "acme/vllm", "--max-model-len", "9000", "--served-model-name", *values]
    dumped = pytest.importorskip("yaml").safe_dump(
        {"args": words}, default_flow_style=flow, width=10**6, allow_unicode=True
    )
    after = load_yaml(forms(dumped, FLAG)["kubernetes"])["args"]
    expected = ["4096" if word == "9000" and place == 3 else word for place, word in enumerate(words)]
    assert expected == after
