"""``/v1/incidents``: what failed, how often, since when."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import fastapi
from fastapi import APIRouter, Path, Request, Response, Security
from pydantic import AfterValidator, AwareDatetime, BaseModel, Field

from ....classifier.report.model import Node
from ...wire import IncidentDetails, Incidents, Stats, dumps
from .. import problems
from ..auth import Allowed, Caller
from ..bodies import JSON
from ..keys import Scope
from ..problems import Problem
from ..respond import history_of, in_store
from ..state import state_of

READING = problems.responses(401, 403, 404, 422, 429, 503)
MayRead = Annotated[Caller, Security(Allowed(Scope.READ))]
MayRemove = Annotated[Caller, Security(Allowed(Scope.ADMIN))]
Id = Annotated[str, Path(max_length=64, pattern=r"^[A-Za-z0-9_-]+$", description="id of an incident")]
Short = Annotated[str, Field(max_length=200)]


def _possible(moment: datetime | None) -> datetime | None:
    """Refuse times that no calendar in UTC holds."""
    if moment is not None and not 1 < moment.year < 9999:
        raise ValueError("no time that a log can be from")
    return moment


Time = Annotated[AwareDatetime | None, AfterValidator(_possible)]


class Wanted(BaseModel):
    """Which incidents to list; what is empty does not restrict."""

    service: Short = ""
    bucket: Short = ""
    cause: Short = ""
    fingerprint: Short = ""
    feedback: Annotated[
        Literal["", "right", "wrong", "none"], Field(description="as a person said last; none: nobody said anything")
    ] = ""
    since: Annotated[Time, Field(description="seen at or after this")] = None
    until: Annotated[Time, Field(description="first seen before this")] = None
    q: Annotated[Short, Field(description="text in title, cause, name, service, model or fingerprint")] = ""
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    cursor: Annotated[str, Field(max_length=1000, description="`next` of the page before")] = ""


class Span(BaseModel):
    """Which time to count."""

    service: Short = ""
    since: Annotated[Time, Field(description="at or after this")] = None
    until: Annotated[Time, Field(description="before this")] = None
    step: Literal["hour", "day"] = "day"


def said(kind: type[Node]) -> dict[int | str, dict[str, Any]]:
    """Return OpenAPI's words for an answer of a kind, and for the problems beside it."""
    return {200: {"model": kind, "description": "Successful Response"}, **READING}


def routes() -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(prefix="/v1/incidents", tags=["history"])
    add = router.add_api_route
    add("", incidents, response_model=None, responses=said(Incidents), summary="List incidents, the latest first")
    # Before the one that takes any id.
    add("/stats", stats, response_model=None, responses=said(Stats), summary="Count failures over time")
    add("/{id}", incident, response_model=None, responses=said(IncidentDetails), summary="Show an incident")
    add("/{id}", remove, methods=["DELETE"], status_code=204, responses=READING, summary="Remove an incident")
    return router


async def incidents(request: Request, wanted: Annotated[Wanted, fastapi.Query()], _caller: MayRead) -> Response:
    """Return a page of incidents."""
    from ...history import Filter

    state = state_of(request)
    history = history_of(state)
    try:
        page = await in_store(state, lambda: history.incidents(Filter(**wanted.model_dump())))
    except ValueError as error:
        raise Problem("invalid", str(error)) from None
    return Response(dumps(page), media_type=JSON)


async def incident(request: Request, id: Id, _caller: MayRead) -> Response:  # noqa: A002
    """Return all that is kept of an incident."""
    state = state_of(request)
    history = history_of(state)
    stored = await in_store(state, lambda: history.incident(id))
    if stored is None:
        raise _none()
    return Response(dumps(stored), media_type=JSON)


async def remove(request: Request, id: Id, _caller: MayRemove) -> Response:  # noqa: A002
    """Remove an incident with its report and its feedback."""
    state = state_of(request)
    history = history_of(state)
    if not await in_store(state, lambda: history.remove(id)):
        raise _none()
    return Response(status_code=204)


async def stats(request: Request, span: Annotated[Span, fastapi.Query()], _caller: MayRead) -> Response:
    """Return how often each bucket was seen, by hour or day (UTC)."""
    state = state_of(request)
    history = history_of(state)
    found = await in_store(state, lambda: history.stats(span.since, span.until, span.step, span.service))
    total = sum(count.count for item in found for count in item.counts)
    return Response(dumps(Stats(buckets=tuple(found), total=total)), media_type=JSON)


def _none() -> Problem:
    return Problem("not-found", "There is no such incident; it may have been removed, or be too old.")
