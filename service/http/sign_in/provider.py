"""The OpenID provider from our side: what it says of itself, the code for an ID token, the token's proof.

Authorization code flow with PKCE (RFC 7636); what an ID token must hold is checked by Authlib, its signature by joserfc.
"""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from ...chat.http_out import ask
from ...chat.interface import RetryError, UndeliverableError
from .people import AwayError, NoEntryError, Person, ProviderError, person
from .settings import OidcSettings

TIMEOUT = 5.0
"""Seconds for each question to the provider."""
REMEMBERED = 3600.0
"""Seconds for which its configuration and its keys are taken as they are."""
AGAIN = 5.0
"""Seconds between two looks for keys that are not known."""
LEEWAY = 60
"""Seconds by which its clock may differ from ours."""
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""Signatures with a public key: a secret that both know proves nothing to a third."""
AWAY = 10.0
"""Seconds for which a provider that could not be asked is taken to be away: nobody waits for it meanwhile."""
_LARGEST = 1 << 20
"""Bytes of a provider's answer."""


class Provider:
    """One OpenID provider. Its methods wait for the network."""

    def __init__(self, settings: OidcSettings, redirect: str) -> None:
        self._settings = settings
        self._redirect = redirect
        self._lock = threading.Lock()
        self._known: dict[str, Any] = {}
        self._keys: KeySet | None = None
        self._read_at = self._keys_at = self._failed_at = float("-inf")
        self._reading = threading.Lock()

    def address(self, state: str, nonce: str, verifier: str) -> str:
        """Return where a browser goes to sign in.

        Raises:
            ProviderError: The provider does not say.
        """
        asked = {
            "response_type": "code", "client_id": self._settings.client_id, "redirect_uri": self._redirect,
            "scope": " ".join(self._settings.scopes), "state": state, "nonce": nonce,
            "code_challenge": create_s256_code_challenge(verifier), "code_challenge_method": "S256",
        }  # fmt: skip
        where = self._endpoint("authorization_endpoint")
        return f"{where}{'&' if '?' in where else '?'}{urlencode(asked)}"

    def person(self, code: str, nonce: str, verifier: str) -> Person:
        """Return who has signed in.

        Raises:
            ProviderError: The provider says nothing that proves it.
            NoEntryError: That person has no role here.
        """
        told = self._tokens(code, verifier)
        claims = self._claims(str(told.get("id_token", "")), nonce, str(told.get("access_token", "")))
        settings = self._settings
        wanted = {settings.groups_claim, settings.name_claim, settings.tenant_claim} - {"", "sub"}
        said = {name: claims.get(name) for name in ("sub", "email_verified", *wanted)}
        if any(said[name] is None for name in wanted):
            # OpenID Core 5.4: what the scopes ask for may be told there alone.
            said |= self._user_info(str(told.get("access_token", "")), str(said["sub"]), wanted)
        groups, name = said[settings.groups_claim], said[settings.name_claim]
        if settings.name_claim == "email" and said["email_verified"] is False:
            name = None
        tenant = said[settings.tenant_claim] if settings.tenant_claim else ""
        if settings.tenant_claim and not (tenant and isinstance(tenant, str)):
            # Without one they would see what belongs to none.
            raise ProviderError(f"neither the ID token nor UserInfo has a claim {settings.tenant_claim}")
        mine = (
            [groups]
            if isinstance(groups, str)
            else [str(group) for group in groups]
            if isinstance(groups, list)
            else []
        )
        try:
            return person(name if name and isinstance(name, str) else str(said["sub"]), mine, str(tenant), settings)
        except NoEntryError as error:
            if groups is None:
                told_of = f"neither the ID token nor UserInfo has a claim {settings.groups_claim} (settings groups_claim, scopes)"
                raise NoEntryError(f"{error}: {told_of}") from None
            raise

    def look(self) -> str:
        """Return what is wrong with the provider as it is now; empty where it answers, and has what is needed."""
        try:
            with self._reading:
                self._read()
            for name in ("authorization_endpoint", "token_endpoint"):
                self._endpoint(name)
            self._key_set()
        except ProviderError as error:
            return str(error)
        return ""

    def farewell(self, back: str) -> str:
        """Return where a browser ends its session at the provider, and comes back from; empty where there is no such place."""
        where = self._known.get("end_session_endpoint")
        if not (self._settings.provider_logout and isinstance(where, str)):
            return ""
        asked = urlencode({"client_id": self._settings.client_id, "post_logout_redirect_uri": back})
        return f"{where}{'&' if '?' in where else '?'}{asked}"

    def _user_info(self, access_token: str, sub: str, wanted: Collection[str]) -> dict[str, Any]:
        """Return the claims that UserInfo has and that are wanted; none where there is no such place."""
        where = self._configuration().get("userinfo_endpoint")
        if not (isinstance(where, str) and access_token.isascii()):
            return {}
        found = self._ask("GET", where, headers={"Authorization": f"Bearer {access_token}"})
        if found.get("sub") != sub:
            raise ProviderError("UserInfo tells of somebody else")
        return {name: found[name] for name in (*wanted, "email_verified") if found.get(name) is not None}

    def _tokens(self, code: str, verifier: str) -> dict[str, Any]:
        settings = self._settings
        body = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect,
            "code_verifier": verifier,
        }
        pair = f"{quote(settings.client_id, safe='')}:{quote(settings.client_secret.get_secret_value(), safe='')}"
        headers = {
            "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self._ask("POST", self._endpoint("token_endpoint"), urlencode(body).encode(), headers)

    def _claims(self, token: str, nonce: str, access_token: str) -> CodeIDToken:
        settings = self._settings
        options = {
            "iss": {"essential": True, "value": self._configuration().get("issuer")},
            "aud": {"essential": True, "value": settings.client_id},
        }
        params = {"nonce": nonce, "client_id": settings.client_id, "access_token": access_token}
        try:
            proven = self._proven(token)
            claims = CodeIDToken(proven.claims, proven.header, options, params)
            claims.validate(leeway=LEEWAY)
        except (JoseError, ValueError, KeyError) as error:
            claim = str(getattr(error, "claim", "") or getattr(error, "claim_name", ""))
            hint = (
                ": do the clocks differ?" if claim in ("exp", "iat", "nbf") or "Expired" in type(error).__name__ else ""
            )
            raise ProviderError(
                f"the ID token is not accepted: {type(error).__name__} {claim}".rstrip() + hint
            ) from None
        return claims

    def _proven(self, token: str) -> jwt.Token:
        try:
            return jwt.decode(token, self._key_set(), algorithms=ALGORITHMS)
        except (JoseError, ValueError):
            # A key that is not known: the provider may have changed its keys.
            if time.monotonic() - self._keys_at < AGAIN:
                raise
            return jwt.decode(token, self._key_set(anew=True), algorithms=ALGORITHMS)

    def _key_set(self, *, anew: bool = False) -> KeySet:
        with self._lock:
            keys = self._keys
            if keys is None or anew or time.monotonic() - self._keys_at > REMEMBERED:
                keys = _read_keys(self._ask("GET", self._endpoint("jwks_uri")))
                self._keys, self._keys_at = keys, time.monotonic()
        return keys

    def _endpoint(self, name: str) -> str:
        found = self._configuration().get(name)
        if not isinstance(found, str):
            raise ProviderError(f"the provider names no {name}")
        return found

    def _configuration(self) -> Mapping[str, Any]:
        # One asks for all; the others wait for it, or are told what it was told.
        with self._reading:
            if not self._known or time.monotonic() - self._read_at > REMEMBERED:
                self._read()
            return self._known

    def _read(self) -> None:
        known = self._ask("GET", f"{self._settings.issuer}/.well-known/openid-configuration")
        if str(known.get("issuer", "")).rstrip("/") != self._settings.issuer:
            raise ProviderError("the provider calls itself otherwise than the setting issuer")
        self._known, self._read_at = known, time.monotonic()

    def _ask(
        self, method: str, url: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        if url.startswith("http:") and not self._settings.issuer.startswith("http:"):
            raise ProviderError("the provider names an address without TLS")
        if time.monotonic() - self._failed_at < AWAY:
            raise AwayError("the provider could not be reached a moment ago")
        try:
            answer = ask(
                method, url, body, {"Accept": "application/json", **(headers or {})}, timeout=TIMEOUT, most=_LARGEST
            )
        except (RetryError, UndeliverableError) as error:
            self._failed_at = time.monotonic()
            raise AwayError(f"the provider cannot be reached: {error}") from None
        except ValueError:
            raise ProviderError("the provider names an address that is none") from None
        if answer.status != 200:
            raise ProviderError(f"the provider answered {answer.status}")
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ProviderError("the provider answered what is not JSON object")
        return found


def _read_keys(told: Mapping[str, Any]) -> KeySet:
    """Return the keys that can be read: those that cannot are to be ignored (RFC 7517, section 5)."""
    keys, listed = [], told.get("keys")
    for item in listed if isinstance(listed, list) else ():
        with contextlib.suppress(JoseError, ValueError, KeyError, TypeError, AttributeError):
            keys += KeySet.import_key_set({"keys": [item]}).keys
    if not keys:
        raise ProviderError("the provider's keys cannot be read")
    return KeySet(keys)
