"""From which release on vLLM's files of models name a part of a weight's name: ``corpus/vllm/weight_names.json``.

Of a file of models count the modules and parameters that its classes
assign, and the parts of the strings by which its weights are loaded. Sources are parsed, never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...corpus.weight_names import TABLE, parts_of
from .model_classes import MODELS
from .source import Tree
from .table import compact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...corpus.weight_names import Table

FILE = TABLE
FORMAT = 1
FOLDER = MODELS.replace(".", "/") + "/"
_NAME = re.compile(r"[A-Za-z_][\w.]{2,120}")
_LOADS = re.compile(r"load|weight|map|remap|rename|convert", re.IGNORECASE)
"""Functions and class attributes whose strings are parts of weights' names."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def words_of(tree: Tree) -> dict[str, set[str]]:
    """Return the parts of weights' names that each model file of a release knows, by the file's name below ``models``."""
    found = {}
    for path in tree:
        if path.startswith(FOLDER) and path.endswith(".py") and (module := tree.module(path)) is not None:
            found[path.removeprefix(FOLDER)[:-3]] = set(_named(module))
    return found


def pack(found: Mapping[str, Mapping[str, set[str]]]) -> Table:
    """Return the table: of each file the words that it did not have at first, with the number of the first release that has them.

    Args:
        found: The words of each release, oldest first, by file.
    """
    files: dict[str, dict[str, int]] = {}
    for name in sorted({name for column in found.values() for name in column}):
        added: dict[str, int] = {}
        seen: set[str] | None = None
        for place, column in enumerate(found.values()):
            words = column.get(name)
            if words is None:
                continue
            if seen is None:
                seen = set()
            else:
                added.update((word, place) for word in sorted(words - seen))
            seen |= words
        if added:
            files[name] = added
    return {"releases": list(found), "files": files}


def text(table: Table) -> str:
    """Return the table as JSON with one file a line, so that a change of it can be reviewed."""
    head = [f'"format":{FORMAT},', f'"releases":{compact(table["releases"])},']
    rows = [f'"{name}":{compact(words, ordered=False)}' for name, words in table["files"].items()]
    return "{\n" + "\n".join(head) + '\n"files":{\n' + ",\n".join(rows) + "\n}}\n"


def made(archives: Mapping[str, Path]) -> bytes:
    """Return the file of these releases."""
    return text(pack({version: words_of(Tree.from_archive(path)) for version, path in archives.items()})).encode()


def _named(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            # self.visual = VisionTransformer(…): what is no module or parameter is seldom a part of a weight's name.
            for target in node.targets:
                if (
                    isinstance(target, ast.Attribute)
                    and isinstance(target.value, ast.Name)
                    and target.value.id == "self"
                ):
                    yield from _parts(target.attr)
        elif isinstance(node, ast.FunctionDef) and _LOADS.search(node.name):
            yield from _strings(node)
        elif isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, (ast.Assign, ast.AnnAssign)) and line.value is not None:
                    targets = line.targets if isinstance(line, ast.Assign) else [line.target]
                    if any(isinstance(target, ast.Name) and _LOADS.search(target.id) for target in targets):
                        yield from _strings(line.value)


def _strings(within: ast.AST) -> Iterator[str]:
    for node in ast.walk(within):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            for name in _NAME.findall(node.value):
                yield from _parts(name)


def _parts(name: str) -> Iterator[str]:
    return (part for part in parts_of(name) if _WORD.fullmatch(part))
