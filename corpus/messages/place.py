"""What a message stands for by the module that prints it: the label of a row that nobody has read."""

from __future__ import annotations

import os
import tomllib
from functools import cache

from .row import Label

TABLE = os.path.join(os.path.dirname(__file__), "places.toml")  # noqa: PTH118, PTH120 (pathlib is slow to import)


def by_place(package: str, path: str, kind: str, name: str) -> Label:
    """Return the label of the longest prefix of ``path`` in places.toml.

    Args:
        package: Distribution, a table of places.toml; of one without a table, all is ``unknown``.
        path: Below the package's folder, without ``.py``: ``config/model``.
        kind: ``raise``, ``log`` …
        name: Exception class or level.
    """
    table = _tables().get(package, {})
    fitting = [prefix for prefix in table if _within(path, prefix)]
    if not fitting:
        return Label("unknown", "", "package", "any")
    label = table[max(fitting, key=len)]
    if kind == "log" and name == "WARNING":
        # What is warned of and survived is no failure.
        return Label("no_failure", "healthy", label.owner, "survived")
    if kind == "log" and label.fatal == "start":
        # An error that is logged and not raised tells of something that a request or a background task met.
        return Label(label.bucket, label.cause, label.owner, "any")
    return label


def catalogued(package: str, path: str) -> bool:
    """Return whether places.toml names a module of a package."""
    return any(_within(path, prefix) for prefix in _tables().get(package, {}))


def _within(path: str, prefix: str) -> bool:
    return path.startswith(prefix) and (not prefix or path[len(prefix) : len(prefix) + 1] in ("", "/", ".", "_"))


@cache
def _tables() -> dict[str, dict[str, Label]]:
    with open(TABLE, "rb") as file:  # noqa: PTH123
        data = tomllib.load(file)
    return {package: {prefix: _label(text) for prefix, text in rows.items()} for package, rows in data.items()}


def _label(text: str) -> Label:
    bucket, cause, owner, fatal = text.split(" ")
    return Label(bucket, cause, owner, fatal)
