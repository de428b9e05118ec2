"""``kubectl vllm-triage``: what it asks of the cluster, what it answers, and the command that follows."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.kubernetes_api import serving
from vllm_triage.service.kubectl.plugin import run as plugin

ROOT = Path(__file__).parents[2]
LOG = (ROOT / "corpus/logs/written/kv-cache-too-small.log").read_text()
DESCRIBED = """\
Name:             {name}
Containers:
  vllm:
    Last State:     Terminated
      Reason:       {reason}
      Exit Code:    {code}
    Restart Count:  3
Events:
  Warning  BackOff  2m  kubelet  Back-off restarting failed container
"""


def pod(name: str, **more: Any) -> dict[str, Any]:
    """Return a pod of a Deployment that has crashed three times."""
    container = {
        "name": "vllm", "image": "vllm/vllm-openai:v0.19.1", "resources": {"limits": {"memory": "32Gi"}},
        "command": ["vllm", "serve"], "args": ["acme/harbor-8b-instruct", "--host", "0.0.0.0", "--served-model-name", "harbor"],
        **more,
    }  # fmt: skip
    return {
        "metadata": {
            "name": name,
            "namespace": "serving",
            "ownerReferences": [{"kind": "ReplicaSet", "name": "harbor-6c9f7"}],
        },
        "spec": {"containers": [{"name": "proxy", "image": "envoy"}, container]},
        "status": {"containerStatuses": [{"name": "vllm", "ready": False, "restartCount": 3}]},
    }


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cluster with one pod, behind a stand-in for kubectl."""
    command = tmp_path / "bin" / "kubectl"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {ROOT}/tests/service/kubectl_stand_in.py "$@"\n')
    command.chmod(0o755)
    (tmp_path / "asked").write_text("")
    monkeypatch.setenv("KUBECTL_STAND_IN", str(tmp_path))
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    put(tmp_path, pod("harbor-6c9f7-x2x4z"), LOG)
    return tmp_path


def put(folder: Path, data: dict[str, Any], log: str, reason: str = "Error", code: int = 1) -> None:
    """Add a pod with the log of its container that ended."""
    name = data["metadata"]["name"]
    (folder / f"{name}.json").write_text(json.dumps(data))
    (folder / f"{name}.describe").write_text(DESCRIBED.format(name=name, reason=reason, code=code))
    (folder / f"{name}.previous").write_text(log)
    (folder / f"{name}.log").write_text("INFO 11-02 10:00:00 [api_server.py:1] vLLM API server version 0.19.1\n")


def test_a_crashed_pod_is_answered_by_its_previous_log(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the patch of its Deployment; nothing but reading is asked of the cluster."""
    assert plugin(["harbor-6c9f7-x2x4z", "-n", "serving"]) == 1
    out = capsys.readouterr().out
    assert "kv_cache_oom/context_exceeds_cache" in out
    assert "kubectl patch deployment/harbor -n serving --type strategic -p " in out
    asked = (cluster / "asked").read_text().splitlines()
    assert {line.split()[1] for line in asked} == {"get", "describe", "logs"}
    assert all("--namespace=serving" in line for line in asked)
    assert "--previous" in asked[-1]


def test_the_patch_changes_the_arguments_and_nothing_else(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As kubectl takes it: a strategic merge of one container by its name."""
    assert plugin(["harbor-6c9f7-x2x4z", "--patch"]) == 0
    words = shlex.split(capsys.readouterr().out)
    body = json.loads(words[words.index("-p") + 1])
    (container,) = body["spec"]["template"]["spec"]["containers"]
    assert container == {
        "name": "vllm",
        "args": [
            "acme/harbor-8b-instruct",
            "--host",
            "0.0.0.0",
            "--served-model-name",
            "harbor",
            "--max-model-len",
            "41936",
        ],
    }


def test_a_container_that_was_killed_for_memory_gets_more(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The log says nothing; the state does."""
    put(
        cluster,
        pod("harbor-6c9f7-x2x4z"),
        "INFO 11-02 10:00:00 [api_server.py:1] vLLM API server version 0.19.1\n",
        "OOMKilled",
        137,
    )
    assert plugin(["pod/harbor-6c9f7-x2x4z"]) == 1
    out = capsys.readouterr().out
    assert "host_memory/oom_killed" in out
    assert (
        "kubectl set resources deployment/harbor -n serving -c vllm --limits=memory=64Gi --requests=memory=64Gi" in out
    )


def test_without_a_name_the_pods_that_are_not_well_are_answered(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that run vLLM."""
    put(cluster, {**pod("web-1"), "spec": {"containers": [{"name": "web", "image": "nginx"}]}}, "x")
    assert plugin([]) == 1
    out = capsys.readouterr().out
    assert ("harbor-6c9f7-x2x4z/vllm" in out or "kv_cache_oom" in out, "web-1" in out) == (True, False)


@pytest.mark.parametrize("more", [{"command": ["bash", "-c"], "args": ["vllm serve m | tee log"]}])
def test_a_shell_line_is_not_patched(cluster: Path, capsys: pytest.CaptureFixture[str], more: dict[str, Any]) -> None:
    """What cannot be put back as it was written is left to people."""
    put(cluster, pod("harbor-6c9f7-x2x4z", **more), LOG)
    assert plugin(["harbor-6c9f7-x2x4z", "--patch"]) == 2
    assert "no change of the workload follows" in capsys.readouterr().err


def test_what_kubectl_refuses_is_told(
    cluster: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its words; and where there is no kubectl."""
    assert plugin(["gone"]) == 2
    assert 'pods "gone" not found' in capsys.readouterr().err
    assert plugin(["harbor-6c9f7-x2x4z", "-c", "nosuch"]) == 2
    assert "it has proxy, vllm" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(cluster))
    assert plugin(["x"]) == 2
    assert "kubectl is not installed" in capsys.readouterr().err


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Callable[..., tuple[int, str, list[str]]]]:
    """``kubectl vllm-triage`` through the real kubectl, against a recorded API server; returns code, output and requests."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    data = pod("harbor-6c9f7-x2x4z")
    data |= {"apiVersion": "v1", "kind": "Pod"}
    state = {
        "exitCode": 1,
        "reason": "Error",
        "startedAt": "2026-11-02T09:00:00Z",
        "finishedAt": "2026-11-02T09:01:00Z",
    }
    for one in data["status"]["containerStatuses"]:
        one |= {"image": "vllm/vllm-openai:v0.19.1", "imageID": "", "state": {}, "lastState": {"terminated": state}}
    name = data["metadata"]["name"]
    plug = tmp_path / "bin" / "kubectl-vllm_triage"
    plug.parent.mkdir()
    plug.write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c 'from vllm_triage.service.kubectl.plugin import main; main()' \"$@\"\n"
    )
    plug.chmod(0o755)
    with serving([data], {name: LOG}, {name: LOG}) as (address, asked):
        config = tmp_path / "config"
        config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "recorded",
            "clusters": [{"name": "recorded", "cluster": {"server": address}}], "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "recorded", "context": {"cluster": "recorded", "user": "me", "namespace": "serving"}}],
        }))  # fmt: skip
        env = {
            **os.environ,
            "KUBECONFIG": str(config),
            "HOME": str(tmp_path),
            "PATH": f"{plug.parent}{os.pathsep}{os.environ['PATH']}",
        }

        def ask(*words: str) -> tuple[int, str, list[str]]:
            ran = subprocess.run(
                ["kubectl", "vllm-triage", *words], env=env, capture_output=True, text=True, timeout=120, check=False
            )
            return ran.returncode, ran.stdout + ran.stderr, asked

        yield ask


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("harbor-6c9f7-x2x4z",)], ids=["what is not well", "one pod"])
def test_through_kubectl_itself(recorded: Callable[..., tuple[int, str, list[str]]], words: tuple[str, ...]) -> None:
    """It finds the plugin by its name; the plugin reads the pod, its events and its previous log, and writes nothing."""
    code, out, asked = recorded(*words)
    assert (code, "kv_cache_oom/context_exceeds_cache" in out) == (1, True), out
    assert "kubectl patch deployment/harbor -n serving --type strategic -p " in out
    assert any("previous=true" in request for request in asked)
    assert any("/events" in request for request in asked)
    assert all(request.startswith("GET ") for request in asked)


@pytest.mark.slow
def test_watching_reports_a_cause_while_the_log_is_followed(
    recorded: Callable[..., tuple[int, str, list[str]]],
) -> None:
    """The log comes line by line; the answer before its end."""
    code, out, asked = recorded("harbor-6c9f7-x2x4z", "--watch")
    assert (code, "The KV cache cannot hold one request" in out) == (1, True), out
    assert any("/log?" in request and "follow=true" in request for request in asked)
    assert all(request.startswith("GET ") for request in asked)
