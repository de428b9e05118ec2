"""People who signed in with the OpenID provider: the way there and back, and the session that follows."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.responses import Response

from .people import Person, ProviderError, Role
from .provider import Provider
from .settings import OidcSettings
from .tokens import Tokens

UNDER_WAY = 600.0
"""Seconds that a sign-in may take."""
CALLBACK = "/auth/callback"


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that begins."""

    address: str
    """Where the browser goes."""
    token: str
    """What it brings back."""


class Sessions:
    """Signs people in, and knows them again.

    Args:
        settings: Of the provider.
        public_url: Where people reach the service.
    """

    def __init__(self, settings: OidcSettings, public_url: str) -> None:
        self._settings = settings
        self._secure = public_url.startswith("https:")
        self._provider = Provider(settings, public_url + CALLBACK)
        secret = settings.client_secret.get_secret_value()
        self._people = Tokens(secret, "session")
        self._ways = Tokens(secret, "sign-in")
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
        return Begun(self._provider.address(state, nonce, verifier), token)

    def end(self, request: HTTPConnection) -> tuple[Person, str]:
        """Return who comes back from the provider, and the path to go to. Waits for the network.

        Raises:
            ProviderError: It is not proven who that is.
            NoEntryError: That person has no role here.
        """
        way = self._ways.read(request.cookies.get(self._way_cookie, ""))
        query = request.query_params
        if way is None or not hmac.compare_digest(str(way["state"]), query.get("state", "")):
            raise ProviderError("the sign-in has taken too long, or was begun in another browser")
        if "code" not in query:
            raise ProviderError("the provider let nobody in")
        return self._provider.person(query["code"], str(way["nonce"]), str(way["verifier"])), str(way["after"])

    def known(self, request: HTTPConnection) -> Person | None:
        """Return who is signed in."""
        said = self._people.read(request.cookies.get(self._session_cookie, ""))
        if said is None or said.get("role") not in set(Role):
            return None
        return Person(str(said["name"]), Role(said["role"]), str(said["tenant"]))

    def keep_way(self, response: Response, begun: Begun) -> None:
        """Have the browser keep a sign-in that is under way."""
        self._set(response, self._way_cookie, begun.token, UNDER_WAY)

    def keep(self, response: Response, who: Person) -> None:
        """Have the browser keep the session of a person."""
        seconds = self._settings.session_hours * 3600
        token = self._people.make({"name": who.name, "role": who.role.value, "tenant": who.tenant}, seconds)
        self._set(response, self._session_cookie, token, seconds)
        self._set(response, self._way_cookie, "", 0)

    def forget(self, response: Response) -> None:
        """Have the browser forget the session."""
        self._set(response, self._session_cookie, "", 0)

    def _set(self, response: Response, name: str, value: str, seconds: float) -> None:
        # Lax: the way back from the provider is a link from another site.
        response.set_cookie(
            name, value, max_age=int(seconds), path="/", secure=self._secure, httponly=True, samesite="lax"
        )
