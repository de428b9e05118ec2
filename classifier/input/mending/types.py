"""What is mended: lines, each with the number of the line of the input that it begins in."""

from __future__ import annotations

from collections.abc import Callable

Lines = list[tuple[int, str]]
"""Lines without their ends. A line that was split gives its number to all parts; of joined ones the first's stays."""
Form = Callable[[Lines], Lines | None]
"""Undoes one kind of damage; None where a text has none of it."""
