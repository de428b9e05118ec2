"""``/v1/incidents``: what failed, how often, since when."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

import fastapi
from fastapi import APIRouter, Path, Request, Response, Security
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from ....classifier.errors import InputError
from ....classifier.report.model import Node
from ....classifier.report.pack.look import Look, look_in
from ....classifier.report.pack.model import BUDGET, LARGEST, Pack
from ...wire import HandlingState, Incident, IncidentDetails, Incidents, Stats, dumps
from .. import problems
from ..auth import Allowed, Caller
from ..bodies import JSON, media_type, parse, unsupported, whole
from ..keys import Scope
from ..negotiation import choose
from ..problems import Problem
from ..request import Budget, Candidates
from ..respond import history_of, in_store
from ..state import state_of

PROMPT = "text/vnd.vllm-triage.prompt"
READING = problems.responses(401, 403, 404, 422, 429, 503)
MayRead = Annotated[Caller, Security(Allowed(Scope.READ))]
MayOperate = Annotated[Caller, Security(Allowed(Scope.OPERATE))]
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
    state: Annotated[
        Literal["", "open", "acknowledged", "muted"], Field(description="what is done about it; open: nothing")
    ] = ""
    assignee: Annotated[Short, Field(description="who looks after it")] = ""
    since: Annotated[Time, Field(description="seen at or after this")] = None
    until: Annotated[Time, Field(description="first seen before this")] = None
    q: Annotated[Short, Field(description="text in title, cause, name, service, model or fingerprint")] = ""
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    cursor: Annotated[str, Field(max_length=1000, description="`next` of the page before")] = ""


class Handling(BaseModel):
    """What a person does about an incident; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    state: Annotated[
        HandlingState | None,
        Field(description="acknowledged: looked after; muted: chats hear nothing of it; open: neither"),
    ] = None
    muted_until: Annotated[Time, Field(description="with `muted`: until then; null for a mute without an end")] = None
    assignee: Annotated[str | None, Field(max_length=200, description="who looks after it; empty for nobody")] = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("say what is to change: state, muted_until, assignee")
        return self


class Looking(BaseModel):
    """Which lines to show."""

    lines: Annotated[str, Field(max_length=40, description="`100-180`, `100` or `100-`")] = ""
    find: Annotated[Short, Field(description="a text that they hold, in upper or lower case")] = ""
    process: Annotated[Short, Field(description="only of processes whose name holds this")] = ""
    budget: Budget = BUDGET


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
    packed = {media: {"schema": {"type": "string"}} for media in (PROMPT, "text/plain")}
    add(
        "/{id}/pack", pack, response_model=None, summary="The evidence of an incident, for whoever concludes for himself",
        responses={200: {"model": Pack, "description": "Successful Response", "content": packed}, **READING},
    )  # fmt: skip
    add(
        "/{id}/lines", lines, response_model=None, responses=said(Look), summary="More of the lines kept of an incident"
    )
    content = {
        "schema": {"$ref": "#/components/schemas/Handling"},
        "example": {"state": "acknowledged", "assignee": "kim"},
    }
    add(
        "/{id}", handle, methods=["PATCH"], response_model=None,
        responses={200: {"model": Incident, "description": "The incident as it is now"}, **problems.responses(401, 403, 404, 408, 413, 415, 422, 429, 503)},
        openapi_extra={"requestBody": {"required": True, "content": {JSON: content}}},
        summary="Acknowledge, mute or assign an incident",
    )  # fmt: skip
    add("/{id}", remove, methods=["DELETE"], status_code=204, responses=READING, summary="Remove an incident")
    return router


async def incidents(request: Request, wanted: Annotated[Wanted, fastapi.Query()], caller: MayRead) -> Response:
    """Return a page of incidents."""
    from ...history import Filter

    state = state_of(request)
    history = history_of(state)
    asked = Filter(tenant=caller.tenant, **wanted.model_dump())
    try:
        page = await in_store(state, lambda: history.incidents(asked))
    except ValueError as error:
        raise Problem("invalid", str(error)) from None
    return Response(dumps(page), media_type=JSON)


async def incident(request: Request, id: Id, caller: MayRead) -> Response:  # noqa: A002
    """Return all that is kept of an incident."""
    return Response(dumps(await _stored(request, id, caller)), media_type=JSON)


async def pack(
    request: Request,
    id: Id,  # noqa: A002
    caller: MayRead,
    budget: Annotated[Budget, fastapi.Query()] = BUDGET,
    candidates: Annotated[Candidates, fastapi.Query()] = True,
) -> Response:
    """Return the evidence pack of an incident: as JSON, as text, or with the question (`Accept`); docs/pack.md."""
    media = choose(request.headers.get("accept"), [JSON, PROMPT, "text/plain"])
    made = (await _stored(request, id, caller)).report.pack(budget, candidates=candidates)
    text = dumps(made) if media == JSON else made.prompt() if media == PROMPT else made.text()
    return Response(text, headers={"Vary": "Accept"}, media_type=media)


async def lines(request: Request, id: Id, caller: MayRead, asked: Annotated[Looking, fastapi.Query()]) -> Response:  # noqa: A002
    """Return lines of an incident's log, of those that are kept: by number, or by what they hold."""
    kept = (await _stored(request, id, caller)).report.pack(LARGEST)
    try:
        found = look_in(kept, asked.lines, asked.find, asked.process, asked.budget)
    except InputError as error:
        raise Problem("invalid", str(error)) from None
    return Response(dumps(found), media_type=JSON)


async def _stored(request: Request, id: str, caller: Caller) -> IncidentDetails:  # noqa: A002
    state = state_of(request)
    history = history_of(state)
    stored = await in_store(state, lambda: history.incident(id, tenant=caller.tenant))
    if stored is None:
        raise _none()
    return stored


async def handle(request: Request, id: Id, caller: MayOperate) -> Response:  # noqa: A002
    """Say what is done about an incident: chats are not told of one that is muted, lists show who looks after it."""
    from ...history import Change

    state = state_of(request)
    history = history_of(state)
    if media_type(request) != JSON:
        raise unsupported(JSON)
    asked = parse(Handling, await whole(request, state.settings))
    change = Change(asked.state, asked.muted_until, asked.assignee, caller.name)
    try:
        found = await in_store(state, lambda: history.handle(id, change, tenant=caller.tenant))
    except KeyError:
        raise _none() from None
    except ValueError as error:
        raise Problem("invalid", str(error)) from None
    return Response(dumps(found), media_type=JSON)


async def remove(request: Request, id: Id, caller: MayRemove) -> Response:  # noqa: A002
    """Remove an incident with its report and its feedback."""
    state = state_of(request)
    history = history_of(state)
    if not await in_store(state, lambda: history.remove(id, tenant=caller.tenant)):
        raise _none()
    return Response(status_code=204)


async def stats(request: Request, span: Annotated[Span, fastapi.Query()], caller: MayRead) -> Response:
    """Return how often each bucket was seen, by hour or day (UTC)."""
    state = state_of(request)
    history = history_of(state)
    found = await in_store(
        state, lambda: history.stats(span.since, span.until, span.step, span.service, tenant=caller.tenant)
    )
    total = sum(count.count for item in found for count in item.counts)
    return Response(dumps(Stats(buckets=tuple(found), total=total)), media_type=JSON)


def _none() -> Problem:
    return Problem("not-found", "There is no such incident; it may have been removed, or be too old.")
