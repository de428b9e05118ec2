"""Many incidents in one message of Slack: how many of what, and where to read more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from slack_sdk.models.blocks import ContextBlock, HeaderBlock, MarkdownTextObject, PlainTextObject, SectionBlock

from .interface import Brief
from .slack_blocks import clip, escape

_KINDS = 10
"""Causes that are named one by one."""
_SERVICES = 3
"""Services that are named for each cause."""


def digest(incidents: Sequence[Brief]) -> dict[str, Any]:
    """Return ``text`` and ``blocks`` of a message about several incidents."""
    head = f"{len(incidents):,} more incidents"
    causes = Counter(told.cause for told in incidents)
    lines = [_line(cause, number, incidents) for cause, number in causes.most_common(_KINDS)]
    if len(causes) > _KINDS:
        rest = sum(number for _, number in causes.most_common()[_KINDS:])
        lines.append(f"and {rest:,} of {len(causes) - _KINDS:,} other causes")
    words = "They came at one time and are reported together, once. What they have in common may be the cause."
    blocks = [
        HeaderBlock(text=PlainTextObject(text=head, emoji=False)),
        SectionBlock(text=MarkdownTextObject(text=clip("\n".join(lines), 2900), verbatim=True)),
        ContextBlock(elements=[MarkdownTextObject(text=words, verbatim=True)]),
    ]
    return {"text": head, "blocks": [block.to_dict() for block in blocks]}


def _line(cause: str, number: int, incidents: Sequence[Brief]) -> str:
    mine = [told for told in incidents if told.cause == cause]
    services = Counter(told.service for told in mine if told.service)
    named = ", ".join(f"*{escape(clip(service, 60))}*" for service, _ in services.most_common(_SERVICES))
    more = f" and {len(services) - _SERVICES:,} other services" if len(services) > _SERVICES else ""
    link = next((told.link for told in mine if told.link), "")
    shown = f" – <{escape(link).replace('|', '%7C')}|one of them>" if link else ""
    where = f" in {named}{more}" if named else ""
    return f"*{number:,} ×* `{escape(cause)}`{where}: {escape(clip(mine[0].title, 150))}{shown}"
