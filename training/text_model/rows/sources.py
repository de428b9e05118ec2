"""The modules of vLLM releases as the training set needs them: messages, healthy log lines, and who calls what.

A release is a folder (``…/0.33.0`` that holds the package ``vllm``) or the archive of its Python files that
``training.tables`` caches (``vllm-0.33.0.zip``). A module that did not change since the release before is read once.
"""

from __future__ import annotations

import ast
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ....classifier.facts.versions import version_key
from ...messages.templates import SKIPPED, Template, _template, _walk

HEALTHY_CALLS = frozenset({"info", "info_once", "warning", "warning_once", "debug"})
VAGUE = frozenset({"get", "run", "close", "update", "append", "add", "pop", "items", "keys", "copy", "join", "format"})
"""Names of functions that say nothing about which is called."""
CODE = 120
"""Characters kept of a line of code."""


@dataclass(slots=True, frozen=True)
class Module:
    """One Python file of a release."""

    path: str
    """From the package's folder: ``vllm/config/model.py``."""
    messages: tuple[Template, ...]
    """What it can raise, or log as an error."""
    healthy: tuple[tuple[Template, str], ...]
    """What it logs without anything having failed, with the level."""
    definitions: frozenset[tuple[str, str]]
    """The names that calls may use, and the functions that these are: of a class its ``__init__``."""
    imports: frozenset[str]
    """Paths of the vLLM modules that it imports from."""
    calls: tuple[tuple[str, str, int, str], ...]
    """(calling function, called name, line, code)."""


class Reader:
    """Reads releases one after another."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Module | None] = {}

    def modules(self, place: Path) -> list[Module]:
        """Return the modules of a release, sorted by path."""
        known: dict[tuple[str, str], Module | None] = {}
        for path, source in sorted(_files(place)):
            key = (path, source)
            known[key] = self._known[key] if key in self._known else _read(path, source)
        self._known = known
        return [module for module in known.values() if module is not None]


def release_of(place: Path) -> str:
    """Return the release that a folder or an archive is named by."""
    return place.stem.removeprefix("vllm-") if place.suffix == ".zip" else place.name


def in_order(places: list[Path]) -> list[Path]:
    """Return releases oldest first."""
    return sorted(places, key=lambda item: version_key(release_of(item)) or (0, 0, 0, 0, 0))


def _files(place: Path) -> Iterator[tuple[str, str]]:
    if place.suffix == ".zip":
        with zipfile.ZipFile(place) as archive:
            for name in archive.namelist():
                if name.startswith("vllm/") and name.endswith(".py") and not _skipped(name):
                    yield name, archive.read(name).decode("utf-8", "replace")
        return
    root = place / "vllm" if (place / "vllm").is_dir() else place
    for file in root.rglob("*.py"):
        name = f"vllm/{file.relative_to(root).as_posix()}"
        if not _skipped(name):
            yield name, file.read_text(encoding="utf-8", errors="replace")


def _skipped(name: str) -> bool:
    return any(part in name for part in SKIPPED)


def _read(path: str, source: str) -> Module | None:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    return Module(
        path,
        tuple(_walk(tree, path, "<module>")),
        tuple(_healthy(tree, path)),
        frozenset(_definitions(tree)),
        frozenset(_imports(tree, path)),
        tuple(_calls(tree, "<module>", source.splitlines())),
    )


def _healthy(tree: ast.AST, path: str) -> Iterator[tuple[Template, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in HEALTHY_CALLS:
            level = "WARNING" if node.func.attr.startswith("warning") else "INFO"
            for template in _template(node, "log", path, "", node.args[:1]):
                yield template, level


def _definitions(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name not in VAGUE and not node.name.startswith("__"):
                yield node.name, node.name
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name in ("__init__", "__post_init__"):
                    yield node.name, part.name


def _imports(tree: ast.AST, path: str) -> Iterator[str]:
    package = path.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            names = [name, *(f"{name}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            if name.startswith("vllm"):
                yield name.replace(".", "/") + ".py"
                yield name.replace(".", "/") + "/__init__.py"


def _calls(node: ast.AST, function: str, lines: list[str]) -> Iterator[tuple[str, str, int, str]]:
    for child in ast.iter_child_nodes(node):
        name = child.name if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        if isinstance(child, ast.Call):
            called = child.func
            text = (
                called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
            )
            if text and text not in VAGUE:
                code = lines[child.lineno - 1].strip() if child.lineno <= len(lines) else ""
                yield function, text, child.lineno, code[:CODE]
        yield from _calls(child, name, lines)
