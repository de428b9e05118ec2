"""From the server starts of a log to one verdict: which start it is about, and what its deciders say."""

from __future__ import annotations

from operator import attrgetter

from ...corpus.records import replace
from ...corpus.stages import STAGE_ORDER
from ..incidents.attempts import changed, parted
from ..incidents.types import Incident
from ..lines.context import BEFORE
from ..lines.types import Evidence, Line
from ..masking.apart import REACH, hide_apart
from .case import READY
from .deciders import DECIDERS
from .evidence import evidence_of
from .findings import Findings
from .known import Known
from .story import place, story_of, unread_beside
from .types import ServerStart, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...corpus.kinds import Finding

AT_WORK: tuple[Finding, ...] = (
    "stalled",
    "preempted",
    "drafts_rejected",
    "cache_full",
    "queued",
    "slowed_down",
    "crawling",
)
"""What is found of a server by its periodic lines."""


def decide(incidents: list[Incident], tail: list[Line], known: Known) -> Verdict:
    """Return the verdict on a log; where servers share it, that on the one which failed, the surer one of two that did.

    Args:
        incidents: Of all servers, those of the first server first.
        tail: The last lines of the first server.
        known: What decisions draw on.
    """
    servers: dict[str, list[Incident]] = {}
    for incident in incidents:
        servers.setdefault(incident.server, []).extend(parted(incident))
    if len(servers) == 1:
        return _of_server(next(iter(servers.values())), tail, known)
    verdicts = {name: _of_server(own, own[-1].tail or tail, known) for name, own in servers.items()}
    name, verdict = max(
        verdicts.items(), key=lambda item: (item[1].failed, item[1].decided_by == "rule", item[1].confidence)
    )
    starts = sorted((start for other in verdicts.values() for start in other.starts), key=attrgetter("first"))
    told = f"The log shows {len(servers)} servers ({', '.join(servers)}); this is about {name}."
    return replace(verdict, starts=tuple(starts), notes=(*verdict.notes, told) if verdict.failed else verdict.notes)


def _of_server(incidents: list[Incident], tail: list[Line], known: Known) -> Verdict:
    """Return the verdict on one server from its incidents; the last one counts.

    The one before counts where the last is but a restart that has got nowhere yet.
    """
    incident, about = incidents[-1], len(incidents) - 1
    verdict = of_incident(incident, tail, known)
    if (
        len(incidents) > 1
        and (
            not verdict.failed
            or verdict.decided_by == "none"
            or (verdict.decided_by == "stage" and not _at_work(verdict, known))
        )
        and STAGE_ORDER.get(incident.reached, -1) < READY
    ):
        before = of_incident(incidents[-2], [], known)
        if before.failed:
            reached = incident.reached or "launch"
            told = f"A restart follows on line {incident.first}; it had reached '{reached}' when the log ends."
            verdict, about = replace(before, notes=(*before.notes, told)), about - 1
    if about and (difference := changed(incidents[about - 1].facts, incidents[about].facts)):
        verdict = replace(verdict, notes=(*verdict.notes, f"Set otherwise than in the start before: {difference}."))
    starts = tuple(ServerStart(item.first, item.last, item.reached or "launch") for item in incidents)
    return place(verdict, starts, about)


def _at_work(verdict: Verdict, known: Known) -> bool:
    """Return whether a verdict is on a server at work: it had come up, whether or not the log shows that."""
    return any(verdict.cause == "/".join(known.corpus.concluded_from(kind)) for kind in AT_WORK)


def of_incident(incident: Incident, tail: list[Line], known: Known) -> Verdict:
    """Return the verdict on one server start.

    Args:
        incident: The server start.
        tail: The last lines of the log; empty where another start follows.
        known: The texts of the buckets, and the text model.
    """
    found = Findings(incident, tail, known)
    verdict = next(verdict for decider in DECIDERS if (verdict := decider(found)) is not None)
    shown = {item.line for item in verdict.evidence}
    # Several rules may know one line.
    wrappers = {hit.line.number: hit for hit in found.wrappers if hit.line.number not in shown}
    # Names may stand above what is shown.
    around = incident.contexts.lines(verdict.evidence[0].line, BEFORE + REACH) if verdict.evidence else []
    texts = hide_apart(text for _, text, _ in around)
    notes = [*verdict.notes, *incident.given_up]
    if incident.broken_off:
        notes.append("The compressed data are cut or damaged: the log went on where this answer ends. Fetch it again.")
    return replace(
        verdict,
        symptoms=tuple(evidence_of(hit, "symptom") for hit in list(wrappers.values())[:40]),
        context=tuple(
            Evidence(number, text, process, "context")
            for (number, _, process), text in zip(around, texts, strict=True)
            if number >= verdict.evidence[0].line - BEFORE
        ),
        story=story_of(found, verdict),
        unread=unread_beside(found, verdict),
        stages=tuple(incident.stages),
        notes=tuple(notes),
        weighed=tuple(
            f"{item.bucket}/{item.cause} {item.score:.2f}: " + "; ".join(item.reasons) for item in found.candidates[:12]
        ),
    )
