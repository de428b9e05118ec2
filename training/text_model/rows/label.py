"""What bucket a message of vLLM's belongs to: what the catalogue of messages says, else a rule, else the module that raises it."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ....classifier.api import Triage
from ....corpus.messages import Row as Message
from ....corpus.messages import read
from ...messages.coverage import answer, message_line, traceback
from ...messages.templates import Template

SURE = frozenset({"strong", "certain"})
BY_READING, BY_RULE, BY_WORDS_OF_NET, BY_PLACE, BESIDE = 0.45, 0.45, 0.3, 0.22, 0.13
"""Weights of a label by where it comes from; the last one of what only stands beside an error that is the cause.

There are ten times as many messages as rules, most of which nobody ever meets: with a weight of 1 they drown the rules and
recordings, and pasted excerpts are named less often.
"""
LEAST, KEY = 8, 80
"""Characters that a literal piece of a message must have to be looked up by, and those of it that are compared."""


class Catalogued:
    """The labels that people or rules gave the messages of the catalogue, by the literal pieces of their templates."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._by_piece: dict[str, list[Message]] = defaultdict(list)
        for message in messages:
            if message.label.by != "place":
                for piece in {" ".join(part.split())[:KEY] for part in message.template.split("{}")}:
                    if len(piece) >= LEAST:
                        self._by_piece[piece].append(message)

    def find(self, template: Template) -> Message | None:
        """Return the row of a message; None where there is none, or rows of several buckets fit equally well."""
        found = self._by_piece.get(template.fixed[:KEY], [])
        here = f"{template.path.removeprefix('vllm/').removesuffix('.py')}"
        found = [message for message in found if message.path == here] or found
        return found[0] if len({message.label.bucket for message in found}) == 1 else None


def label(template: Template, engine: Triage) -> tuple[str, str, float]:
    """Return bucket, cause and the weight of that label; an empty bucket where neither words nor place tell."""
    message = _catalogue().find(template)
    if message is not None:
        known = message.label
        cause = known.cause if known.bucket != "no_failure" else ""
        return known.bucket, cause, BESIDE if known.fatal == "never" else BY_READING
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
def _catalogue() -> Catalogued:
    return Catalogued(read("vllm"))


@cache
def _table() -> tuple[dict[str, str], list[str]]:
    data = tomllib.loads((Path(__file__).parent / "places.toml").read_text(encoding="utf-8"))
    return data["places"], data["bugs"]
