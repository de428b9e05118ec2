"""``GET /v1/messages``: what waits to be told, or to be read, and what could not be delivered."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from ...wire import MessageLane, Messages, dumps
from ..bodies import JSON
from ..respond import history_of, in_store
from ..state import State, state_of
from .incidents import MayRead, said


def routes() -> APIRouter:
    """Return the endpoint."""
    router = APIRouter(prefix="/v1", tags=["history"])
    router.add_api_route(
        "/messages", messages, response_model=None, responses=said(Messages), summary="Say what waits to be delivered"
    )
    return router


async def messages(request: Request, caller: MayRead) -> Response:
    """Return what waits in the outbox for each chat and webhook, and for the reading of alerts; nothing for a tenant."""
    found = await lanes(state_of(request))
    return Response(dumps(Messages(lanes=() if caller.tenant else found)), media_type=JSON)


async def lanes(state: State) -> tuple[MessageLane, ...]:
    """Return the lanes of the outbox.

    Raises:
        Problem: There is no history, or it cannot be reached.
    """
    found = await in_store(state, history_of(state).outbox.figures)
    return tuple(
        MessageLane(target=lane.lane, waiting=lane.waiting, since=lane.since, failed=lane.failed, reason=lane.reason)
        for lane in found
    )
