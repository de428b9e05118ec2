"""``POST /v1/triage`` and ``/v1/triage/batch``: a log in, the answer out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import fastapi
from fastapi import APIRouter, Request, Response, Security

from ....classifier.input.read import utf8
from ...wire import BatchAnswer, BatchItem, dumps
from .. import problems
from ..auth import Allowed, Caller
from ..bodies import CLOSE, JSON, MULTIPART, RAW, arriving, media_type, parse, raw, unsupported, whole
from ..disconnect import cancel_on_disconnect
from ..keys import Scope
from ..multipart import Form
from ..negotiation import choose
from ..openapi import ANSWERS, body
from ..problems import Problem
from ..request import Asked, Batch, Log, LogFields, Query, fields_of
from ..respond import finish, forms, note, respond
from ..state import State, state_of

POSTING = problems.responses(401, 403, 406, 408, 413, 415, 422, 429, 503)
MAY_TRIAGE = Allowed(Scope.TRIAGE)
Asking = Annotated[Query, fastapi.Query()]
May = Annotated[Caller, Security(MAY_TRIAGE)]
Once = Annotated[
    str,
    fastapi.Header(
        max_length=255, description="the same for every try to send one log, or batch: it counts once within a day"
    ),
]


def routes() -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(prefix="/v1/triage", tags=["triage"])
    router.add_api_route(
        "", triage, methods=["POST"], response_model=None, responses={200: ANSWERS, **POSTING},
        openapi_extra={"requestBody": body(Log)}, summary="Name the root cause of a log",
    )  # fmt: skip
    router.add_api_route(
        "/batch", batch, methods=["POST"], response_model=None,
        responses={200: {"model": BatchAnswer, "description": "An answer or a problem for each log, in order"}, **POSTING},
        openapi_extra={"requestBody": body(Batch)}, summary="The same for several logs",
    )  # fmt: skip
    return router


async def triage(request: Request, query: Asking, caller: May, idempotency_key: Once = "") -> Response:
    """Read a log; answer with the root cause, the lines that prove it, and the fixes, best first.

    The log is the body as it is (any of the raw types; gzip and zstd are recognised, with or without Content-Encoding), the
    field `log` of a JSON object, or the first file of a form. `Accept` chooses the format of the answer.
    """
    state = state_of(request)
    media = choose(request.headers.get("accept"), list(forms()))
    asked = Asked(query, forms()[media], caller.tenant, caller.id, idempotency_key)
    answer = await cancel_on_disconnect(
        request, state.desk.triage(log_of(request, state, asked), asked.job, asked.caller)
    )
    report = await finish(state, answer.report, asked)
    return respond(request, media, answer.text, report)


async def log_of(request: Request, state: State, asked: Asked, patience: float = 0) -> AsyncIterator[bytes]:
    """Yield the log of a request; what comes along with it is added to ``asked``.

    Args:
        request: Whose log.
        state: For the limits.
        asked: What is asked about it.
        patience: Seconds that a raw log may pause, where that is not what the settings say.
    """
    kind = media_type(request)
    if kind in RAW:
        async for piece in raw(request, state.settings, patience):
            yield piece
            del piece
    elif kind == JSON:
        log = parse(Log, await whole(request, state.settings))
        asked.add(log)
        yield utf8(log.log)
    elif kind == MULTIPART:
        async for piece in _file_of(Form(request, state.settings), asked):
            yield piece
    else:
        raise unsupported("text/plain", "application/octet-stream", JSON, MULTIPART)


async def _file_of(form: Form, asked: Asked) -> AsyncIterator[bytes]:
    values: dict[str, str] = {}
    found = False
    async for part in form.parts():
        if part.name in LogFields.model_fields:
            if found and part.name == "engine":
                raise Problem("invalid", "The field engine goes before the file.", CLOSE)
            values[part.name] = await form.text()
        elif not found and (part.file_name is not None or part.name in ("file", "log")):
            found = True
            asked.add(_fields({"name": (part.file_name or "")[-200:]}))
            asked.add(_fields(values))
            async for piece in form.content():
                yield piece
        else:
            raise Problem("invalid", f"A form has one file and the fields {', '.join(LogFields.model_fields)}.")
    if not found:
        raise Problem("invalid", "The form has no file: name it `file`.")
    asked.add(_fields(values))


def _fields(values: dict[str, str]) -> LogFields:
    return parse(LogFields, dumps(fields_of(values)))


async def batch(request: Request, query: Asking, caller: May, idempotency_key: Once = "") -> Response:
    """Answer several logs, one after the other; a log that cannot be answered does not keep the others from it."""
    state = state_of(request)
    kind = media_type(request)
    if kind not in (JSON, MULTIPART):
        await _drop(request, state)
    answers = _of_json if kind == JSON else _of_form
    asked = Asked(query, tenant=caller.tenant, caller=caller.id, once=idempotency_key)
    results = await cancel_on_disconnect(request, answers(request, state, asked))
    return Response(dumps(BatchAnswer(results=tuple(results))), media_type=JSON)


async def _of_json(request: Request, state: State, asked: Asked) -> list[BatchItem]:
    logs = parse(Batch, await whole(request, state.settings)).logs
    _not_too_many(len(logs), state)
    return [await _one(request, state, asked.fresh(log, at), _text(log.log)) for at, log in enumerate(logs)]


async def _of_form(request: Request, state: State, asked: Asked) -> list[BatchItem]:
    results: list[BatchItem] = []
    form = Form(request, state.settings)
    async for part in form.parts():
        _not_too_many(len(results) + 1, state)
        one = asked.fresh(_fields({"name": (part.file_name or part.name)[-200:]}), len(results))
        results.append(await _one(request, state, one, form.content()))
    return results


async def _drop(request: Request, state: State) -> None:
    async for _ in arriving(request, state.settings):
        break
    raise unsupported(JSON, MULTIPART)


async def _text(log: str) -> AsyncIterator[bytes]:
    yield utf8(log)


def _not_too_many(count: int, state: State) -> None:
    if count > state.settings.max_batch:
        raise Problem("log-too-large", f"A batch may have {state.settings.max_batch} logs.")


async def _one(request: Request, state: State, asked: Asked, log: AsyncIterator[bytes]) -> BatchItem:
    try:
        answer = await state.desk.triage(log, asked.job, asked.caller)
        report = await finish(state, answer.report, asked)
    except Problem as problem:
        if problem.name not in ("not-a-log", "log-too-large", "invalid"):
            raise
        body = problem.body(request.url.path, problems.request_id(request))
        return BatchItem(name=asked.name, problem=body)
    note(request, report)
    return BatchItem(name=asked.name, report=report)
