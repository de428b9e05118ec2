"""Rows from the sources of vLLM releases: every message that can be raised or logged, with the place it comes from."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from ...classifier.api import Triage
from ...classifier.versions import version_key
from ..drift import templates
from ..drift.coverage import message_line, traceback
from ..drift.templates import SKIPPED, Template, read_release
from .label import label
from .rows import Row

HEALTHY_CALLS = frozenset({"info", "info_once", "warning", "warning_once", "debug"})
HEALTHY_WEIGHT = 0.3


def release_rows(folders: list[Path], engine: Triage, progress: Callable[[str], None]) -> Iterator[Row]:
    """Yield the rows of releases, each message once, with the first release that has it."""
    seen: set[str] = set()
    for folder in sorted(folders, key=lambda item: version_key(item.name) or (0, 0, 0, 0, 0)):
        root = folder / "vllm" if (folder / "vllm").is_dir() else folder
        fresh = 0
        for template in read_release(root):
            if template.fixed in seen:
                continue
            seen.add(template.fixed)
            bucket, weight = label(template, engine)
            if not bucket:
                continue
            fresh += 1
            text = message_line(template) if template.kind == "log" else traceback(template)
            yield Row(text.rstrip("\n"), bucket, template.fixed, "release", folder.name, "", weight)
        for template, level in _healthy(root):
            if template.fixed in seen:
                continue
            seen.add(template.fixed)
            fresh += 1
            where = f"[{template.path.rpartition('/')[2]}:{template.line}]"
            text = f"{level} 11-02 10:00:00 {where} {template.text}"
            yield Row(text, "no_failure", template.fixed, "healthy", folder.name, "", HEALTHY_WEIGHT)
        progress(f"{folder.name}: {fresh} new messages")


def _healthy(root: Path) -> Iterator[tuple[Template, str]]:
    """Yield what a release logs without anything having failed."""
    for file in sorted(root.rglob("*.py")):
        path = f"vllm/{file.relative_to(root).as_posix()}"
        if any(part in path for part in SKIPPED):
            continue
        try:
            tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in HEALTHY_CALLS:
                level = "WARNING" if node.func.attr.startswith("warning") else "INFO"
                for template in templates._template(node, "log", path, "", node.args[:1]):  # noqa: SLF001 (the same package)
                    yield template, level
