"""An incident as an Adaptive Card for Teams. Text of a log stands in text runs alone, which know no markup."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from . import short
from .interface import Brief, Event

VERSION = "1.5"
"""Of the card's schema: the newest that Teams shows everywhere."""
SIZE = 26_000
"""Bytes of a message: Teams takes 28 KB."""
FOR_EVIDENCE = 800
"""Characters of a text from which on the evidence is shown, too: it takes twice as many."""
WIDTHS = (2000, 800, 300, 120)
"""Characters of a text, from the longest; the first whose message fits is sent."""


def message(event: Event) -> bytes:
    """Return the message about an incident."""
    return _fitting(lambda width: _card(_body(event, width), event.link, _evidence(event, width)))


def digest(incidents: Sequence[Brief]) -> bytes:
    """Return one message about several incidents."""
    link = next((told.link for told in incidents if told.link), "")

    def made(width: int) -> dict[str, Any]:
        lines = [_run(short.cut(line, width)) for line in short.several(incidents)]
        return _card([_block(_run(f"{len(incidents):,} more incidents", weight="Bolder")), *map(_block, lines)], link)

    return _fitting(made)


def _fitting(made: Any) -> bytes:
    for width in WIDTHS:
        data = json.dumps(_attached(made(width)), ensure_ascii=False).encode("utf-8", "replace")
        if len(data) <= SIZE:
            break
    return bytes(data)


def _attached(card: dict[str, Any]) -> dict[str, Any]:
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "contentUrl": None, "content": card}]}


def _evidence(event: Event, width: int) -> str:
    """Return the evidence as far as there is room; a card is the only way in which Teams is told anything."""
    return (
        event.report.pack(max(500, 2 * width)).text() if event.report.kept is not None and width >= FOR_EVIDENCE else ""
    )


def _card(body: list[dict[str, Any]], link: str, evidence: str = "") -> dict[str, Any]:
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": VERSION,
        "msteams": {"width": "Full"}, "body": body,
    }  # fmt: skip
    actions: list[dict[str, Any]] = [{"type": "Action.OpenUrl", "title": "Full report", "url": link}] if link else []
    if evidence:
        inner = {
            "type": "AdaptiveCard",
            "body": [_block(_run(line, fontType="Monospace")) for line in evidence.splitlines()],
        }
        actions.append({"type": "Action.ShowCard", "title": "Evidence", "card": inner})
    if actions:
        card["actions"] = actions
    return card


def _body(event: Event, width: int) -> list[dict[str, Any]]:
    report = event.report
    blocks = [_block(_run(short.cut(short.title(event), width), weight="Bolder", size="Medium"))]
    blocks += [
        _block(_run(short.cut(words, width), isSubtle=True)) for words in (short.about(event), event.note) if words
    ]
    if report.summary:
        blocks.append(_block(_run(short.cut(report.summary, width))))
    blocks += [
        _block(_run(short.cut(line, width), fontType="Monospace")) for line in short.evidence(event, width=width)
    ]
    for fix in report.fixes[:3]:
        runs = [_run(short.cut(f"{fix.rank}. {fix.title} ", width))]
        if fix.change not in ("", fix.title):
            runs.append(_run(short.cut(fix.change, width), fontType="Monospace"))
        blocks.append(_block(*runs))
    if report.corrected_command and len(report.corrected_command) <= width:
        blocks.append(_block(_run(report.corrected_command, fontType="Monospace")))
    if words := short.counted(event):
        blocks.append(_block(_run(words, isSubtle=True)))
    return blocks


def _block(*runs: dict[str, Any]) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": list(runs)}


def _run(text: str, **style: Any) -> dict[str, Any]:
    return {"type": "TextRun", "text": text, **{name: value for name, value in style.items() if value}}
