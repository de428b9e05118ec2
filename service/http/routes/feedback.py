"""``/v1/feedback``: was an answer right? And all that was said, as rows to train with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response, Security
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from ....corpus.store import Corpus
from ...wire import Feedback, dumps
from .. import problems
from ..auth import Allowed, Caller
from ..bodies import JSON, media_type, parse, unsupported, whole
from ..keys import Scope
from ..openapi import NDJSON
from ..problems import Problem, refuse_strange
from ..respond import history_of, in_store
from ..state import state_of

EXAMPLE = {
    "incident": "inc_01K5EXAMPLE0000000000000000", "verdict": "wrong", "bucket": "kv_cache_oom",
    "note": "another process took the memory",
}  # fmt: skip


class Said(BaseModel):
    """What a person says about an answer."""

    model_config = ConfigDict(extra="forbid")

    incident: Annotated[str, Field(max_length=64)]
    verdict: Literal["right", "wrong"]
    bucket: Annotated[str, Field(max_length=100, description="where it was wrong: what it was")] = ""
    cause: Annotated[str, Field(max_length=200, description="the same, finer: bucket/cause")] = ""
    new: Annotated[
        bool, Field(description="the bucket, or cause, is a kind of your own, which nobody has described yet")
    ] = False
    note: Annotated[str, Field(max_length=2000)] = ""


def routes() -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(prefix="/v1/feedback", tags=["history"])
    content = {"schema": {"$ref": "#/components/schemas/Said"}, "example": EXAMPLE}
    router.add_api_route(
        "", say, methods=["POST"], status_code=201, response_model=None, summary="Say whether an answer was right",
        responses={
            201: {"model": Feedback, "description": "It was kept"},
            **problems.responses(401, 403, 404, 408, 413, 415, 422, 429, 503),
        },
        openapi_extra={"requestBody": {"required": True, "content": {JSON: content}}},
    )  # fmt: skip
    router.add_api_route(
        "/export", export, response_model=None, summary="Export what was said, as rows to train with",
        responses={
            200: {"description": "JSON, one row a line", "content": {NDJSON: {"schema": {"type": "string"}}}},
            **problems.responses(401, 403, 404, 422, 429, 503),
        },
    )  # fmt: skip
    return router


async def say(request: Request, caller: Annotated[Caller, Security(Allowed(Scope.FEEDBACK))]) -> Response:
    """Keep what a person says; who says something again replaces it."""
    state = state_of(request)
    history = history_of(state)
    if media_type(request) != JSON:
        raise unsupported(JSON)
    said = parse(Said, await whole(request, state.settings))
    engine = state.desk.engine
    if said.bucket and not said.new:
        refuse_strange("body", "bucket", said.bucket, [*engine.corpus.buckets(), *engine.own_buckets])
    if said.cause and not said.new:
        refuse_strange("body", "cause", said.cause, _causes(engine.corpus))

    def keep() -> Feedback:
        words = said.bucket, said.cause, said.note
        return history.feedback(said.incident, said.verdict, *words, source=caller.name, tenant=caller.tenant)

    try:
        kept = await in_store(state, keep)
    except KeyError:
        raise Problem("not-found", "There is no such incident.") from None
    except ValueError as error:
        raise Problem("invalid", str(error)) from None
    return Response(dumps(kept), 201, media_type=JSON)


def _causes(corpus: Corpus) -> list[str]:
    """Return the ids of all causes, those of your own rule files included."""
    return corpus.causes()


async def export(request: Request, caller: Annotated[Caller, Security(Allowed(Scope.ADMIN))]) -> Response:
    """Return a row for each answer that somebody said something about, oldest first."""
    history = history_of(state_of(request))

    def lines() -> Iterator[bytes]:
        for row in history.export(tenant=caller.tenant):
            yield dumps(row) + b"\n"

    return StreamingResponse(lines(), media_type=NDJSON)
