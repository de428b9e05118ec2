"""Which server of a log the answer is about, where several share it."""

from __future__ import annotations

from collections.abc import Callable

from ..diagnosis import Diagnosis
from ..incidents.types import Incident
from ..lines.types import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..diagnosis import Start


def answer_among_servers(
    incidents: list[Incident], tail: list[Line], decide: Callable[[list[Incident], list[Line]], Diagnosis]
) -> Diagnosis:
    """Return the answer for the server that failed, where a log holds several; the surer one of two that did.

    Args:
        incidents: Of all servers, those of the first server first.
        tail: The last lines of the first server.
        decide: Makes the answer for one server from its incidents and last lines.
    """
    servers: dict[str, list[Incident]] = {}
    for incident in incidents:
        servers.setdefault(incident.server, []).append(incident)
    if len(servers) == 1:
        return decide(incidents, tail)
    answers = {name: decide(own, own[-1].tail or tail) for name, own in servers.items()}
    name, answer = max(
        answers.items(), key=lambda item: (item[1].failed, item[1].decided_by == "rule", item[1].confidence)
    )
    if answer.failed:
        answer.notes.append(f"The log shows {len(servers)} servers ({', '.join(servers)}); this is about {name}.")
    answer.incidents = sorted((start for other in answers.values() for start in other.incidents), key=_first)
    return answer


def _first(start: Start) -> int:
    return start["first"]
