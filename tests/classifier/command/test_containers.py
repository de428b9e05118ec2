"""The forms for containers, whole: on each kind of GPU, from a shell's command, from ``docker run``, from a manifest."""

from __future__ import annotations

from typing import Any

import pytest

from tests.classifier.command.helpers import fix, forms, load_yaml
from vllm_triage.classifier.command.start import takes_no_word

CHANGE = fix("--max-model-len 4096")
CACHE = "~/.cache/huggingface:/root/.cache/huggingface"
SHELL = "HF_HOME=/hf X='a b' vllm serve /models/m --port 9000 -tp 2"
DOCKER = (
    "docker run --shm-size 8g -p 8000:8000 --publish=1:2 -v /a:/b --volume /c:/d -e A=1 --env=B=2 --ipc private "
    "--entrypoint run.sh vllm/vllm-openai:v0.9.2 --model a/b"
)


def made(command: str, **facts: Any) -> dict[str, Any]:
    """Return all forms, those in YAML read by PyYAML."""
    found = forms(command, CHANGE, **facts)
    return found | {name: load_yaml(found[name]) for name in ("compose", "kubernetes", "helm")}


def test_a_shells_command_on_amd_gpus() -> None:
    """Devices, the image for ROCm, the model's folder, ports and variables in every form."""
    found = made(SHELL, platform="ROCm", vllm_version="v0.10.2+rocm64")
    arguments = ["--port", "9000", "-tp", "2", "--max-model-len", "4096"]
    assert found["docker"] == (
        "docker run --device=/dev/kfd --device=/dev/dri --group-add=video --ipc=host -p 9000:9000 "
        f"-v {CACHE} -v /models/m:/models/m -e HF_HOME=/hf -e X='a b' vllm/vllm-openai-rocm:v0.10.2 --model /models/m "
        "--port 9000 -tp 2 --max-model-len 4096"
    )
    assert found["compose"] == {
        "services": {
            "vllm": {
                "image": "vllm/vllm-openai-rocm:v0.10.2",
                "command": ["--model", "/models/m", *arguments],
                "environment": {"HF_HOME": "/hf", "X": "a b"},
                "ports": ["9000:9000"],
                "volumes": [CACHE, "/models/m:/models/m"],
                "ipc": "host",
                "devices": ["/dev/kfd", "/dev/dri"],
                "group_add": ["video"],
            }
        }
    }
    env = [{"name": "HF_HOME", "value": "/hf"}, {"name": "X", "value": "a b"}]
    assert found["kubernetes"] == {
        "containers": [
            {
                "name": "vllm",
                "image": "vllm/vllm-openai-rocm:v0.10.2",
                "command": ["vllm", "serve"],
                "args": ["/models/m", *arguments],
                "env": env,
                "resources": {"limits": {"amd.com/gpu": "2"}},
            }
        ]
    }
    assert found["helm"] == {
        "image": {
            "repository": "vllm/vllm-openai-rocm",
            "tag": "v0.10.2",
            "command": ["vllm", "serve", "/models/m", *arguments],
            "env": env,
        },
        "containerPort": 9000,
        "resources": {"requests": {"amd.com/gpu": 2}, "limits": {"amd.com/gpu": 2}},
    }


@pytest.mark.parametrize(("platform", "image"), [("cpu", "vllm-cpu:latest"), ("tpu", "vllm-tpu:latest")])
def test_machines_without_such_gpus(platform: str, image: str) -> None:
    """No resources are asked for, and the image is one that was built by hand."""
    found = made("vllm serve a/b", platform=platform)
    container = {"image": image, "command": ["--model", "a/b", "--max-model-len", "4096"]}
    assert found["compose"]["services"]["vllm"] == container | {
        "ports": ["8000:8000"],
        "volumes": [CACHE],
        "ipc": "host",
    }
    assert found["kubernetes"]["containers"] == [
        {"name": "vllm", "image": image, "command": ["vllm", "serve"], "args": ["a/b", "--max-model-len", "4096"]}
    ]
    assert list(found["helm"]) == ["image"]


def test_nvidia_gpus_where_nothing_is_said() -> None:
    """All of them; the release of the log names the image."""
    found = made("vllm serve a/b", vllm_version="0.9.2.post1")
    assert found["docker"] == (
        f"docker run --gpus all --ipc=host -p 8000:8000 -v {CACHE} vllm/vllm-openai:v0.9.2.post1 --model a/b "
        "--max-model-len 4096"
    )
    device = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    assert found["compose"]["services"]["vllm"]["deploy"] == {"resources": {"reservations": {"devices": [device]}}}
    assert "containerPort" not in found["helm"]
    assert found["helm"]["image"]["tag"] == "v0.9.2.post1"


@pytest.mark.parametrize("version", ["0.9", "0.9.2rc1", "main", ""])
def test_a_release_that_has_no_image(version: str) -> None:
    """The latest one is named."""
    assert made("vllm serve a/b", vllm_version=version)["helm"]["image"]["tag"] == "latest"


def test_docker_run_as_other_forms() -> None:
    """Its ports, mounts, variables, entry point, shared memory and image are kept."""
    found = made(DOCKER)
    assert found["docker"] == found["shell"] == f"{DOCKER} --max-model-len 4096"
    service = found["compose"]["services"]["vllm"]
    del service["deploy"]
    assert service == {
        "image": "vllm/vllm-openai:v0.9.2",
        "entrypoint": ["run.sh"],
        "command": ["--model", "a/b", "--max-model-len", "4096"],
        "environment": {"A": "1", "B": "2"},
        "ports": ["8000:8000", "1:2"],
        "volumes": ["/a:/b", "/c:/d"],
        "shm_size": "8g",
        "ipc": "private",
    }
    assert found["kubernetes"]["containers"] == [
        {
            "name": "vllm",
            "image": "vllm/vllm-openai:v0.9.2",
            "command": ["run.sh"],
            "args": ["--model", "a/b", "--max-model-len", "4096"],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
        }
    ]
    assert found["helm"]["image"]["command"] == ["vllm", "serve", "a/b", "--max-model-len", "4096"]


def test_docker_run_without_options_gets_none() -> None:
    """No ports, mounts or shared memory are made up for it."""
    service = made("docker run img:1 vllm serve a/b > log")["compose"]["services"]["vllm"]
    del service["deploy"]
    assert service == {"image": "img:1", "command": ["vllm", "serve", "a/b", "--max-model-len", "4096"]}


@pytest.mark.parametrize(
    ("image", "repository", "tag"),
    [("img:1", "img", "1"), ("img", "img", "latest"), ("host:5000/img", "host:5000/img", "latest"), ("host:5000/img:2", "host:5000/img", "2")],
)  # fmt: skip
def test_an_image_in_the_charts_words(image: str, repository: str, tag: str) -> None:
    """A registry's port is no tag."""
    found = made(f"docker run {image} --model a/b")["helm"]["image"]
    assert (found["repository"], found["tag"]) == (repository, tag)


@pytest.mark.parametrize(
    ("command", "facts", "gpus"),
    [
        ("vllm serve a/b", {}, 1), ("vllm serve a/b -tp 2 -pp 3 -dp 2", {}, 12), ("vllm serve a/b", {"tensor_parallel_size": 4}, 4),
        ("vllm serve a/b -tp 2", {"tensor_parallel_size": 4, "pipeline_parallel_size": 2}, 4), ("vllm serve a/b -tp $N", {}, 1),
        ("vllm serve a/b -tp 0", {}, 1),
    ],
)  # fmt: skip
def test_as_many_gpus_as_ranks(command: str, facts: dict[str, Any], gpus: int) -> None:
    """As given, else as the log tells them; what is not a number counts as one."""
    assert made(command, **facts)["helm"]["resources"]["limits"] == {"nvidia.com/gpu": gpus}


def test_what_stands_for_a_value_in_each_form() -> None:
    """Variables in braces or without; one that is only handed on cannot be made of itself in a pod."""
    found = made("A=$A B=${B} C=$HOME/x vllm serve ${ROOT}/m --download-dir '$(x)'")
    env = {entry["name"]: entry["value"] for entry in found["kubernetes"]["containers"][0]["env"]}
    assert env == {"A": "<A>", "B": "<B>", "C": "$(HOME)/x"}
    assert found["kubernetes"]["containers"][0]["args"][:3] == ["$(ROOT)/m", "--download-dir", "$$(x)"]
    assert found["compose"]["services"]["vllm"]["environment"] == {"A": "$A", "B": "${B}", "C": "$HOME/x"}
    assert found["compose"]["services"]["vllm"]["command"][1:4] == ["${ROOT}/m", "--download-dir", "$$(x)"]
    assert '-e A="$A"' in found["docker"]
    assert 'os.environ["C"] = os.path.expandvars("$HOME/x")' in found["python"]
    assert '"A"' not in found["python"]


@pytest.mark.parametrize(
    ("option", "alone"),
    [
        *[(name, True) for name in (
            "--rm", "--detach", "--interactive", "--tty", "--init", "--privileged", "--publish-all", "--read-only", "--quiet",
            "--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--disable-content-trust", "--replace",
        )],
        ("--gpus", False), ("--gpus=all", True), ("-it", True), ("-d", True), ("-p", False), ("-P", True), ("-q", True), ("-p1:2", True),
        ("-v", False), ("-e", False), ("--name", False),
    ],
)  # fmt: skip
def test_options_of_docker_that_stand_alone(option: str, alone: bool) -> None:
    """The word behind the others is their value, not the image."""
    assert takes_no_word(option) is alone
    value = "" if alone else " x"
    found = forms(f"docker run {option}{value} img:1 --model a/b", CHANGE)
    assert found["shell"] == f"docker run {option}{value} img:1 --model a/b --max-model-len 4096"
    assert "image: img:1" in found["compose"]


@pytest.mark.parametrize(
    ("command", "after"),
    [
        ("podman run img --model a/b", "podman run -e A=1 img --model a/b"),
        ("/usr/bin/nerdctl create img --model a/b", "/usr/bin/nerdctl create -e A=1 img --model a/b"),
        ("docker run -e A=0 img --model a/b", "docker run -e A=1 img --model a/b"),
        ("docker run --env A=0 img --model a/b", "docker run --env A=1 img --model a/b"),
        ("docker run --env=A=0 img --model a/b", "docker run --env=A=1 img --model a/b"),
        ("docker run -eA=0 img --model a/b", "docker run -eA=1 img --model a/b"),
        ("docker run -e A img --model a/b", "docker run -e A -e A=1 img --model a/b"),
        ("vllm serve a/b", "A=1 vllm serve a/b"),
        ("A=0 B=2 vllm serve a/b", "A=1 B=2 vllm serve a/b"),
        ("B=2 vllm serve a/b", "B=2 A=1 vllm serve a/b"),
        ("cd x && vllm serve a/b", "cd x && A=1 vllm serve a/b"),
        ("cd x; vllm serve a/b", "cd x; A=1 vllm serve a/b"),
        ("env B=2 vllm serve a/b", "env B=2 A=1 vllm serve a/b"),
        ("sudo vllm serve a/b", "sudo A=1 vllm serve a/b"),
        ("$ vllm serve a/b", "A=1 vllm serve a/b"),
        ("bash -c 'vllm serve a/b'", "bash -c 'A=1 vllm serve a/b'"),
        ("docker run img bash -c 'vllm serve a/b'", "docker run -e A=1 img bash -c 'vllm serve a/b'"),
    ],
)
def test_where_a_variable_is_set(command: str, after: str) -> None:
    """Where it stands already, else in front of the program that reads it."""
    assert forms(command, fix("A=1", "env"))["shell"] == after


@pytest.mark.parametrize(
    ("command", "after"),
    [
        ("A=1 vllm serve a/b", "vllm serve a/b"),
        ("A=1 B=2 vllm serve a/b", "B=2 vllm serve a/b"),
        ("vllm serve a/b", "env -u A vllm serve a/b"),
        ("bash -c 'A=1 vllm serve a/b'", "bash -c 'vllm serve a/b'"),
        ("--model a/b", "env -u A vllm serve --model a/b"),
    ],
)
def test_how_a_variable_is_taken_out(command: str, after: str) -> None:
    """Where it is set; else the program starts without what it inherits."""
    assert forms(command, fix("unset A", "env"))["shell"] == after


@pytest.mark.parametrize(
    ("command", "after"),
    [
        ("python -m vllm.entrypoints.openai.api_server --model a/b 2>&1 | tee log",
         "python -m vllm.entrypoints.openai.api_server --model a/b --max-model-len 4096 2>&1 | tee log"),
        ("python3 /x/api_server.py --model a/b &", "python3 /x/api_server.py --model a/b --max-model-len 4096 &"),
        ("/venv/bin/vllm serve a/b && echo done", "/venv/bin/vllm serve a/b --max-model-len 4096 && echo done"),
        ("vllm serve a/b || exit 1", "vllm serve a/b --max-model-len 4096 || exit 1"),
        ("vllm serve a/b >> log", "vllm serve a/b --max-model-len 4096 >> log"),
        ("vllm serve a/b < in", "vllm serve a/b --max-model-len 4096 < in"),
        ("+ vllm serve a/b", "vllm serve a/b --max-model-len 4096"),
        ("# vllm serve a/b", "vllm serve a/b --max-model-len 4096"),
        ("> vllm serve a/b", "vllm serve a/b --max-model-len 4096"),
        ("% vllm serve a/b", "vllm serve a/b --max-model-len 4096"),
        ("docker run img serve a/b", "docker run img serve a/b --max-model-len 4096"),
        ("docker run img sh -c 'vllm serve a/b --port 1' x", "docker run img sh -c 'vllm serve a/b --port 1 --max-model-len 4096' x"),
        ("sh -c 'python -m vllm.entrypoints.api_server --model a/b'",
         "sh -c 'python -m vllm.entrypoints.api_server --model a/b --max-model-len 4096'"),
    ],
)  # fmt: skip
def test_however_vllm_is_started(command: str, after: str) -> None:
    """What a shell does behind it stays behind it."""
    assert forms(command, CHANGE)["shell"] == after


@pytest.mark.parametrize("change", ["leave out --port 1"])
def test_an_option_that_is_left_out_needs_no_value_to_paste(change: str) -> None:
    """Also where the fix is a sentence."""
    assert forms("vllm serve a/b --port 1 --seed 2", fix(change, exact=False))["shell"] == "vllm serve a/b --seed 2"


@pytest.mark.parametrize("quote", ['"', "'", ""])
def test_variables_of_a_compose_file_in_a_list(quote: str) -> None:
    """In quotes or without; the one that is changed is written anew, the others stay."""
    text = (
        "services:\n  vllm:\n    image: vllm/vllm-openai\n    environment:\n"
        f"      - {quote}A_B=0{quote}\n      - {quote}C=x{quote}\n    command: --model a/b\n"
    )
    assert load_yaml(forms(text, fix("A_B=1", "env"))["compose"])["services"]["vllm"]["environment"] == ["A_B=1", "C=x"]
