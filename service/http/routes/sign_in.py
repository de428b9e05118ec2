"""``/auth/…``: the way to the OpenID provider and back; ``/auth/me``: who asks, and what that allows."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from ...wire import Me, dumps
from .. import problems
from ..auth import refuse_other_sites, who
from ..bodies import JSON
from ..keys import Scope
from ..problems import Problem
from ..sign_in.people import NoEntryError, ProviderError
from ..state import state_of

if TYPE_CHECKING:
    from ..sign_in.sessions import Sessions

LOGIN = "auth/login"
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


async def login(request: Request, after: str = "/") -> Response:
    """Send a browser to the provider."""
    sessions = _sessions(request)
    state_of(request).rate.take(f"address {request.client.host if request.client else ''}")
    # Nothing but a path of ours: a link that ends elsewhere would carry our name there.
    path = after if _PATH.fullmatch(after) else "/"
    try:
        begun = await asyncio.to_thread(sessions.begin, path)
    except ProviderError as error:
        raise _failed(error) from None
    response = RedirectResponse(begun.address, 303)
    sessions.keep_way(response, begun)
    return response


async def callback(request: Request) -> Response:
    """Take in who comes back from the provider."""
    sessions = _sessions(request)
    state_of(request).rate.take(f"address {request.client.host if request.client else ''}")
    try:
        person, after = await asyncio.to_thread(sessions.end, request)
    except ProviderError as error:
        raise _failed(error) from None
    except NoEntryError as error:
        raise Problem("no-role", f"{error}.") from None
    response = RedirectResponse(state_of(request).settings.public_url + after, 303)
    sessions.keep(response, person)
    _log.info("signed in", extra={"person": person.name, "role": person.role.value})
    return response


async def logout(request: Request) -> Response:
    """Forget who is signed in."""
    sessions = _sessions(request)
    refuse_other_sites(request)
    response = Response(status_code=204)
    sessions.forget(response)
    return response


def _sessions(request: Request) -> Sessions:
    sessions = state_of(request).sessions
    if sessions is None:
        raise Problem("not-found", "Nobody signs in here.")
    return sessions


def _failed(error: ProviderError) -> Problem:
    _log.warning("nobody was signed in", extra={"reason": str(error)})
    return Problem("sign-in-failed", f"Nobody was signed in: {error}. Try again.")
