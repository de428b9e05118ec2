"""``/auth/…``: the way to the OpenID provider and back; ``/auth/me``: who asks, and what that allows."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from ...wire import Me, dumps
from .. import problems
from ..auth import refuse_other_sites, who
from ..bodies import JSON
from ..keys import Scope
from ..problems import Problem
from ..respond import in_store
from ..sign_in.people import NoEntryError, ProviderError
from ..state import state_of

if TYPE_CHECKING:
    from ..sign_in.sessions import Sessions

LOGIN = "auth/login"
ENDED = "session:"
"""How claims begin that stand for sessions that were ended."""
LONGEST = 1000
"""Characters of a path to come back to."""
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<h1>{title}</h1>
<p>{detail}</p>
<p><a href="{again}">Sign in again</a> · <a href="{home}">Home</a></p>
<p><small>Request {request}</small></p>
</html>
"""
Found = TypeVar("Found")
_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x1f\x7f]*")
_log = logging.getLogger("vllm_triage.http")


def routes() -> APIRouter:
    """Return the endpoints."""
    router = APIRouter()
    router.add_api_route(
        "/auth/me", me, response_model=None, tags=["operations"], summary="Say who asks, and what that allows",
        responses={200: {"model": Me, "description": "Successful Response"}, **problems.responses(401, 403, 429)},
    )  # fmt: skip
    return router


def browser_routes() -> APIRouter:
    """Return the endpoints of a service that has an OpenID provider; for browsers, and in no document."""
    router = APIRouter(prefix="/auth", include_in_schema=False)
    router.add_api_route("/login", login)
    router.add_api_route("/callback", callback)
    router.add_api_route("/logout", logout, methods=["POST"])
    return router


async def me(request: Request) -> Response:
    """Return who asks; where nobody is known, how to become somebody."""
    state = state_of(request)
    sign_in = f"{state.settings.root_path}/{LOGIN}" if state.sessions is not None else None
    try:
        caller = who(request, state)
    except Problem as problem:
        if problem.name != "key-missing":
            raise
        return Response(dumps(Me(sign_in=sign_in)), media_type=JSON)
    scopes = tuple(scope.value for scope in Scope if caller.allows(scope))
    found = Me(name=caller.name, scopes=scopes, tenant=caller.tenant, signed_in=caller.session, sign_in=sign_in)
    return Response(dumps(found), media_type=JSON)


async def login(request: Request, after: str = "/", moved: bool = False) -> Response:
    """Send a browser to the provider."""
    sessions, settings = _sessions(request), state_of(request).settings
    # Nothing but a path of ours: a link that ends elsewhere would carry our name there. What is long fits in no cookie.
    path = after if len(after) <= LONGEST and _PATH.fullmatch(after) else "/"
    if not moved and request.headers.get("host", "") != urlsplit(settings.public_url).netloc:
        # The way back leads there, and the cookie must be there by then. Once: a proxy may have changed the name.
        return RedirectResponse(f"{settings.public_url}/{LOGIN}?{urlencode({'after': path, 'moved': 'true'})}", 303)
    try:
        begun = await _ask(request, lambda: sessions.begin(path))
    except Problem as problem:
        return _told(request, problem)
    response = RedirectResponse(begun.address, 303)
    sessions.keep_way(request, response, begun)
    return response


async def callback(request: Request) -> Response:
    """Take in who comes back from the provider."""
    sessions = _sessions(request)
    try:
        person, after = await _ask(request, lambda: sessions.end(request))
    except Problem as problem:
        response = _told(request, problem)
        if sessions.began_here(request):
            # Whoever was signed in before is not who came back.
            await _end_session(request, response)
        return response
    response = RedirectResponse(state_of(request).settings.public_url + after, 303)
    sessions.keep(request, response, person)
    _log.info("signed in", extra={"person": person.name, "role": person.role.value})
    return response


async def logout(request: Request) -> Response:
    """Forget who is signed in, and end the session for good; say where one signs out of the provider, too."""
    sessions = _sessions(request)
    refuse_other_sites(request)
    response = Response(dumps({"provider": sessions.farewell() or None}), media_type=JSON)
    await _end_session(request, response)
    return response


async def _end_session(request: Request, response: Response) -> None:
    state, sessions = state_of(request), _sessions(request)
    name, seconds = sessions.end_session(request)
    sessions.forget(response)
    history = state.history
    if name and history is not None:
        # Other workers and replicas look there. Where it cannot be written, this one knows.
        with contextlib.suppress(Problem):
            await in_store(state, lambda: history.once(f"{ENDED}{name}", seconds + 60))


async def _ask(request: Request, call: Callable[[], Found]) -> Found:
    """Return what a call that waits for the provider comes to.

    Raises:
        Problem: Sign-in failed.
    """
    state, sessions = state_of(request), _sessions(request)
    state.rate.take(f"address {request.client.host if request.client else ''}")
    try:
        with sessions.places:
            return await asyncio.get_running_loop().run_in_executor(sessions.threads, call)
    except ProviderError as error:
        _log.warning("nobody was signed in", extra={"reason": str(error)})
        if error.away:
            raise Problem(
                "provider-away", f"{str(error)[:1].upper()}{str(error)[1:]}.", {"Retry-After": "10"}
            ) from None
        raise Problem("sign-in-failed", f"{str(error)[:1].upper()}{str(error)[1:]}.") from None
    except NoEntryError as error:
        raise Problem("no-role", f"{error}.") from None


def _told(request: Request, problem: Problem) -> Response:
    """Return the response for a problem: a page for a person, the usual object for anybody else."""
    if "text/html" not in request.headers.get("accept", ""):
        return problems.respond(problem, request.url.path, problems.request_id(request))
    request.scope.setdefault("state", {})["problem"] = problem.name
    root = state_of(request).settings.root_path
    words = {
        "title": problems.TYPES[problem.name][1], "detail": problem.detail, "again": f"{root}/{LOGIN}", "home": f"{root}/",
        "request": problems.request_id(request),
    }  # fmt: skip
    page = PAGE.format(**{name: escape(word) for name, word in words.items()})
    return Response(page, problem.status, problem.headers, "text/html; charset=utf-8")


def _sessions(request: Request) -> Sessions:
    sessions = state_of(request).sessions
    if sessions is None:
        raise Problem("not-found", "Sign-in is not set up here.")
    return sessions
