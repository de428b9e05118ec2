"""Fixes for tests, made of the short text that rule files have."""

from __future__ import annotations

import re
from typing import Any

from vllm_triage.classifier.advice.context import Context
from vllm_triage.classifier.advice.guards import withhold
from vllm_triage.classifier.advice.pipeline import tried as _tried
from vllm_triage.classifier.complaints.case import Case
from vllm_triage.classifier.fix import Fix
from vllm_triage.corpus import load
from vllm_triage.corpus.action_text import TextError, read_actions, read_piece
from vllm_triage.corpus.actions import DropWords, Run


def made(change: str, kind: str = "flag", **more: Any) -> Fix:
    """Return a fix whose values are all known."""
    piece = "# instead of -" in change
    try:
        actions, remark = ((), "") if piece else read_actions(change, kind, more.get("tags", ()))
    except TextError:
        piece = True
    if piece:
        try:
            actions, remark = read_piece(change.removeprefix("leave out "), change.startswith("leave out "))
        except TextError:
            actions, remark = (Run(change),), ""
    if found := re.search(r"(?:# instead of|^leave out) the words (?P<words>.+)$", change):
        head = change[: found.start()].strip()
        actions, remark = (*(read_piece(head)[0] if head else ()), DropWords(tuple(found["words"].split()))), ""
    told = {"title": "t", "why": "why", "cost": "cost", "whole": True, **more}
    return Fix(kind=kind, actions=actions, remark=remark, **told)


GUARDS = load().guards()


def context(text: str = "", release: str = "0.32.0", **more: Any) -> Context:
    """Return a start of a server of a release: arguments of ``Context`` by their names, all else facts."""
    named = {
        name: more.pop(name)
        for name in ("words", "trace", "ranks", "stranger", "asked", "hit", "reached")
        if name in more
    }
    facts = {"vllm_version": release, **more}
    return Context(Case(text or named.get("words", ""), facts, release), facts, release, **named)


def tried(
    fixes: list[Fix], start: Context, corrections: list[Fix] | None = None
) -> tuple[list[Fix], list[tuple[str, str]]]:
    """Return the fixes that hold, and those left out."""
    return _tried([*(corrections or []), *fixes], start, GUARDS)


def guarded(fix: Fix, start: Context) -> tuple[Fix | None, str]:
    """Return what the guards leave of a fix, or the reason."""
    return withhold(fix, start, GUARDS)
