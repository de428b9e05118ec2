"""A report as Block Kit: within Slack's limits, and with nothing of a log that Slack would act on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from slack_sdk.models.blocks import (
    ActionsBlock,
    Block,
    ButtonElement,
    ContextBlock,
    HeaderBlock,
    MarkdownTextObject,
    Option,
    PlainTextObject,
    SectionBlock,
    StaticSelectElement,
)

from ...classifier.api import shared
from ...classifier.report.model import Fix, Report
from ..render.words import STAGE_NAMES, headline, percent, sure_of, verdict_mark
from .interface import Event

RIGHT, WRONG, BUCKET, NO_BUCKET = "triage_right", "triage_wrong", "triage_bucket", "triage_no_bucket"
"""Ids of the actions that a reader can take."""

BLOCKS = 50
"""Blocks of a message; the SDK has no check for it."""

_TEXT = SectionBlock.text_max_length
_FIXES = 3
"""Fixes of a message."""
_TICK = "\u02cb"
_MENTION = re.compile(r"@(?=(?:channel|here|everyone|group)\b)", re.IGNORECASE)


def message(event: Event, *, verdict: str = "", ask_bucket: bool = False, closed: bool = False) -> dict[str, Any]:
    """Return ``text`` and ``blocks`` of a message.

    Args:
        event: What it tells.
        verdict: Words (already safe) in the place of the buttons: who said what.
        ask_bucket: Show the choice of buckets in the place of the buttons.
        closed: The alert is over.
    """
    report = event.report
    mark = verdict_mark(report)
    blocks: list[Block] = [HeaderBlock(text=_plain(f"{mark} {report.title}", HeaderBlock.text_max_length))]
    blocks += _context([_about(event)])
    if event.note:
        blocks += _context([escape(event.note)])
    if report.summary:
        blocks.append(_section(clip(escape(report.summary), 1500)))
    blocks += _evidence(report)
    for fix in report.fixes[:_FIXES]:
        blocks.append(_section(_fix(fix)))
    command = report.corrected_command
    # A command that was cut is worse than none.
    if command and len(escape(command)) < 2500:
        blocks.append(_section(f"*Corrected command*\n{code(command, 2600)}"))
    blocks += _context(_foot(event, closed=closed))
    if verdict:
        blocks += _context([verdict])
    elif event.incident is not None and report.failed:
        blocks.append(choice(event.incident.id) if ask_bucket else _buttons(event.incident.id))
    text = f"{mark} {escape(report.title)}"
    return {"text": clip(text, _TEXT), "blocks": [block.to_dict() for block in blocks[:BLOCKS]]}


def escape(text: object) -> str:
    """Return text of a log or a person for mrkdwn: no markup of Slack's, no mention, no link."""
    told = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Bare ones are text unless a client is told to look for names; a zero-width space makes sure.
    return _MENTION.sub("@\u200b", told)


def unescape(text: str) -> str:
    """Return what a person typed, from what Slack sends: links unwrapped, entities resolved."""
    text = re.sub(r"<(?:https?|mailto|tel):[^<>|\s]*\|([^<>]*)>", r"\1", text)
    text = re.sub(r"<((?:https?|mailto|tel):[^<>|\s]*)>", r"\1", text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def pasted(text: str) -> str:
    """Return the log in a message: its code blocks where it has any, all of its text otherwise."""
    blocks = re.findall(r"```(?:\n)?(.*?)(?:```|\Z)", text, re.DOTALL)
    return unescape("\n".join(blocks) if any(block.strip() for block in blocks) else text.replace("`", "")).strip()


def clip(text: str, limit: int) -> str:
    """Return escaped text of at most ``limit`` characters, entities whole."""
    if len(text) <= limit:
        return text
    return re.sub(r"&[a-z]{0,3}$", "", text[: limit - 2]) + " …"


def code(text: str, limit: int) -> str:
    """Return a code block of at most ``limit`` characters."""
    # A run of backticks would end the block, and what follows would be markup.
    return f"```{clip(escape(text.replace('`', _TICK)), limit - 6)}```"


def choice(incident: str) -> ActionsBlock:
    """Return the question what it was, when the answer was wrong."""
    options = [
        Option(text=_option(bucket), value=f"{incident} {bucket}")
        for bucket in shared().corpus.buckets()
        if bucket != "unknown"
    ]
    select = StaticSelectElement(
        action_id=BUCKET, placeholder="What was it?", options=options[: StaticSelectElement.options_max_length]
    )
    button = ButtonElement(action_id=NO_BUCKET, text=PlainTextObject(text="I don't know"), value=incident)
    return ActionsBlock(elements=[select, button])


def _option(bucket: str) -> PlainTextObject:
    title = shared().corpus.bucket(bucket).title
    return _plain(f"{bucket}: {title}", Option.label_max_length)


def _buttons(incident: str) -> ActionsBlock:
    return ActionsBlock(
        elements=[
            ButtonElement(action_id=RIGHT, text=PlainTextObject(text="Right"), value=incident, style="primary"),
            ButtonElement(action_id=WRONG, text=PlainTextObject(text="Wrong"), value=incident),
        ]
    )


def _about(event: Event) -> str:
    report = event.report
    parts = [f"`{escape(report.cause)}`", *filter(None, [sure_of(report)])]
    if event.service:
        parts.append(f"*{escape(event.service)}*")
    if event.name:
        parts.append(escape(event.name))
    if facts := headline(report.facts):
        parts.append(escape(facts))
    if report.failed and (reached := report.startup.reached):
        parts.append(f"reached: {escape(STAGE_NAMES.get(reached, reached))}")
    return clip(" · ".join(parts), 1000)


def _evidence(report: Report) -> list[Block]:
    lines = [*report.evidence[:3], *report.symptoms[-1:]]
    told = [f"{item.line}: " + (f"{item.process}  " if item.process else "") + clip(item.text, 600) for item in lines]
    blocks: list[Block] = [_section(f"*Evidence*\n{code(chr(10).join(told), 2800)}")] if told else []
    if report.bucket == "unknown" and report.alternatives:
        names = ", ".join(f"`{escape(item.bucket)}` {percent(item.confidence)}" for item in report.alternatives[:4])
        blocks += _context([f"Could be: {names}"])
    return blocks


def _fix(fix: Fix) -> str:
    parts = [clip(f"*{fix.rank}. {escape(fix.title)}*", 300)]
    if fix.pasted:
        parts.append(code(fix.change, 900))
    elif fix.change and fix.change != fix.title:
        parts.append(clip(escape(fix.change), 600))
    if fix.why:
        parts.append(clip(escape(fix.why), 400))
    if fix.costs:
        parts.append(clip(f"Costs: {escape(fix.costs)}", 300))
    if fix.safety == "destructive":
        parts.append("*Destroys something: read it before you run it.*")
    return "\n".join(parts)


def _foot(event: Event, *, closed: bool) -> list[str]:
    parts = [clip(escape(note), 400) for note in event.report.notes[:2]]
    if event.recurrence > 1 or event.received > event.recurrence:
        counted = f"*{event.recurrence:,} ×* in this window"
        if event.received > event.recurrence:
            counted += f" (reported {event.received:,} times)"
        parts.append(counted)
    if event.incident is not None and event.incident.occurrences > max(1, event.recurrence):
        parts.append(f"{event.incident.occurrences:,} × since {event.incident.first_seen:%Y-%m-%d}")
    if closed:
        parts.append("*Resolved*")
    if event.link:
        parts.append(f"<{escape(event.link).replace('|', '%7C')}|Full report>")
    return parts


def _context(texts: Iterable[str]) -> list[Block]:
    elements: Sequence[Any] = [_mrkdwn(clip(text, 2000)) for text in texts if text]
    return [ContextBlock(elements=elements[: ContextBlock.elements_max_length])] if elements else []


def _section(text: str) -> SectionBlock:
    return SectionBlock(text=_mrkdwn(clip(text, _TEXT)))


def _mrkdwn(text: str) -> MarkdownTextObject:
    # verbatim: Slack makes no links of what looks like one.
    return MarkdownTextObject(text=text, verbatim=True)


def _plain(text: str, limit: int) -> PlainTextObject:
    told = _MENTION.sub("@\u200b", text.replace("<", "\u2039").replace(">", "\u203a").replace("\n", " "))
    return PlainTextObject(text=told if len(told) <= limit else told[: limit - 2] + " …", emoji=False)
