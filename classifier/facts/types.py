"""What a fact can be, and how much the place is worth that told it."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

FactValue: TypeAlias = (
    "str | int | float | bool | list[FactValue] | tuple[FactValue, ...] | dict[str, FactValue] | None"
)
"""A setting or a figure: text, a number, a switch, or what a setting of several parts holds."""
Facts: TypeAlias = dict[str, FactValue]
"""Facts by vLLM's own argument names; sizes in GiB, times in seconds."""
Captures: TypeAlias = dict[str, str]
"""The named groups of a rule's expression that matched."""
Arguments: TypeAlias = Mapping[str, FactValue]
"""Arguments of a server as given, by name with underscores."""

FINAL, BANNER, PLAIN, GIVEN, HINT = 4, 3, 2, 1, 0
"""How much a source is worth, where several tell one fact: what was resolved goes before what was asked for.

What vLLM settled in the end, what the engine's banner says, what a line says, what was given, what is only inferred.
"""
