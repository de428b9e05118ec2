"""Prometheus metrics of a release, by the names that its ``/metrics`` page shows."""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath

from .names import called
from .resolve import Place, Resolver

_NAME = re.compile(r"vllm:[a-z][a-z0-9_]*[a-z0-9]")
_KINDS = ("counter", "gauge", "histogram", "summary", "info")
_READERS = ("vllm/benchmarks/", "vllm/entrypoints/cli/", "vllm/v1/metrics/reader.py")
"""Files that read metrics rather than make them."""


def metrics_of(resolver: Resolver) -> dict[str, str]:
    """Return the kind of each metric by its name; empty where the sources tell the name alone."""
    found: dict[str, str] = {}
    loose: dict[str, str] = {}
    for path in resolver.tree.containing(b'"vllm:', b"'vllm:"):
        module = resolver.tree.module(path)
        if module is None or path.startswith(_READERS):
            continue
        made, left = _in_file(resolver, module, PurePosixPath(path))
        found |= made
        loose |= left
    known = {_stem(name) for name in found}
    return found | {name: kind for name, kind in loose.items() if _stem(name) not in known}


def _in_file(resolver: Resolver, module: ast.Module, path: PurePosixPath) -> tuple[dict[str, str], dict[str, str]]:
    found: dict[str, str] = {}
    written: set[str] = set()
    open_kinds: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and (kind := _kind(called(node))):
            words = [word.value for word in node.keywords if word.arg == "name"] or node.args[:1]
            for word in words:
                name = resolver.value(word, Place(str(path), {}))
                if isinstance(name, str):
                    found |= _shown(name, kind)
                else:
                    open_kinds.add(kind)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            written.add(node.value)
    # Names that a table or a constant holds: of the kind that the file makes, where it makes one kind only.
    kind = next(iter(open_kinds)) if len(open_kinds) == 1 else ""
    # One word alone is more often the beginning of names than a name.
    loose = [_shown(name, kind) for name in sorted(written) if "_" in name]
    return found, {name: kind for shown in loose for name, kind in shown.items()}


def _kind(function: str) -> str:
    # prometheus_client.Counter, self._counter_cls, ray_metrics.Gauge, make_per_engine_counter
    words = re.split(r"[_.]", function.lower())
    return next((kind for kind in _KINDS if kind in words), "")


def _shown(name: str, kind: str) -> dict[str, str]:
    if not _NAME.fullmatch(name):
        return {}
    if kind in ("counter", "info"):
        # The client library's doing: a counter is always shown as `…_total`, an info as `…_info`.
        ending = "_total" if kind == "counter" else "_info"
        name = name.removesuffix(ending) + ending
    return {name: kind}


def _stem(name: str) -> str:
    return re.sub(r"_(?:total|info)$", "", name)
