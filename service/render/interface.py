"""What an output format is given, what it gives back, and which formats there are.

A format is one module in ``formats/``; whatever lists formats (options, Accept, OpenAPI, completion, tables of the docs) asks
here. Names are read from the folder: no format is imported before it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from ...corpus.records import Record, cast, record
from . import formats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from ...classifier.report.model import Report

    class Format(Protocol):
        """An output format. Its module has the format's name."""

        ABOUT: str
        """What it is for, in a few words."""
        MEDIA_TYPE: str
        """The type by which it is asked for over HTTP; empty where it is not offered there."""
        COMPLETE: bool
        """Whether it shows everything where nobody can ask for more (over HTTP)."""

        def render(self, results: Sequence[Result], options: Options) -> str:
            """Return the text to write, with its final newline."""


@record(frozen=True, slots=True)
class Options(Record):
    """How much to show, and how."""

    verbose: bool = False
    explain: bool = False
    color: str = "auto"
    """``auto``, ``always`` or ``never``."""
    width: int = 0
    """Columns; 0 asks the terminal."""
    height: int = 30
    """Rows that text for people takes without ``verbose``; 0 for as many as it needs."""
    links: bool = False
    """Whether a terminal is there that follows links (OSC 8)."""
    form: str = "shell"
    """Form of the corrected start command, where a format shows one of them (``Report.command_as``)."""
    budget: int = 14_000
    """Characters of an evidence pack."""
    candidates: bool = True
    """Whether a pack says what rules propose."""
    unread: tuple[tuple[str, str], ...] = ()
    """Inputs that have no answer: name and problem, for formats that programs count."""


@record(frozen=True, slots=True)
class Result(Record):
    """One input with its answer."""

    name: str
    """As the user named it; ``-`` for standard input."""
    report: Report


@cache
def names() -> tuple[str, ...]:
    """Return the names of all formats, sorted."""
    # pathlib and pkgutil would slow the start of the command down.
    files = [name for folder in formats.__path__ for name in os.listdir(folder)]  # noqa: PTH208
    return tuple(sorted(name[:-3] for name in files if name.endswith(".py") and not name.startswith("_")))


def load(name: str) -> Format:
    """Return a format by its name (one of ``names``)."""
    return cast("Format", import_module(f".formats.{name}", __package__))


def render(name: str, results: Sequence[Result], options: Options) -> str:
    """Render ``results`` in the format ``name``."""
    return load(name).render(results, options)
