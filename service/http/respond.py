"""What happens to an answer before it goes out: counted, kept, told to chats, put into the form asked for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from fastapi import Request, Response

from ...classifier.report.model import Report
from ..render.interface import load, names
from ..wire import Incident, IncidentRef, TriageAnswer, dumps
from .problems import Problem
from .recording import Kept
from .request import Asked
from .state import State

if TYPE_CHECKING:
    from ..chat import Chat
    from ..history import History

JSON_TYPE = "application/json"
_log = logging.getLogger("vllm_triage.http")
Found = TypeVar("Found")


@cache
def forms() -> dict[str, str]:
    """Return the media types of an answer, the one first that is sent to who does not care, and the format of each."""
    found = {media: name for name in names() if (media := load(name).MEDIA_TYPE)}
    return {JSON_TYPE: found.pop(JSON_TYPE), **found}


async def finish(state: State, report: Report, asked: Asked) -> TriageAnswer:
    """Count an answer, keep it, tell the chats; return it with its incident."""
    state.metrics.answered(report)
    kept = Kept()
    if asked.store:
        once = f"{asked.caller}\0{asked.once}" if asked.once else ""
        kept = await state.recording.keep(state, report, asked.service, asked.name, asked.tenant, once)
    if state.chat is not None and asked.store and not (kept.incident is not None and kept.incident.again):
        await tell(state, state.chat, report, kept.incident, asked)
    later = False
    if state.opinions is not None and kept.incident is not None:
        later = state.opinions.later(state, report, kept.incident, asked.tenant, asked.ask)
    return TriageAnswer.of(report, incident_of(kept.incident, state), kept.not_recorded, later)


async def tell(state: State, chat: Chat, report: Report, incident: Incident | None, asked: Asked) -> None:
    """Tell the chats; a message that may be the first of an incident is stored before the answer is given."""
    words = {"service": asked.service, "name": asked.name, "tenant": asked.tenant}
    first = chat.first_sight(report, incident, **words)
    if first is None:
        chat.notify(report, incident, **words)
        return
    try:
        with state.pools.history:
            await asyncio.get_running_loop().run_in_executor(state.store, first)
    except Problem:
        chat.notify(report, incident, **words)


async def in_store(state: State, call: Callable[[], Found]) -> Found:
    """Call the history without holding up other requests.

    Raises:
        Problem: It cannot be reached.
    """
    from ..history import HistoryError

    try:
        with state.pools.history:
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


def incident_of(incident: Incident | None, state: State) -> IncidentRef | None:
    """Return what an answer tells of the incident that it belongs to."""
    if incident is None:
        return None
    path = f"{state.settings.root_path}/incidents/{incident.id}"
    return incident.reference(state.link(incident.id) or path)


def note(request: Request, report: Report) -> None:
    """Have the request's line in our log say what came out."""
    request.scope["state"]["answer"] = {"bucket": report.bucket, "decided_by": report.decided_by}


def respond(request: Request, media: str, text: str, report: TriageAnswer) -> Response:
    """Return the response with an answer: the report as JSON, or the text of another format."""
    note(request, report)
    headers = {"Vary": "Accept"}
    if report.incident is not None:
        headers["X-Incident-ID"] = report.incident.id
    if report.not_recorded:
        # Text and Markdown have no other place for it.
        headers["X-Not-Recorded"] = report.not_recorded
    return Response(dumps(report) if media == JSON_TYPE else text, headers=headers, media_type=media)
