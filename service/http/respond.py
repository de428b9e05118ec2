"""What happens to an answer before it goes out: counted, kept, told to chats, put into the form asked for."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request, Response

from .problems import Problem
from .request import Asked
from .state import State, state_of
from .work.jobs import Answer

if TYPE_CHECKING:
    from ..history import History, Incident

FORMS = {
    "application/json": "json",
    "text/markdown": "markdown",
    "text/plain": "text",
    "application/sarif+json": "sarif",
}
"""Media types of an answer, and the format that makes each."""
_log = logging.getLogger("vllm_triage.http")
Found = TypeVar("Found")


async def finish(state: State, answer: Answer, asked: Asked) -> dict[str, Any]:
    """Count an answer, keep it, tell the chats; return it with its incident."""
    state.metrics.answered(answer.report)
    incident = await keep(state, answer.report, asked.service, asked.name) if asked.store else None
    if state.chat is not None and asked.store:
        state.chat.notify(answer.report, incident, service=asked.service, name=asked.name)
    return {**answer.report, "incident": incident_of(incident, state)}


async def keep(state: State, report: Mapping[str, Any], service: str, name: str) -> Incident | None:
    """Keep a report; None without history, and where there is no failure to keep.

    Raises:
        Problem: The history cannot be reached: an answer that looks kept and is not would be worse.
    """
    if state.history is None or report["bucket"] == "no_failure":
        return None
    history = state.history
    try:
        incident = await in_store(state, lambda: history.record(report, service=service, name=name))
    except Problem:
        state.metrics.lost.inc()
        raise
    state.metrics.stored.labels(str(incident.new).lower()).inc()
    return incident


async def in_store(state: State, call: Callable[[], Found]) -> Found:
    """Call the history without holding up other requests.

    Raises:
        Problem: It cannot be reached.
    """
    from ..history import HistoryError

    try:
        return await asyncio.get_running_loop().run_in_executor(state.store, call)
    except HistoryError as error:
        _log.error("history failed", extra={"reason": str(error)})
        text = "The history cannot be reached: try again, or send store=false."
        raise Problem("history-unreachable", text, {"Retry-After": "5"}) from None


def history_of(state: State) -> History:
    """Return the history.

    Raises:
        Problem: There is none.
    """
    if state.history is None:
        raise Problem("no-history", "The service was started without a database.")
    return state.history


def incident_of(incident: Incident | None, state: State) -> dict[str, Any] | None:
    """Return what an answer tells of the incident that it belongs to."""
    if incident is None:
        return None
    summary = incident.summary()
    names = ("id", "fingerprint", "occurrences", "first_seen", "last_seen", "service")
    path = f"{state.settings.root_path}/incidents/{incident.id}"
    return {**{name: summary[name] for name in names}, "new": incident.new, "url": state.link(incident.id) or path}


def note(request: Request, report: Mapping[str, Any]) -> None:
    """Have the request's line in our log say what came out."""
    request.scope["state"]["answer"] = {"bucket": report["bucket"], "decided_by": report["decided_by"]}


def respond(request: Request, media: str, answer: Answer, report: Mapping[str, Any]) -> Response:
    """Return the response with an answer."""
    note(request, report)
    headers = {"Vary": "Accept"}
    if incident := report["incident"]:
        headers["X-Incident-ID"] = incident["id"]
    if media == "application/json":
        return Response(dumps(report), headers=headers, media_type=media)
    return Response(answer.text, headers=headers, media_type=media)


def dumps(value: Any) -> bytes:
    """Return a value as JSON. Half a surrogate that a log brought cannot be sent, a question mark can."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def service_state(request: Request) -> State:
    """Return the state, for routes that take it as a dependency."""
    return state_of(request)
