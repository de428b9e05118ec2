"""What every output format is given and gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from ...classifier.report.types import Diagnosis

FORMATS = {
    "text": "text",
    "json": "as_json",
    "jsonl": "as_jsonl",
    "markdown": "markdown",
    "sarif": "sarif",
    "github": "github",
}
"""Format name to its module."""


@dataclass(slots=True)
class Options:
    """How much to show, and how."""

    verbose: bool = False
    explain: bool = False
    color: str = "auto"
    """``auto``, ``always`` or ``never``."""
    width: int = 0
    """Columns; 0 asks the terminal."""


@dataclass(slots=True)
class Result:
    """One input with its answer."""

    name: str
    """As the user named it; ``-`` for standard input."""
    diagnosis: Diagnosis


class Format(Protocol):
    """An output format."""

    def render(self, results: Sequence[Result], options: Options) -> str:
        """Return the text to write, with its final newline."""


def render(name: str, results: Sequence[Result], options: Options) -> str:
    """Render ``results`` in the format ``name`` (a key of ``FORMATS``)."""
    module: Any = import_module(f".{FORMATS[name]}", __package__)
    form: Format = module
    return form.render(results, options)
