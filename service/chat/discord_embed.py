"""A report as a Discord embed: within Discord's limits, and with nothing of a log that Discord would act on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from . import short
from .interface import Brief, Event

TITLE, DESCRIPTION, NAME, VALUE, FOOTER, TOTAL = 256, 4096, 256, 1024, 2048, 6000
"""Characters of an embed's parts, and of all of them together."""
EVIDENCE = 3_900
"""Characters of an evidence pack in an embed (docs/pack.md)."""
COLORS = {"failed": 0xC62828, "unknown": 0xB26A00, "well": 0x2E7D32}
_MARKUP = re.compile(r"([\\*_~`|<>\[\]()#:-])")
_TICK = "\u02cb"


def message(event: Event) -> dict[str, Any]:
    """Return the message about a report."""
    report = event.report
    state = "well" if not report.failed else "unknown" if report.bucket == "unknown" else "failed"
    embed: dict[str, Any] = {"title": escape(short.title(event), TITLE), "color": COLORS[state]}
    if event.link:
        embed["url"] = event.link
    words = [escape(text, 600) for text in (short.about(event), event.note, report.summary) if text]
    if lines := short.evidence(event, 3, 300):
        words.append(code("\n".join(lines), 1000))
    embed["description"] = "\n".join(words)
    fields = [
        _field(f"{fix.rank}. {fix.title}", fix.change if fix.change != fix.title else fix.why)
        for fix in report.fixes[:3]
    ]
    if report.corrected_command and len(report.corrected_command) <= 900:
        fields.append(_field("Corrected command", report.corrected_command))
    if report.bucket == "unknown" and report.alternatives:
        near = ", ".join(f"{item.bucket} {round(item.confidence * 100)} %" for item in report.alternatives[:4])
        fields.append({"name": "Could be", "value": escape(near, VALUE)})
    if fields:
        embed["fields"] = fields
    if counted := short.counted(event):
        embed["footer"] = {"text": short.cut(counted, FOOTER)}
    while size(embed) > TOTAL and embed.get("fields"):
        embed["fields"].pop()
    return {"embeds": [embed], **QUIET}


def digest(incidents: Sequence[Brief]) -> dict[str, Any]:
    """Return one message about several incidents."""
    lines = "\n".join(escape(line, 300) for line in short.several(incidents))
    embed: dict[str, Any] = {"title": f"{len(incidents):,} more incidents", "description": lines[:DESCRIPTION]}
    if link := next((told.link for told in incidents if told.link), ""):
        embed["url"] = link
    return {"embeds": [embed], **QUIET}


def evidence(text: str) -> dict[str, Any]:
    """Return a message with an evidence pack."""
    return {"embeds": [{"title": "Evidence", "description": code(text, DESCRIPTION)}], **QUIET}


def words(text: str) -> dict[str, Any]:
    """Return a message of a few words of ours."""
    return {"content": escape(text, 1500), **QUIET}


QUIET: dict[str, Any] = {"allowed_mentions": {"parse": []}}
"""Nobody is called, whatever a log says."""


def escape(text: str, most: int) -> str:
    """Return text without markup of Discord's, of at most ``most`` characters with its escapes."""
    # A sign of no width stands behind what would begin a name.
    told = _MARKUP.sub(r"\\\1", " ".join(text.split())).replace("@", "@\u200b")
    # Not within an escape.
    return told if len(told) <= most else told[: most - 1].rstrip("\\") + "…"


def code(text: str, most: int) -> str:
    """Return a block of code of at most ``most`` characters; what is in it cannot end it."""
    return f"```\n{short.cut(text.replace('`', _TICK), most - 8)}\n```"


def size(embed: dict[str, Any]) -> int:
    """Return the characters that Discord counts."""
    parts = [embed.get("title", ""), embed.get("description", ""), embed.get("footer", {}).get("text", "")]
    return sum(map(len, parts)) + sum(len(field["name"]) + len(field["value"]) for field in embed.get("fields", []))


def _field(name: str, value: str) -> dict[str, str]:
    return {"name": escape(name, NAME), "value": code(value, 950) if value else "–"}
