"""Exceptions of Python itself: their words say nothing, and whoever raises them did not mean to."""

from __future__ import annotations

MISTAKES = frozenset({
    "TypeError", "AttributeError", "KeyError", "IndexError", "NameError", "UnboundLocalError", "ZeroDivisionError", "AssertionError",
    "NotImplementedError", "RecursionError", "StopIteration",
})  # fmt: skip
"""Class names."""
