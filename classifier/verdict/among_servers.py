"""Which server of a log the answer is about, where several share it."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from ...corpus.records import replace
from ..incidents.types import Incident
from ..lines.types import Line
from .types import Verdict


def decide_among_servers(
    incidents: list[Incident], tail: list[Line], decide: Callable[[list[Incident], list[Line]], Verdict]
) -> Verdict:
    """Return the verdict on the server that failed, where a log holds several; the surer one of two that did.

    Args:
        incidents: Of all servers, those of the first server first.
        tail: The last lines of the first server.
        decide: Makes the verdict on one server from its incidents and last lines.
    """
    servers: dict[str, list[Incident]] = {}
    for incident in incidents:
        servers.setdefault(incident.server, []).append(incident)
    if len(servers) == 1:
        return decide(incidents, tail)
    verdicts = {name: decide(own, own[-1].tail or tail) for name, own in servers.items()}
    name, verdict = max(
        verdicts.items(), key=lambda item: (item[1].failed, item[1].decided_by == "rule", item[1].confidence)
    )
    starts = sorted((start for other in verdicts.values() for start in other.starts), key=attrgetter("first"))
    told = f"The log shows {len(servers)} servers ({', '.join(servers)}); this is about {name}."
    return replace(verdict, starts=tuple(starts), notes=(*verdict.notes, told) if verdict.failed else verdict.notes)
