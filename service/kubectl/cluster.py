"""What kubectl says about pods: kubectl itself is run, with its configuration, sign-in plugins and rights."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

SECONDS = 60
"""A command of kubectl's may take that long."""
LOG = ("--limit-bytes=104857600",)
"""No more of a log is fetched than this: its end is what a crash leaves."""


class KubectlError(Exception):
    """kubectl is not there, or refuses; the text is its own."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod, as ``kubectl get -o json`` gives it."""

    data: dict[str, Any]

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.data["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(self.data["metadata"].get("namespace", ""))

    @property
    def containers(self) -> list[dict[str, Any]]:
        """Its containers as specified."""
        return list(self.data.get("spec", {}).get("containers", []))

    def container(self, asked: str = "") -> str:
        """Return the container that is asked for, or the one that runs vLLM.

        Raises:
            KubectlError: There is none of this name.
        """
        names = [str(one["name"]) for one in self.containers]
        if asked and asked not in names:
            raise KubectlError(f"{self.name} has no container {asked}; it has {', '.join(names)}")
        return asked or next((str(one["name"]) for one in self.containers if runs_vllm(one)), names[0])

    def status(self, container: str) -> dict[str, Any]:
        """Return the state of a container."""
        states = self.data.get("status", {}).get("containerStatuses", [])
        return next((dict(one) for one in states if one.get("name") == container), {})

    def spec(self, container: str) -> dict[str, Any]:
        """Return a container as specified."""
        return next(one for one in self.containers if one["name"] == container)

    def manifest(self, container: str) -> str:
        """Return the pod with that container alone, as a manifest for the start command."""
        spec = {
            key: value
            for key, value in self.spec(container).items()
            if key in ("name", "image", "command", "args", "env")
        }
        whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": self.name}, "spec": {"containers": [spec]}}
        return json.dumps(whole, indent=1)

    @property
    def ailing(self) -> bool:
        """Whether a container of it has crashed, waits in vain, or is not ready."""
        states = self.data.get("status", {}).get("containerStatuses", [])
        return any(not one.get("ready") or one.get("restartCount") for one in states) or not states


class Cluster:
    """kubectl with its options."""

    def __init__(self, namespace: str = "", context: str = "", kubeconfig: str = "") -> None:
        given = {"--namespace": namespace, "--context": context, "--kubeconfig": kubeconfig}
        self._words = ["kubectl", *(f"{name}={value}" for name, value in given.items() if value)]

    def pod(self, name: str) -> Pod:
        """Return a pod."""
        return Pod(json.loads(self._run("get", "pod", name.removeprefix("pod/"), "-o", "json")))

    def ailing(self) -> list[Pod]:
        """Return the pods of the namespace that run vLLM and are not well."""
        items = json.loads(self._run("get", "pods", "-o", "json")).get("items", [])
        return [pod for pod in map(Pod, items) if pod.ailing and any(map(runs_vllm, pod.containers))]

    def described(self, pod: Pod) -> bytes:
        """Return its description, events included; nothing where that is not permitted."""
        try:
            return self._run("describe", "pod", pod.name)
        except KubectlError:
            return b""

    def log(self, pod: Pod, container: str) -> bytes:
        """Return the log of the container that ended, or of the one that runs; nothing where there is none yet."""
        words = ("logs", pod.name, "-c", container, *LOG)
        if pod.status(container).get("restartCount"):
            try:
                return self._run(*words, "--previous")
            except KubectlError:
                pass  # the node has cleared it away
        try:
            return self._run(*words)
        except KubectlError:
            # Never started: its events say why.
            return b""

    def follow(self, pod: Pod, container: str) -> subprocess.Popen[bytes]:
        """Return kubectl following a log, its output a pipe."""
        return subprocess.Popen([*self._words, "logs", "-f", pod.name, "-c", container], stdout=subprocess.PIPE)  # noqa: S603

    def _run(self, *words: str) -> bytes:
        try:
            done = subprocess.run([*self._words, *words], capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
        except FileNotFoundError:
            raise KubectlError("kubectl is not installed, or not in PATH") from None
        except subprocess.TimeoutExpired:
            raise KubectlError(f"kubectl {words[0]} took longer than {SECONDS} s") from None
        if done.returncode:
            raise KubectlError(done.stderr.decode("utf-8", "replace").strip() or f"kubectl {words[0]} failed")
        return done.stdout


def runs_vllm(container: dict[str, Any]) -> bool:
    """Return whether a container looks like vLLM's, by its image, command or name."""
    told = [
        container.get("name", ""),
        container.get("image", ""),
        *container.get("command", []),
        *container.get("args", []),
    ]
    return any("vllm" in str(word).lower() for word in told)
