"""What short messages of every chat say of an incident, as plain text: which words, in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...classifier.errors import InputError
from ...classifier.masking.mask import mask
from ..render.words import answer_of, headline, verdict_mark
from .interface import Brief, Event

if TYPE_CHECKING:
    from .interface import ChatContext
    from .readers import Readable

LONGEST_ID = 64
"""Characters of an incident's id, at most."""
KINDS = 10
"""Causes that a message about several incidents names one by one."""


def cut(text: str, most: int) -> str:
    """Return at most ``most`` characters, with a sign where there were more."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def title(event: Event) -> str:
    """Return the message's first line."""
    return f"{verdict_mark(event.report)} {event.report.title}"


def about(event: Event) -> str:
    """Return which cause, how sure, of which service and server."""
    report = event.report
    parts = [answer_of(report), event.service, event.name, headline(report.facts)]
    return " · ".join(part for part in parts if part)


def evidence(event: Event, most: int = 3, width: int = 400) -> list[str]:
    """Return the lines that prove it."""
    lines = [item for item in event.report.evidence if not item.mark]
    return [cut(f"{item.line}: {item.text}", width) for item in lines[:most]]


def counted(event: Event) -> str:
    """Return how often it happened; empty for the first time."""
    incident = event.incident
    if incident is not None and incident.occurrences > 1:
        return f"{incident.occurrences:,} × since {incident.first_seen:%Y-%m-%d}"
    return f"{event.recurrence:,} × in this window" if event.recurrence > 1 else ""


def several(incidents: Sequence[Brief]) -> list[str]:
    """Return the lines of a message about several incidents: how many of what."""
    causes = Counter(told.cause for told in incidents)
    lines = []
    for cause, number in causes.most_common(KINDS):
        mine = [told for told in incidents if told.cause == cause]
        services = sorted({told.service for told in mine if told.service})
        where = f" in {cut(', '.join(services[:3]), 120)}" + (
            f" and {len(services) - 3} more" if len(services) > 3 else ""
        )
        lines.append(f"{number:,} × {cause}{where if services else ''}: {cut(mine[0].title, 120)}")
    if (left := sum(causes.values()) - sum(number for _, number in causes.most_common(KINDS))) > 0:
        lines.append(f"and {left:,} of {len(causes) - KINDS:,} other causes")
    return lines


def text(event: Event, most: int = 2000) -> str:
    """Return the whole message as plain text."""
    report = event.report
    parts = [about(event), event.note, cut(report.summary, 400), *evidence(event, 1)]
    parts += [
        f"{fix.rank}. {fix.title}" + (f": {fix.change}" if fix.change != fix.title else "") for fix in report.fixes[:2]
    ]
    parts += [report.corrected_command if len(report.corrected_command) < 500 else "", counted(event), event.link]
    return cut("\n".join(part for part in parts if part), most)


def evidence_asked(text: str) -> str | None:
    """Return what stands behind the word ``evidence`` (a log, or the id of an incident); None where nobody says it."""
    word, _, rest = text.partition(" ") if " " in text.split("\n", maxsplit=1)[0] else text.partition("\n")
    return rest.strip() if word.lower() == "evidence" else None


def evidence_of(context: ChatContext, source: bytes | Readable, name: str, budget: int) -> str:
    """Return the evidence of a log, or of an incident that is named by its id, in so many characters.

    Raises:
        InputError: There is none.
        BusyError: There is too much to do.
    """
    found = source.decode().strip() if isinstance(source, bytes) and len(source) <= LONGEST_ID else ""
    if found.startswith("inc_"):
        stored = context.history.incident(found) if context.history is not None else None
        if stored is None:
            raise InputError("there is no such incident; it may have been removed, or be too old")
        return stored.report.pack(budget).text()
    report, _ = context.triage(source, service="", name=mask(name))
    return report.pack(budget).text()
