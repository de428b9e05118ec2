"""What every way in tells of buckets, causes and rules."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from ..corpus.store import Corpus
from ..corpus.types import Bucket, Rule

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


class UnknownIdError(Exception):
    """There is no such bucket, cause or rule; the text says what is near."""


@dataclass(frozen=True, slots=True)
class Page:
    """What is known under an id: a bucket, or that part of it which belongs to one cause or rule."""

    bucket: Bucket
    """With the causes that were asked for."""
    rules: tuple[Rule, ...]


def look_up(corpus: Corpus, name: str) -> Page:
    """Return what is known of a bucket, a cause (``bucket/cause``) or the cause of a rule (``bucket/rule``).

    Raises:
        UnknownIdError: There is none of this name.
    """
    head, _, part = name.partition("/")
    if head == "facts":
        raise UnknownIdError("facts is not a bucket: its rules read figures, as vllm-triage rules facts lists them")
    if head not in corpus.buckets():
        near = difflib.get_close_matches(name, [*corpus.buckets(), *(rule.id for rule in corpus.rules)], 3, 0.5)
        hint = f"near: {', '.join(near)}" if near else "vllm-triage rules lists them"
        raise UnknownIdError(f"no bucket {head!r}; {hint}")
    page = corpus.bucket(head)
    rules = [rule for rule in corpus.rules if rule.bucket == head]
    if not part:
        return Page(page, tuple(rules))
    rules = [rule for rule in rules if part in (rule.cause, rule.name)]
    named = {part, *(rule.cause for rule in rules)}
    causes = tuple(cause for cause in page.causes if cause.id in named)
    if not causes and not rules:
        names = ", ".join(cause.id for cause in page.causes)
        raise UnknownIdError(f"{head} has no cause or rule {part!r}; causes: {names}")
    return Page(replace(page, causes=causes), tuple(rules))
