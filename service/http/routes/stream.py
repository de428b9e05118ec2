"""``POST /v1/triage/stream``: the log comes in, and while it does, what is known of it goes out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Annotated

import fastapi
from fastapi import APIRouter, Request, Response, Security
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from ...wire import dumps
from .. import problems
from ..auth import Allowed, Caller
from ..keys import Scope as KeyScope
from ..negotiation import choose
from ..openapi import EVENTS, NDJSON, RAW_BODY, SSE
from ..problems import Problem
from ..request import Asked, Query
from ..respond import finish, note
from ..state import State, state_of
from .triage import POSTING, Once, log_of


def routes() -> APIRouter:
    """Return the endpoint."""
    router = APIRouter(prefix="/v1/triage", tags=["triage"])
    router.add_api_route(
        "/stream", stream, methods=["POST"], response_model=None, responses={200: EVENTS, **POSTING},
        openapi_extra={"requestBody": RAW_BODY}, summary="Follow a log while it is written",
    )  # fmt: skip
    return router


async def stream(
    request: Request,
    query: Annotated[Query, fastapi.Query()],
    caller: Annotated[Caller, Security(Allowed(KeyScope.TRIAGE))],
    idempotency_key: Once = "",
) -> Response:
    """Read a log as it comes (`vllm serve … 2>&1 | curl -sNT - URL`) and tell about it all the way.

    Events are `progress` (lines and bytes read, stage of the start reached), `verdict` (the report so far, whenever bucket
    or cause change), and at the end `report` (as of POST /v1/triage) or `problem`.
    """
    media = choose(request.headers.get("accept"), [NDJSON, SSE])
    return _Events(request, media, Asked(query, tenant=caller.tenant, caller=caller.id, once=idempotency_key))


class _Events(Response):
    """Reads the body and writes the answer at the same time."""

    def __init__(self, request: Request, media: str, asked: Asked) -> None:
        super().__init__(media_type=media)
        self._request = request
        self._asked = asked
        self._send: Send | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - the request has it
        """Answer."""
        state = state_of(self._request)
        with state.pools.watchers:
            # What is wrong with the head of a request is told by the status; what comes up later by an event.
            pieces = log_of(self._request, state, self._asked, 2 * state.settings.stream_seconds)
            first = await anext(pieces, b"")
            if not first:
                raise Problem("not-a-log", "The log is empty.")
            headers = [*self.raw_headers, (b"x-accel-buffering", b"no")]
            headers = [(name, value) for name, value in headers if name != b"content-length"]
            await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
            self._send = send
            try:
                async with _enough(state) as enough:
                    answer = await state.desk.stream(_with(first, pieces), self._asked.job, self._tell, enough)
                report = await finish(state, answer.report, self._asked)
                note(self._request, report)
                await self._event("report", {"report": report})
            except Problem as problem:
                body = problem.body(self._request.url.path, problems.request_id(self._request))
                self._request.scope["state"]["problem"] = problem.name
                await self._event("problem", {"problem": body})
            with contextlib.suppress(ClientDisconnect):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, kind: str, value: dict[str, object]) -> None:
        await self._event(kind, {"report": value} if kind == "verdict" else value)

    async def _event(self, kind: str, told: dict[str, object]) -> None:
        assert self._send is not None  # noqa: S101 - events come after the head
        line = dumps({"event": kind, **told})
        data = b"event: " + kind.encode() + b"\ndata: " + line + b"\n\n" if self.media_type == SSE else line + b"\n"
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


@contextlib.asynccontextmanager
async def _enough(state: State) -> AsyncIterator[asyncio.Event]:
    """Give an event that is set when a log has gone on for long enough, or the service is about to end."""
    enough = asyncio.Event()

    async def wait() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(state.settings.stream_seconds):
                await state.draining.wait()
        enough.set()

    waiting = asyncio.create_task(wait())
    try:
        yield enough
    finally:
        waiting.cancel()


async def _with(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if first:
        yield first
    async for piece in rest:
        yield piece
