"""Errors as problem details (RFC 9457): one object with the same fields, whatever went wrong."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette._utils import get_route_path
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from ..refusals import refusals
from ..wire import ProblemDetails, ValueProblem, dumps

MEDIA_TYPE = "application/problem+json"
TYPES = {
    "bad-request": (400, "The request cannot be understood"),
    "bad-encoding": (400, "The body is not what its headers say"),
    "key-missing": (401, "An API key is needed"),
    "key-unknown": (401, "The API key is not known"),
    "scope-missing": (403, "The key or role does not allow this"),
    "sign-in-failed": (403, "Sign-in failed"),
    "no-role": (403, "This person has no role here"),
    "not-local": (403, "Only programs of this machine are answered without a key"),
    "cross-site": (403, "Pages of other sites may not do this"),
    "not-found": (404, "Not found"),
    "no-history": (404, "This service keeps no history"),
    "method-not-allowed": (405, "The method is not allowed here"),
    "not-acceptable": (406, "None of the formats asked for can be made"),
    "head-timeout": (408, "The head of the request is too late"),
    "body-timeout": (408, "The body stopped coming"),
    "body-too-large": (413, "The body is too large"),
    "log-too-large": (413, "The log is too large"),
    "unsupported-media-type": (415, "The body has a form that is not read"),
    "wrong-host": (421, "The service does not answer under this name"),
    "invalid": (422, "The request has a value that is not possible"),
    "not-a-log": (422, "The body is no log"),
    "head-too-large": (431, "The head of the request is too large"),
    "rate-limited": (429, "Too many requests"),
    "internal": (500, "The service made a mistake"),
    "busy": (503, "The service is busy"),
    "provider-away": (503, "The provider that signs people in does not answer"),
    "out-of-time": (503, "The log took too long"),
    "history-unreachable": (503, "The history cannot be reached"),
}
"""Name of every type of problem, with its status and title."""
URN = "urn:vllm-triage:problem:"

_log = logging.getLogger("vllm_triage.http")
_BY_STATUS = {status: name for name, (status, _) in reversed(TYPES.items())} | {408: "body-timeout"}


class Problem(Exception):  # noqa: N818 - the term of RFC 9457
    """A request ends with a problem.

    Args:
        name: A key of ``TYPES``.
        detail: What happened and what to do; never text of a log.
        headers: For the response.
        errors: Each value that is not possible.
        near: Names that may have been meant.
    """

    def __init__(
        self,
        name: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        *,
        errors: Sequence[ValueProblem] | None = None,
        near: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name)
        self.name = name
        self.detail = detail
        self.headers = dict(headers or {})
        self.errors = None if errors is None else tuple(errors)
        self.near = None if near is None else tuple(near)

    @property
    def status(self) -> int:
        """The status code."""
        return TYPES[self.name][0]

    def body(self, path: str, request_id: str) -> ProblemDetails:
        """Return the object that is sent."""
        status, title = TYPES[self.name]
        return ProblemDetails(
            type=URN + self.name,
            title=title,
            status=status,
            detail=self.detail,
            instance=path,
            request_id=request_id,
            errors=self.errors,
            near=self.near,
        )


def busy(seconds: int = 1) -> Problem:
    """Return the problem of a service that has as much to do as it takes on."""
    return Problem("busy", "As many requests as allowed are under way: try again.", {"Retry-After": str(seconds)})


def refuse_strange(place: str, field: str, given: str, known: Iterable[str]) -> None:
    """Refuse a name that there is not; the nearest ones are told. It is not repeated: it may be anything.

    Raises:
        Problem: ``given`` is none of ``known``.
    """
    names = list(known)
    if given in names:
        return
    near = difflib.get_close_matches(given, names, 3, 0.5)
    hint = f"near: {', '.join(near)}" if near else "GET /v1/buckets and /v1/rules list what there is"
    message = f"There is no such {field}; {hint}."
    raise impossible([ValueProblem(place=(place, field), message=message)], near)


def impossible(errors: Sequence[ValueProblem], near: Sequence[str] | None = None) -> Problem:
    """Return the problem of values that are not possible; its words are those of the first."""
    first = errors[0]
    return Problem("invalid", f"{'.'.join(first.place)}: {first.message}", errors=errors, near=near)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says of the problems that a route may end with; some are possible everywhere."""
    return {status: _described(status) for status in sorted({400, 421, 431, 500, *statuses})}


def _described(status: int) -> dict[str, Any]:
    content: dict[str, Any] = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    return {"description": "; ".join(title for code, title in TYPES.values() if code == status), "content": content}


def raw(name: str, detail: str) -> bytes:
    """Return a whole answer for what never became a request."""
    problem = Problem(name, detail)
    body = dumps(problem.body("", ""))
    head = f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
    return f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body


def respond(problem: Problem, path: str, request_id: str) -> Response:
    """Return the response for a problem."""
    return Response(dumps(problem.body(path, request_id)), problem.status, problem.headers, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Answer every error that an application expects with a problem (all others: ``internal``)."""
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def request_id(request: Request) -> str:
    """Return the id of a request."""
    return str(request.scope.get("state", {}).get("request_id", ""))


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - for the type checker: registered for this class
    return _answer(request, error)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    # Neither the value nor its context: they may be a log.
    errors = [ValueProblem(place=place, message=words) for place, words in refusals(error.errors()[:20])]
    if any(item["type"] == "json_invalid" for item in error.errors()):
        return _answer(request, Problem("bad-request", "The body is not JSON."))
    return _answer(request, impossible(errors) if errors else Problem("invalid", "A value is not possible."))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    phrase = HTTPStatus(error.status_code).phrase
    name = _BY_STATUS.get(error.status_code, "bad-request" if error.status_code < 500 else "internal")
    # What our own code says goes before what the framework says of a status.
    told = {404: "No such path.", 405: "See the Allow header."}.get(error.status_code, error.detail)
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods(request)) or headers.get("Allow", "")
    return _answer(request, Problem(name, error.detail if error.detail != phrase else told, headers))


def _methods(request: Request) -> list[str]:
    """Return the methods of all routes of a path: the framework tells those of the first."""
    path = get_route_path(request.scope)
    return sorted(
        {method for route in _routes(request.app) if route.path_regex.match(path) for method in route.methods or ()}
    )


def _routes(router: object) -> Iterator[Route]:
    """Yield the routes of an application or router, those of routers in it included."""
    for route in getattr(router, "routes", ()):
        if isinstance(route, Route):
            yield route
        else:
            # FastAPI keeps what was included as it was.
            yield from _routes(getattr(route, "original_router", None))


def _answer(request: Request, problem: Problem) -> Response:
    # For our log and our figures.
    request.scope.setdefault("state", {})["problem"] = problem.name
    path, id_ = request.url.path, request_id(request)
    kinds = request.headers.get("accept", "")
    if request.method == "GET" and "text/html" in kinds and "application/json" not in kinds:
        from ..web.problem_page import HEADERS, problem_page

        told = problem.body(path, id_)
        page = problem_page(told.status, told.title, told.detail, path)
        return Response(page, told.status, {**problem.headers, **HEADERS}, "text/html; charset=utf-8")
    return respond(problem, path, id_)


def internal(path: str, request_id: str, error: Exception) -> Response:
    """Return the response for an error of our own, and note it in our log.

    By its place alone: messages, values and source lines of a traceback may hold text of a log.
    """
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    _log.error("internal error", extra={"error": type(error).__name__, "place": place})
    return respond(Problem("internal", "Please report it with the request id."), path, request_id)
