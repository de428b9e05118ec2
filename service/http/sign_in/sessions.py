"""People who signed in with the OpenID provider: the way there and back, and the session that follows."""

from __future__ import annotations

import hmac
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import Response

from ..limits import Places
from .people import Person, ProviderError, Role
from .provider import Provider
from .settings import OidcSettings
from .tokens import Tokens

UNDER_WAY = 600.0
"""Seconds that a sign-in may take."""
CALLBACK = "/auth/callback"
WAYS = 4
"""Sign-ins that one browser has under way."""
THREADS, WAITING = 4, 32
"""Threads in which the provider is asked, and sign-ins that are under way at once."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that begins."""

    address: str
    """Where the browser goes."""
    token: str
    """What it brings back."""
    cookie: str
    """In which."""


class Sessions:
    """Signs people in, and knows them again.

    Args:
        settings: Of the provider.
        public_url: Where people reach the service.
    """

    def __init__(self, settings: OidcSettings, public_url: str) -> None:
        self._settings = settings
        self._secure = public_url.startswith("https:")
        self._home = public_url + "/"
        self.provider = Provider(settings, public_url + CALLBACK)
        self.threads = ThreadPoolExecutor(THREADS, "sign-in")
        """Where the provider is asked: one that hangs holds up nobody else."""
        self.places = Places(WAITING)
        secret = settings.client_secret.get_secret_value()
        # A session is good here alone, and for as long as the settings that gave it.
        self._people = Tokens(secret, f"session of {public_url} {settings.meaning}")
        self._ways = Tokens(secret, f"sign-in of {public_url} {settings.meaning}")
        self.trouble = ""
        """What was wrong with the provider at the last look; empty where nothing was."""
        self.ended: set[str] = set()
        """Sessions that were ended before their time."""
        # Browsers take a cookie of this name from no other host, and over TLS only.
        prefix = "__Host-" if self._secure else ""
        self._session_cookie, self._way_cookie = f"{prefix}vllm_triage_session", f"{prefix}vllm_triage_sign_in"

    def begin(self, after: str) -> Begun:
        """Return where to sign in; ``after`` is the path to come back to. Waits for the network.

        Raises:
            ProviderError: The provider does not say.
        """
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        token = self._ways.make({"state": state, "nonce": nonce, "verifier": verifier, "after": after}, UNDER_WAY)
        return Begun(self.provider.address(state, nonce, verifier), token, self._way(state))

    def end(self, request: HTTPConnection) -> tuple[Person, str]:
        """Return who comes back from the provider, and the path to go to. Waits for the network.

        Raises:
            ProviderError: It is not proven who that is.
            NoEntryError: That person has no role here.
        """
        way = self._way_of(request)
        if way is None:
            raise ProviderError("the sign-in has taken too long, or was begun in another browser")
        query = request.query_params
        if "code" not in query:
            told = " ".join(filter(None, (query.get("error"), query.get("error_description"))))
            said = "".join(sign for sign in told if sign.isprintable())[:200]
            raise ProviderError(f"the provider let nobody in{': ' * bool(said)}{said}")
        return self.provider.person(query["code"], str(way["nonce"]), str(way["verifier"])), str(way["after"])

    def began_here(self, request: HTTPConnection) -> bool:
        """Return whether who comes back from the provider went there from this browser."""
        return self._way_of(request) is not None

    def _way_of(self, request: HTTPConnection) -> dict[str, Any] | None:
        state = request.query_params.get("state", "")
        way = self._ways.read(request.cookies.get(self._way(state), ""))
        if way is None or not hmac.compare_digest(str(way["state"]).encode(), state.encode()):
            return None
        return way

    def _way(self, state: str) -> str:
        """Return the name of the cookie of a sign-in that is under way: each tab has its own."""
        return f"{self._way_cookie}_{''.join(sign for sign in state[:8] if sign.isascii() and sign.isalnum())}"

    def known(self, request: HTTPConnection) -> Person | None:
        """Return who is signed in."""
        said = self._people.read(request.cookies.get(self._session_cookie, ""))
        if said is None or said.get("role") not in set(Role) or said.get("jti") in self.ended:
            return None
        return Person(str(said["name"]), Role(said["role"]), str(said["tenant"]))

    def end_session(self, request: HTTPConnection) -> tuple[str, float]:
        """End a session here and now; return its id, empty where there is none, and the seconds that it would have lasted."""
        said = self._people.read(request.cookies.get(self._session_cookie, ""))
        if said is None:
            return "", 0.0
        self.ended.add(str(said["jti"]))
        return str(said["jti"]), max(0.0, said["exp"] - time.time())

    def farewell(self) -> str:
        """Return where the browser signs out of the provider, too; empty where it is not to."""
        return self.provider.farewell(self._home)

    def keep_way(self, request: HTTPConnection, response: Response, begun: Begun) -> None:
        """Have the browser keep a sign-in that is under way, beside a few others."""
        older = [name for name in request.cookies if name.startswith(self._way_cookie)]
        for name in older[: max(0, len(older) - WAYS + 1)]:
            self._set(response, name, "", 0)
        self._set(response, begun.cookie, begun.token, UNDER_WAY)

    def keep(self, request: HTTPConnection, response: Response, who: Person) -> None:
        """Have the browser keep the session of a person."""
        seconds = self._settings.session_hours * 3600
        said = {"name": who.name, "role": who.role.value, "tenant": who.tenant, "jti": secrets.token_urlsafe(16)}
        self._set(response, self._session_cookie, self._people.make(said, seconds), seconds)
        self._set(response, self._way(request.query_params.get("state", "")), "", 0)

    def forget(self, response: Response) -> None:
        """Have the browser forget the session."""
        self._set(response, self._session_cookie, "", 0)

    def _set(self, response: Response, name: str, value: str, seconds: float) -> None:
        # Lax: the way back from the provider is a link from another site.
        response.set_cookie(
            name, value, max_age=int(seconds), path="/", secure=self._secure, httponly=True, samesite="lax"
        )
