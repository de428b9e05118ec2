"""What a browser keeps for us: the session of a person, and a sign-in that is under way. Signed, and good for a time."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

_ALGORITHM = "HS256"


class Tokens:
    """Makes and reads tokens of one kind.

    Args:
        secret: Shared by all processes of the service: that of the OpenID client.
        kind: One kind cannot be given for another.
    """

    def __init__(self, secret: str, kind: str) -> None:
        made = hmac.digest(secret.encode(), f"vllm-triage {kind}".encode(), hashlib.sha256)
        self._key = OctKey.import_key(made)

    def make(self, values: Mapping[str, Any], seconds: float) -> str:
        """Return a token that says some values, for some seconds from now."""
        return jwt.encode({"alg": _ALGORITHM}, {**values, "exp": int(time.time() + seconds)}, self._key)

    def read(self, token: str) -> dict[str, Any] | None:
        """Return what a token says; None where it is none of ours, or is over."""
        if not token:
            return None
        try:
            found = jwt.decode(token, self._key, algorithms=[_ALGORITHM])
            jwt.JWTClaimsRegistry(exp={"essential": True}).validate(found.claims)
        except (JoseError, ValueError):
            return None
        return dict(found.claims)
