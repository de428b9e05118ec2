"""What pydantic refuses, in the words that people are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_FROM_OUR_CHECKS = ("Value error, ", "Assertion failed, ")
"""What pydantic puts before the words of a check of ours, which are whole sentences."""


def refusals(errors: Iterable[Mapping[str, Any]]) -> list[tuple[tuple[str, ...], str]]:
    """Return the place and the words of each error, never its value: that may be a log.

    Args:
        errors: ``errors()`` of a pydantic or FastAPI validation error.
    """
    return [(tuple(map(str, item["loc"])), _words(item["msg"])) for item in errors]


def in_one_line(errors: Iterable[Mapping[str, Any]], name: str) -> list[str]:
    """Return ``place: words`` of each error; ``name`` stands for the place of what concerns all."""
    return [f"{'.'.join(place) or name}: {words}" for place, words in refusals(errors)]


def _words(message: str) -> str:
    for start in _FROM_OUR_CHECKS:
        message = message.removeprefix(start)
    return message
