"""What every way in tells of the rules."""

from __future__ import annotations

from ..corpus.types import Rule

_SUMMARY = ("id", "role", "cause", "pattern", "versions")
_WHOLE = (
    "id", "bucket", "role", "cause", "strength", "pattern", "exception", "message", "frames", "innermost", "levels",
    "scope", "versions", "source",
)  # fmt: skip


def rule_summary(rule: Rule) -> dict[str, object]:
    """Return what the page of a bucket tells of a rule."""
    return {key: getattr(rule, key) for key in _SUMMARY}


def rule_data(rule: Rule) -> dict[str, object]:
    """Return what the list of rules tells of a rule: all that it asks for."""
    return {key: value for key in _WHOLE if (value := getattr(rule, key))}
