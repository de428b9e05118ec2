"""What bucket a message of vLLM's belongs to: by the rule that speaks for it, else by the module that raises it."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from ....classifier.api import Triage
from ...drift.coverage import answer, message_line, traceback
from ...drift.templates import Template

SURE = frozenset({"strong", "certain"})
BY_RULE, BY_WORDS_OF_NET, BY_PLACE = 1.0, 0.7, 0.5
"""Weights of a label by where it comes from."""


def label(template: Template, engine: Triage) -> tuple[str, str, float]:
    """Return bucket, cause and the weight of that label; an empty bucket where neither words nor place tell."""
    found = answer(engine, message_line(template) if template.kind == "log" else traceback(template))
    if found is not None and found.hit.rule.strength in SURE:
        return found.bucket, found.cause, BY_RULE
    if found is not None and found.hit.rule.strength == "weak":
        return found.bucket, found.cause, BY_WORDS_OF_NET
    return by_place(template.path, template.kind), "", BY_PLACE


def by_place(path: str, kind: str = "") -> str:
    """Return the bucket of the longest prefix of ``path`` in places.toml; "" where none fits."""
    places, bugs = _table()
    if kind in ("AssertionError", "NotImplementedError") and any(_within(path, prefix) for prefix in bugs):
        return "engine_bug" if kind == "AssertionError" else "model_unsupported"
    fitting = [prefix for prefix in places if _within(path, prefix)]
    return places[max(fitting, key=len)] if fitting else ""


def _within(path: str, prefix: str) -> bool:
    return path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in ("", "/", ".", "_")


@cache
def _table() -> tuple[dict[str, str], list[str]]:
    data = tomllib.loads((Path(__file__).parent / "places.toml").read_text(encoding="utf-8"))
    return data["places"], data["bugs"]
