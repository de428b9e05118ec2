"""The change of the workload that an answer asks for, as one command of kubectl's."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from ...classifier.report.model import Report
from .cluster import Pod

KILLED = "host_memory/oom_killed"
_SIZE = re.compile(r"(\d+)([KMGT]i?)")


def patch_of(report: Report, pod: Pod, container: str) -> str:
    """Return the command; "" where no change of the manifest follows, or a pod has no owner that could be changed."""
    owner = owner_of(pod)
    if not owner:
        return ""
    where = f"-n {shlex.quote(pod.namespace)} " if pod.namespace else ""
    spec = pod.spec(container)
    if report.cause == KILLED:
        limit = str(spec.get("resources", {}).get("limits", {}).get("memory", ""))
        # Twice what was too little: the log of a process that was killed holds no better number.
        raised = _SIZE.sub(lambda found: f"{2 * int(found[1])}{found[2]}", limit)
        if not _SIZE.fullmatch(limit):
            return ""
        return f"kubectl set resources {owner} {where}-c {shlex.quote(container)} --limits=memory={raised} --requests=memory={raised}"
    words = shlex.split(report.corrected_command) if report.corrected_command else []
    change = _arguments(spec, words)
    if not change:
        return ""
    body = {"spec": {"template": {"spec": {"containers": [{"name": container, **change}]}}}}
    return f"kubectl patch {owner} {where}--type strategic -p {shlex.quote(json.dumps(body))}"


def owner_of(pod: Pod) -> str:
    """Return the workload that a pod is made by, as ``kind/name``: a ReplicaSet's name is its Deployment's and a hash."""
    for owner in pod.data["metadata"].get("ownerReferences", []):
        kind, name = str(owner.get("kind", "")).lower(), str(owner.get("name", ""))
        if kind == "replicaset":
            return f"deployment/{name.rpartition('-')[0]}"
        if kind in ("statefulset", "daemonset"):
            return f"{kind}/{name}"
    return ""


def _arguments(spec: dict[str, Any], words: list[str]) -> dict[str, list[str]]:
    """Return ``args`` (or ``command``) of a container with the corrected command in it; nothing where it is no such list."""
    command, given = list(spec.get("command", [])), list(spec.get("args", []))
    if not words or "=" in words[0]:
        # Variables before it belong into env.
        return {}
    shell = next(
        (place for place in (command, given) if place[:2] and place[0] in ("sh", "bash", "/bin/sh", "/bin/bash")), None
    )
    if shell is not None or "vllm" not in words[0]:
        return {}
    options = words[2:] if words[1:2] == ["serve"] else words[1:]
    if command and not given:
        return {"command": words}
    # With --model the image's entry point is the API server; else `vllm serve MODEL` is in the command or the entry point.
    if any(word == "--model" or word.startswith("--model=") for word in given):
        model = options[:1]
        return {"args": ["--model", *model, *options[1:]] if model and not model[0].startswith("-") else options}
    return {"args": words[1:] if command[:1] == ["vllm"] and command[1:2] != ["serve"] else options}
