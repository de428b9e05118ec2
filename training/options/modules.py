"""In which releases of vLLM a module can be imported: ``corpus/vllm/modules.json``."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...corpus import options
from .table import compact

FILE = Path(options.FOLDER) / "modules.json"
_ROOT = "vllm/"


def modules_in(names: Sequence[str]) -> set[str]:
    """Return the modules and packages, below ``vllm``, that the Python files of an archive make (``worker.worker``)."""
    found: set[str] = set()
    for name in names:
        if name.startswith(_ROOT) and name.endswith(".py"):
            parts = name[len(_ROOT) : -len(".py")].split("/")
            if parts[-1] == "__init__":
                parts.pop()
            found.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return found


def pack(found: Mapping[str, set[str]]) -> dict[str, Any]:
    """Return the table: a tree of names in which a module stands whose first or last release differs from its package's.

    Args:
        found: The modules of each release, oldest first.
    """
    columns = list(found.values())
    spans: dict[str, tuple[int, int]] = {}
    for at, column in enumerate(columns):
        for name in column:
            spans[name] = (spans.get(name, (at, at))[0], at)
    tree: dict[str, Any] = {}
    for name in sorted(spans):
        package = name.rpartition(".")[0]
        if spans[name] != spans.get(package, (0, len(columns) - 1)):
            node = tree
            for part in name.split("."):
                node = node.setdefault(part, {})
            node[""] = list(spans[name])
    return {"releases": list(found), "modules": _folded(tree)}


def text(table: Mapping[str, Any]) -> str:
    """Return the table as JSON with one top module a line, so that a change of it can be reviewed."""
    rows = [f"{compact(name)}:{compact(entry)}" for name, entry in table["modules"].items()]
    return f'{{\n"releases":{compact(table["releases"])},\n"modules":{{\n' + ",\n".join(rows) + "\n}}\n"


def made(archives: Mapping[str, Path]) -> bytes:
    """Return the file of these releases."""
    found: dict[str, set[str]] = {}
    for version, path in archives.items():
        with zipfile.ZipFile(path) as archive:
            found[version] = modules_in(archive.namelist())
    return text(pack(found)).encode()


def _folded(node: dict[str, Any]) -> Any:
    """Return a node as its releases alone where nothing stands below it."""
    if list(node) == [""]:
        return node[""]
    return {part: below if part == "" else _folded(below) for part, below in node.items()}
