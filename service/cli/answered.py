"""Runs a command: takes its words, then does what it is for; what is wrong with either is said on one line."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence

from .messages import complain


def answered(parser: ArgumentParser, words: Sequence[str], answer: Callable[[Namespace], int]) -> int:
    """Return the exit code of ``answer``, given what the words say; 2 where they, or what they name, cannot be."""
    try:
        options = parser.parse_args(list(words))
    except SystemExit as stop:  # argparse ends the process itself: 0 after --help, 2 on misuse
        return int(stop.code or 0)
    from ...classifier.errors import TriageError

    try:
        return answer(options)
    except TriageError as error:
        return complain(str(error))
