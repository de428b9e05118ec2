"""Which release of transformers knows which model type, and which of them vLLM asks for: ``corpus/vllm/model_types.json``.

It takes the last release of each minor version of transformers since 4.40, and
the requirement of each release of vLLM, from the wheels on the package index: a few blocks of each. Of vLLM's own configuration
classes (``_CONFIG_REGISTRY``) it takes the model types from the archives.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...corpus import options
from .fetch import wheel_members
from .index import Files, releases
from .names import Names
from .source import Tree
from .table import compact

FILE = Path(options.FOLDER) / "model_types.json"
FORMAT = 1
OLDEST = "4.40"
"""Of transformers."""
_MAPPINGS = ("transformers/models/auto/auto_mappings.py", "transformers/models/auto/configuration_auto.py")
_VLLM_CONFIGS = "vllm/transformers_utils/config.py"
_ASKED = re.compile(r"^Requires-Dist: transformers(?:\[[^\]]*\])? ?(?P<range>[^;\n]*)(?P<when>;.*)?$", re.MULTILINE)


def types_in(source: str) -> set[str]:
    """Return the model types that a file of transformers puts into ``CONFIG_MAPPING_NAMES``."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        if (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CONFIG_MAPPING_NAMES") or (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func) == "CONFIG_MAPPING_NAMES.update"
        ):
            found |= _keys(node.value)
    return found


def own_types(tree: Tree) -> set[str]:
    """Return the model types for which a release of vLLM brings a configuration class of its own."""
    value = Names(tree).scope(_VLLM_CONFIGS).get("_CONFIG_REGISTRY")
    return _keys(value) if isinstance(value, ast.expr) else set()


def asked_range(metadata: str) -> str:
    """Return the range of transformers that a wheel's metadata asks for, without blanks; "" where it asks for none."""
    told = [found for found in _ASKED.finditer(metadata) if "extra ==" not in (found["when"] or "")]
    return re.sub(r"[\s()]", "", told[0]["range"]) if told else ""


def last_of_minors(offered: Sequence[Files]) -> list[Files]:
    """Return the last release of each minor version, in order."""
    last = {tuple((options.version_key(files.version) or ())[:2]): files for files in offered if files.wheels}
    return list(last.values())


def pack(known: Mapping[str, set[str]], asked: Mapping[str, str], own: Mapping[str, set[str]]) -> dict[str, Any]:
    """Return the table.

    Args:
        known: The model types of each release of transformers, oldest first.
        asked: The range of transformers by release of vLLM, oldest first.
        own: The model types that releases of vLLM have a class of their own for.
    """
    return {
        "format": FORMAT, "transformers": list(known), "vllm": list(asked), "asks": _changes(list(asked.values())),
        "types": _runs(list(known.values())), "own": _runs([own[version] for version in asked]),
    }  # fmt: skip


def text(table: Mapping[str, Any]) -> str:
    """Return the table as JSON with one model type a line."""
    parts = []
    for key, value in table.items():
        rows = value.items() if isinstance(value, dict) else ()
        body = "{\n" + ",\n".join(f"{compact(name)}:{compact(row)}" for name, row in rows) + "}"
        parts.append(f"{compact(key)}:{body if rows else compact(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def made(archives: Mapping[str, Path]) -> bytes:
    """Return the file of these releases."""
    known = {files.version: _types_of(files) for files in last_of_minors(releases(OLDEST, "transformers"))}
    offered = {files.version: files for files in releases()}
    asked = {version: _asked_by(offered[version]) for version in archives}
    return text(
        pack(known, asked, {version: own_types(Tree.from_archive(path)) for version, path in archives.items()})
    ).encode()


def _types_of(files: Files) -> set[str]:
    members = wheel_members(min(files.wheels), lambda name: name in _MAPPINGS)
    return set().union(*(types_in(content.decode()) for _, content in members))


def _asked_by(files: Files) -> str:
    metadata = wheel_members(min(files.wheels), lambda name: name.endswith(".dist-info/METADATA"))
    return asked_range(next(metadata)[1].decode())


def _keys(value: ast.AST) -> set[str]:
    """Return the keys of a dictionary that is written out: as pairs, as a display, as keywords, and of those within it."""
    found: set[str] = set()
    for node in ast.walk(value):
        if isinstance(node, ast.Dict):
            found |= {str(key.value) for key in node.keys if isinstance(key, ast.Constant)}
        elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], ast.Constant):
            found.add(str(node.elts[0].value))
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
    return found


def _runs(columns: list[set[str]]) -> dict[str, list[list[int]]]:
    """Return for each name the runs of places that have it (first and last)."""
    rows: dict[str, list[list[int]]] = {}
    for place, column in enumerate(columns):
        for name in sorted(column):
            runs = rows.setdefault(name, [])
            if runs and runs[-1][1] == place - 1:
                runs[-1][1] = place
            else:
                runs.append([place, place])
    return dict(sorted(rows.items()))


def _changes(texts: list[str]) -> list[list[object]]:
    return [[place, told] for place, told in enumerate(texts) if not place or told != texts[place - 1]]
