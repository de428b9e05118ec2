"""From the server starts of a log to one answer: which start it is about, and what its deciders say."""

from __future__ import annotations

from ...corpus.stages import STAGE_ORDER
from ..diagnosis import Diagnosis, Evidence
from ..incidents.types import Incident
from ..lines.types import Line
from .among_servers import answer_among_servers
from .answer import Known, evidence_of
from .case import READY
from .deciders import DECIDERS
from .findings import Findings
from .story import place, story_of, unread_beside

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


def decide(incidents: list[Incident], tail: list[Line], known: Known) -> Diagnosis:
    """Return the diagnosis of a log from its incidents: where servers share it, that of the one which failed."""
    return answer_among_servers(incidents, tail, lambda own, end: _of_server(own, end, known))


def _of_server(incidents: list[Incident], tail: list[Line], known: Known) -> Diagnosis:
    """Return the diagnosis of one server from its incidents; the last one counts.

    The one before counts where the last is but a restart that has got nowhere yet.
    """
    incident, about = incidents[-1], len(incidents) - 1
    answer = of_incident(incident, tail, known)
    if (
        len(incidents) > 1
        and (
            not answer.failed
            or answer.decided_by == "none"
            or (answer.decided_by == "stage" and not _at_work(answer, known))
        )
        and STAGE_ORDER.get(incident.reached, -1) < READY
    ):
        before = of_incident(incidents[-2], [], known)
        if before.failed:
            before.notes.append(
                f"A restart follows on line {incident.first}; it had reached '{incident.reached or 'launch'}' when the log ends."
            )
            answer, about = before, about - 1
    answer.incidents = [
        {"first": item.first, "last": item.last, "reached": item.reached or "launch"} for item in incidents
    ]
    place(answer, about)
    return answer


def _at_work(answer: Diagnosis, known: Known) -> bool:
    """Tell whether an answer is about a server at work: it had come up, whether or not the log shows that."""
    return any(answer.cause == "/".join(known.corpus.concluded_from(kind)) for kind in AT_WORK)


def of_incident(incident: Incident, tail: list[Line], known: Known) -> Diagnosis:
    """Return the diagnosis of one server start.

    Args:
        incident: The server start.
        tail: The last lines of the log; empty where another start follows.
        known: The texts of the buckets, and the text model.
    """
    found = Findings(incident, tail, known)
    answer = next(answer for decider in DECIDERS if (answer := decider(found)) is not None)
    shown = {item.line for item in answer.evidence}
    # Several rules may know one line.
    wrappers = {hit.line.number: hit for hit in found.wrappers if hit.line.number not in shown}
    answer.symptoms = [evidence_of(hit, "symptom") for hit in list(wrappers.values())[:40]]
    if answer.evidence:
        answer.context = [
            Evidence(number, text, process, "context")
            for number, text, process in incident.contexts.lines(answer.evidence[0].line)
        ]
    answer.story = story_of(found, answer)
    answer.unread = unread_beside(found, answer)
    answer.reached = incident.reached or "launch"
    answer.stages = incident.stages
    answer.facts = {
        name: value for name, value in incident.facts.items() if name not in ("v1", "unit", "world_size_seen")
    }
    answer.notes += incident.given_up
    if incident.broken_off:
        answer.notes.append(
            "The compressed data are cut or damaged: the log went on where this answer ends. Fetch it again."
        )
    answer.explanation = [
        f"{item.bucket}/{item.cause} {item.score:.2f}: " + "; ".join(item.reasons) for item in found.candidates[:12]
    ] + answer.explanation
    return answer
