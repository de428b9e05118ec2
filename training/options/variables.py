"""Environment variables that a release reads, with what it takes when they are not set."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from .names import called
from .resolve import UNKNOWN, Place, Resolver, plain

DECLARED = "vllm/envs.py"
_OWN = re.compile(r"VLLM_[A-Z][A-Z0-9_]*")
_ASIDE = ("vllm/benchmarks/", "vllm/third_party/", "vllm/entrypoints/cli/benchmark/")


@dataclass(slots=True)
class Variable:
    """One environment variable."""

    default: Any = UNKNOWN
    """The text that stands in for the variable (``"1"``, ``"INFO"``); None where nothing does."""
    choices: Any = UNKNOWN
    declared: bool = True
    """Stands in the release's own list; newer releases warn about variables that do not."""


def variables_of(resolver: Resolver) -> dict[str, Variable]:
    """Return the variables that the release declares, and its own ones that it reads elsewhere."""
    found: dict[str, Variable] = {}
    table = resolver.scope(DECLARED).get("environment_variables")
    if not isinstance(table, ast.Dict):
        raise LookupError(  # noqa: TRY004 (the source lacks it)
            f"{DECLARED}: no environment_variables: this release declares its variables elsewhere"
        )
    place = Place(DECLARED, {})
    for key, getter in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            found[key.value] = _declared(resolver, key.value, getter, place)
    for path in resolver.tree.containing(b"environ", b"getenv"):
        module = resolver.tree.module(path)
        if module is not None and not path.startswith(_ASIDE):
            for name, default in _read(resolver, module, path):
                if _OWN.fullmatch(name) and name not in found:
                    found[name] = Variable(default, declared=False)
    return found


def _declared(resolver: Resolver, name: str, getter: ast.expr, place: Place) -> Variable:
    if isinstance(getter, ast.Name):
        function = resolver.find(DECLARED, getter.id)
        return Variable() if function is None else _first_read(resolver, function.node, function.path, name)
    # env_with_choices(name, default, choices), also inside deprecated_env(name, …)
    for node in ast.walk(getter):
        if isinstance(node, ast.Call) and called(node).startswith("env_") and len(node.args) > 1:
            choices = resolver.value(node.args[2], place) if len(node.args) > 2 else UNKNOWN
            return Variable(plain(resolver.value(node.args[1], place)), plain(choices))
    unset = _when_unset(getter)
    if unset is not None:
        return Variable(plain(resolver.value(unset, place)))
    return _first_read(resolver, getter, place.path, name)


def _when_unset(getter: ast.expr) -> ast.expr | None:
    """Return what ``… if "NAME" in os.environ else …`` ends with; None for getters of another shape."""
    body = getter.body if isinstance(getter, ast.Lambda) else getter
    if isinstance(body, ast.IfExp) and ast.unparse(body.test).endswith(" in os.environ"):
        return None if " not in " in ast.unparse(body.test) else body.orelse
    return None


def _first_read(resolver: Resolver, top: ast.AST, path: str, name: str) -> Variable:
    return Variable(next((default for read, default in _read(resolver, top, path) if read == name), UNKNOWN))


def _read(resolver: Resolver, top: ast.AST, path: str) -> list[tuple[str, Any]]:
    """Return every variable that is read below ``top``, with its default, in order."""
    found: list[tuple[str, Any]] = []
    place = Place(path, {})
    for node in ast.walk(top):
        if isinstance(node, ast.Call) and node.args:
            name = ast.unparse(node.func)
            if name.endswith(("os.getenv", "environ.get")) or name == "getenv":
                default = resolver.value(node.args[1], place) if len(node.args) > 1 else None
                found.append((str(resolver.value(node.args[0], place)), plain(default)))
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
            if isinstance(node.ctx, ast.Store):
                continue
            found.append((str(resolver.value(node.slice, place)), UNKNOWN))
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[-1]).endswith("os.environ"):
            found.append((str(resolver.value(node.left, place)), UNKNOWN))
    # `X in os.environ` and `os.environ[X]` say nothing of a default; `os.environ.get(X, …)` beside them does.
    return sorted(found, key=lambda read: read[1] is UNKNOWN)
