"""Texts of rule files with slots, filled with a log's values: ``{name}``, ``{name|what stands for an unknown one}``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .masking.mask import mask
from .patterns.lazy import LazyPattern
from .values import COMPUTED

SLOT = LazyPattern(r"\{(?P<name>[a-z_][a-z0-9_]*)(?:\|(?P<other>[^{}]*))?\}")
_SENTENCE = LazyPattern(r"(?<=[.;!?])\s+(?=[A-Z{])")


def fill(template: str, values: Mapping[str, object]) -> tuple[str, bool]:
    """Return ``template`` with its slots filled, and whether all of them could be.

    ``{name|text}`` stands for ``text`` where the value is unknown (that counts as filled).
    """
    if "{" not in template:
        return template, True
    whole = True

    def put(found: re.Match[str]) -> str:
        nonlocal whole
        value = lookup(found["name"], values)
        if value is None:
            if found["other"] is not None:
                return found["other"]
            whole = False
            return "…"
        return value

    return SLOT.sub(put, template), whole


def lookup(name: str, values: Mapping[str, object]) -> str | None:
    """Return a capture, a fact or a computed value as text; None where unknown."""
    if name in COMPUTED:
        return COMPUTED[name](values) or None
    value = values.get(name)
    if value is None or value == "" or isinstance(value, (dict, list)):
        return None
    return f"{value:g}" if isinstance(value, float) else mask(str(value))


def sentences(template: str, values: Mapping[str, object], told: bool = False) -> str:
    """Return the sentences of ``template`` whose values are all known.

    Args:
        template: The text.
        values: What slots stand for.
        told: Whether sentences without a value are left out: they hold for any log.
    """
    asked = [sentence for sentence in parted(template) if not told or _has_value(sentence, values)]
    parts = [fill(sentence, values) for sentence in asked]
    return " ".join(text for text, whole in parts if whole)


def _has_value(sentence: str, values: Mapping[str, object]) -> bool:
    """Return whether a slot of a sentence is filled with what this log tells: what stands for an unknown value is any log's."""
    return any(lookup(found["name"], values) is not None for found in SLOT.finditer(sentence))


def parted(template: str) -> list[str]:
    """Return the sentences of a text."""
    return _SENTENCE.made.split(template.strip())
