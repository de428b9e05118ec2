"""Prometheus metrics of a release, by the names that its ``/metrics`` page shows."""

from __future__ import annotations

import ast
import re

from .resolve import Place, Resolver, called

_NAME = re.compile(r"vllm:[a-z][a-z0-9_]*")
_KINDS = ("counter", "gauge", "histogram", "summary", "info")


def metrics_of(resolver: Resolver) -> dict[str, str]:
    """Return the kind of each metric by its name."""
    found: dict[str, str] = {}
    for path in resolver.tree.containing(b'"vllm:', b"'vllm:"):
        module = resolver.tree.module(path)
        for node in ast.walk(module) if module is not None else ():
            if isinstance(node, ast.Call):
                kind = _kind(called(node))
                words = [word.value for word in node.keywords if word.arg == "name"] or (node.args[:1] if kind else [])
                for word in words:
                    found |= _named(resolver.value(word, Place(path, {})), kind)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and "name" in node.targets[0].id:
                found |= {name: kind for name, kind in _named(resolver.value(node.value, Place(path, {})), "").items() if name not in found}
    return found


def _kind(function: str) -> str:
    # prometheus_client.Counter, self._counter_cls, ray_metrics.Gauge, make_per_engine_counter
    words = re.split(r"[_.]", function.lower())
    return next((kind for kind in _KINDS if kind in words), "")


def _named(name: object, kind: str) -> dict[str, str]:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return {}
    if kind == "counter":
        # The client library's doing: counters are always shown with this ending.
        name = name.removesuffix("_total") + "_total"
    elif kind == "info":
        name = name.removesuffix("_info") + "_info"
    return {name: kind or "gauge"}
