"""Logs from collectors: an endpoint for each protocol of ``service/collect/protocols``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Request, Response, Security

from ....classifier.errors import InputError
from ...collect.collector import FullError
from ...collect.entries import StreamName, gathered
from ...collect.registry import FormError, Protocol, load, names
from ...collect.streams import Verdict
from .. import problems
from ..auth import Allowed, Caller
from ..bodies import media_type, unsupported, whole
from ..keys import Scope
from ..problems import Problem, busy
from ..request import Asked, Query, file_name, label
from ..respond import finish
from ..state import State, state_of

PACKED = ("snappy",)
"""Encodings that a protocol unpacks itself."""
_log = logging.getLogger("vllm_triage.collect")


def routes() -> APIRouter:
    """Return the endpoints.

    Raises:
        ModuleNotFoundError: What a protocol is read with is not installed.
    """
    router = APIRouter(tags=["collect"])
    for name in names():
        protocol = load(name)
        router.add_api_route(
            protocol.PATH, _endpoint(name, protocol), methods=["POST"], status_code=protocol.STATUS, response_model=None,
            summary=f"Take logs from {protocol.ABOUT.replace('`', '')}", name=name,
            responses=problems.responses(400, 401, 403, 408, 413, 415, 422, 429, 503), include_in_schema=False,
        )  # fmt: skip
    return router


def _endpoint(name: str, protocol: Protocol) -> Callable[..., Awaitable[Response]]:
    async def take(request: Request, caller: Annotated[Caller, Security(Allowed(Scope.TRIAGE))]) -> Response:
        state = state_of(request)
        kind = media_type(request) or protocol.TYPES[0]
        if kind not in protocol.TYPES:
            raise unsupported(*protocol.TYPES)
        body = await whole(request, state.settings, PACKED)
        query, most = dict(request.query_params), state.settings.max_json

        def read() -> dict[StreamName, bytes]:
            return gathered(protocol.read(body, kind, query, most), caller.tenant)

        try:
            found = await asyncio.to_thread(read)
        except FormError as error:
            raise Problem("invalid", f"{str(error)[:1].upper()}{str(error)[1:]}.") from None
        assert state.collector is not None  # noqa: S101 - the routes are there with it alone
        try:
            if found:
                state.collector.put(found)
        except FullError:
            raise busy() from None
        state.metrics.collected.labels(name).inc(sum(data.count(b"\n") for data in found.values()))
        headers = {} if protocol.STATUS == 204 else {"Content-Type": kind}
        return Response(protocol.reply(kind) or None, protocol.STATUS, headers)

    return take


def teller(state: State) -> Callable[[Verdict], Awaitable[None]]:
    """Return what keeps the verdicts of streams and tells the chats."""

    async def tell(verdict: Verdict) -> None:
        stream, report = verdict.stream, verdict.report
        told = {"kind": verdict.kind, "cause": report.cause, "stream": stream.log, "service": stream.label}
        _log.info("verdict of a stream", extra=told)
        if verdict.kind == "withdrawn":
            return
        query = Query(service=label(stream.label), name=file_name(stream.log.replace("/", ".")))
        asked = Asked(query, tenant=stream.tenant)
        try:
            await finish(state, report, asked)
        except (InputError, Problem) as error:
            _log.error("the verdict of a stream was not kept", extra={"reason": str(error)})

    return tell
