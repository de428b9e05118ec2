"""``POST /v1/render``: a report that was answered before, in another format."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Request, Response, Security

from ....classifier.errors import InputError
from ....classifier.report.model import Report
from ...render.interface import Options, Result, load
from .. import problems
from ..auth import Allowed, Caller
from ..bodies import JSON, media_type, unsupported, whole
from ..keys import Scope
from ..negotiation import choose
from ..openapi import texts
from ..problems import Problem
from ..respond import JSON_TYPE, forms
from ..state import state_of
from ..work.jobs import TEXT_WIDTH


def routes() -> APIRouter:
    """Return the endpoint."""
    router = APIRouter(prefix="/v1/render", tags=["triage"])
    body = {"schema": {"$ref": "#/components/schemas/Report"}}
    router.add_api_route(
        "", render, methods=["POST"], response_model=None, summary="Put a report into another format",
        responses={
            200: {"description": "The report in the format that Accept asks for", "content": texts()},
            **problems.responses(401, 403, 406, 408, 413, 415, 422, 429, 503),
        },
        openapi_extra={"requestBody": {"required": True, "content": {JSON: body}}},
    )  # fmt: skip
    return router


async def render(request: Request, _caller: Annotated[Caller, Security(Allowed(Scope.TRIAGE))]) -> Response:
    """Return a report, as `POST /v1/triage` or `GET /v1/incidents/{id}` gave it, as Markdown, plain text or SARIF."""
    state = state_of(request)
    media = choose(request.headers.get("accept"), [kind for kind in forms() if kind != JSON_TYPE])
    if media_type(request) != JSON:
        raise unsupported(JSON)
    try:
        report = Report.from_json(await whole(request, state.settings))
    except InputError as error:
        raise Problem("invalid", f"body: {error}") from None
    form = load(forms()[media])
    shape = Options(verbose=form.COMPLETE, color="never", width=TEXT_WIDTH)
    with state.pools.people:
        text = await asyncio.to_thread(form.render, [Result("-", report)], shape)
    return Response(text.encode("utf-8", "replace"), headers={"Vary": "Accept"}, media_type=media)
