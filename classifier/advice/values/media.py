"""Tokens of media: whether a prompt lacks an item, or vLLM counted one item in two ways."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from .worked import Worked, needs, whole

_ITEM = 64
"""Tokens that whole items have in common at least: where both numbers share less, they are no sums of the same items."""
_NEAR = 0.1
"""Share of the larger number by which they differ at most."""


def counted_apart(facts: Mapping[str, object]) -> Worked:
    """Return by how many tokens the model's own count and the prompt's differ, where no whole item is missing.

    A prompt by hand has one placeholder for an item; thousands of them are what vLLM itself made of it.
    """
    names = ("mm_tokens", "placeholders")
    made, there = (whole(facts, name) for name in names)
    if not made or not there:
        return needs(*(name for name in names if not whole(facts, name)))
    inputs = {"mm_tokens": made, "placeholders": there}
    apart = abs(made - there)
    if there < 2 * _ITEM or gcd(made, there) >= _ITEM or apart > _NEAR * max(made, there):
        return Worked("", f"{made} against {there}", inputs)
    return Worked(str(apart), f"{made} tokens of the model against {there} placeholders", inputs)
