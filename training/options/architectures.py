"""Which release of vLLM serves which model architecture, and what its class can do: ``corpus/vllm/architectures.json``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...corpus import options
from .model_classes import Found, RegistryError, architectures_of, dropped_by
from .source import Tree
from .table import compact, entry_of

FILE = Path(options.FOLDER) / "architectures.json"
FORMAT = 1


def pack(
    found: Mapping[str, Mapping[str, Found]], until: Mapping[str, str], plugins: Mapping[str, str]
) -> dict[str, Any]:
    """Return the table.

    Args:
        found: The architectures of each release, oldest first.
        until: Architectures that were served before the first of these, with the last release.
        plugins: Addresses of plug-ins, by architecture.
    """
    columns = list(found.values())
    interfaces = sorted({word for column in columns for entry in column.values() for word in entry["can"]})
    places = {word: place for place, word in enumerate(interfaces)}
    rows = {}
    for name in sorted({name for column in columns for name in column}):
        cells = [column.get(name) for column in columns]
        numbered = [cell and {**cell, "can": [places[word] for word in cell["can"]]} for cell in cells]
        rows[name] = entry_of(numbered)
    return {
        "format": FORMAT, "releases": list(found), "interfaces": interfaces, "until": dict(sorted(until.items())),
        "plugins": dict(sorted(plugins.items())), "architectures": rows,
    }  # fmt: skip


def text(table: Mapping[str, Any]) -> str:
    """Return the table as JSON with one architecture a line, so that a change of it can be reviewed."""
    head = [f"{compact(key)}:{compact(value)}," for key, value in table.items() if key != "architectures"]
    rows = [f"{compact(name)}:{compact(entry)}" for name, entry in table["architectures"].items()]
    return "{\n" + "\n".join(head) + '\n"architectures":{\n' + ",\n".join(rows) + "\n}}\n"


def made(archives: Mapping[str, Path]) -> bytes:
    """Return the file of these releases."""
    return text(mine(archives)).encode()


def mine(archives: Mapping[str, Path]) -> dict[str, Any]:
    """Return the table of the releases whose archives these are, oldest first.

    Raises:
        RegistryError: A release's registry is written in a way that the miner does not know.
    """
    found: dict[str, Mapping[str, Found]] = {}
    until: dict[str, str] = {}
    plugins: dict[str, str] = {}
    for version, path in archives.items():
        tree = Tree.from_archive(path)
        try:
            found[version] = architectures_of(tree)
            # The newest release that tells of an architecture counts: it may have come back in between.
            last, addresses = dropped_by(tree)
        except RegistryError as error:
            raise RegistryError(f"{version}: {error}") from error
        until.update(last)
        plugins.update(addresses)
    served = {name for column in found.values() for name in column}
    return pack(found, {name: last for name, last in until.items() if name not in served}, plugins)
