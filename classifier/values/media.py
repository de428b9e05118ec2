"""Media: whether a prompt lacks an item, vLLM counted one item in two ways, and a limit that was set by hand."""

from __future__ import annotations

import json
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


def raised_media_limit(facts: Mapping[str, object]) -> Worked:
    """Return --limit-mm-per-prompt as it was given, with more of the kind whose number was given and refused a prompt."""
    kind, limit, arguments = str(facts.get("modality") or ""), whole(facts, "limit"), facts.get("arguments")
    given = arguments.get("limit_mm_per_prompt") if isinstance(arguments, Mapping) else None
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = None
    if not isinstance(given, Mapping) or not kind or not limit or given.get(kind) != limit:
        return Worked("", "the limit that refused the prompt was not given by hand")
    more = max(2 * limit, whole(facts, "items") or 0)
    inputs = {"limit": limit, "modality": kind}
    return Worked(json.dumps({**given, kind: more}), f"{limit} was given for {kind} → {more}", inputs)
