"""Who asks: the key that a request brings, or where it comes from; and what it may do."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from .keys import Scope, find_key
from .problems import Problem
from .sign_in.people import SCOPES, NoEntryError, Person, told_by_proxy
from .state import State, state_of

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="vllm-triage"'}
ADDRESSES = ("x-forwarded-for", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip")
"""Headers in which proxies name the client."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks."""

    name: str
    """Of the key; empty without."""
    address: str
    """As the server sees it, or a trusted proxy told it."""
    tenant: str = ""
    """Whose incidents are written and seen."""
    scopes: frozenset[Scope] = frozenset(Scope)
    """What is allowed."""
    kind: str = "key"
    """``key``, ``role``, or nothing where neither is needed."""
    session: bool = False
    """Whether a session says who it is."""

    def allows(self, scope: Scope) -> bool:
        """Return whether a scope is allowed."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    @property
    def id(self) -> str:
        """What a rate is counted for."""
        return f"{self.kind} {self.name}@{self.tenant}" if self.name else f"address {self.address}"


class Allowed(SecurityBase):
    """A dependency: lets in who has a scope, counts the request, and returns the caller."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.model = HTTPBearer(
            description="an API key of the service (`vllm-triage serve --make-key`); X-API-Key takes it too"
        )
        self.scheme_name = "key"

    async def __call__(self, request: Request) -> Caller:
        """Return who asks.

        Raises:
            Problem: No key, a wrong one, one without the scope, a page of another site, or too many requests.
        """
        state = state_of(request)
        caller = who(request, state)
        if not caller.allows(self.scope):
            text = f"The {caller.kind} of {caller.name} lacks the scope {self.scope}."
            raise Problem("scope-missing", text)
        request.scope["state"]["caller"] = caller.name
        request.scope["state"]["headers"] = state.rate.take(caller.id)
        return caller


def who(request: Request, state: State) -> Caller:
    """Return who asks: by key, as the proxy in front says, by session; else anybody, where that is allowed.

    Raises:
        Problem: A wrong key, nobody where somebody is needed, or a page of another site.
    """
    address = request.client.host if request.client else ""
    if given := _given(request.headers):
        key = find_key(state.keys, given)
        if key is None:
            # Also where none is needed: who sends a key expects it to count. Guesses are counted.
            state.rate.take(f"address {address}")
            raise Problem("key-unknown", "The key is not, or no longer, known here.", CHALLENGE)
        return Caller(key.name, address, key.tenant, key.scopes)
    person, session = _person(request, state)
    if person is not None:
        # Browsers send cookies, and go through proxies, for any page that asks them to.
        refuse_other_sites(request)
        return Caller(person.name, address, person.tenant, SCOPES[person.role], "role", session)
    if state.settings.needs_key:
        text = "Send an API key: Authorization: Bearer KEY, or X-API-Key: KEY."
        if state.sessions is not None:
            text += " People sign in at /auth/login."
        raise Problem("key-missing", text, CHALLENGE)
    if state.settings.strictly_local:
        _refuse_other_machines(request)
    refuse_other_sites(request)
    return Caller("", address, kind="")


def _person(request: Request, state: State) -> tuple[Person | None, bool]:
    """Return who is signed in, and whether a session says so."""
    try:
        if state.settings.proxy is not None and (told := told_by_proxy(request, state.settings.proxy)) is not None:
            return told, False
    except NoEntryError as error:
        raise Problem("no-role", f"{error}.") from None
    return (state.sessions.known(request), True) if state.sessions is not None else (None, False)


def _given(headers: Mapping[str, str]) -> str:
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and value.strip():
        return value.strip()
    return headers.get("x-api-key", "").strip()


def _refuse_other_machines(request: Request) -> None:
    """Refuse what a proxy on this machine forwards for somebody who is not: without keys all are let in, and nobody meant them."""
    headers = request.headers
    told = [part.strip() for name in ADDRESSES for value in headers.getlist(name) for part in value.split(",")]
    told += [
        part.partition("=")[2].strip(' "')
        for value in headers.getlist("forwarded")
        for part in re.split("[,;]", value)
        if part.strip().lower().startswith("for=")
    ]
    if "via" in headers or any(not _is_here(address) for address in told if address):
        text = (
            "The request came through a proxy, for another machine. Set API keys (vllm-triage serve --make-key NAME), or "
            "require_key = no to let in whoever the proxy lets in."
        )
        raise Problem("not-local", text)


def _is_here(address: str) -> bool:
    bare = re.sub(r"^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$", lambda found: found[1] or found[2], address)
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return bare.lower() == "localhost"


def refuse_other_sites(request: Request) -> None:
    """Refuse what a page of another site makes a browser send, where it is no key that lets in.

    Raises:
        Problem: It is such a request.
    """
    origin = request.headers.get("origin", "")
    settings = state_of(request).settings
    if request.method in SAFE or not origin or origin in settings.cors_origins:
        return
    theirs, public = urlsplit(origin), urlsplit(settings.public_url)
    if theirs.netloc == public.netloc:
        own = theirs.scheme == public.scheme
    else:
        # A proxy may speak TLS with them, and not with us.
        own = theirs.scheme in ("http", "https") and theirs.netloc == request.headers.get("host", "")
    if not (theirs.netloc and own):
        raise Problem("cross-site", "Name the page's origin in cors_origins to let it in.")
