"""An OpenID provider on loopback: discovery, keys, tokens. Whoever asks for a code gets one."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT = "triage"
SECRET = "client-secret-0123456789"


class OpenIdProvider:
    """The provider; what it says can be bent."""

    def __init__(self) -> None:
        self.keys: list[Any] = [RSAKey.generate_key(2048, {"kid": "one"})]
        self.codes: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.claims: dict[str, Any] = {}
        """Added to every ID token, over what it would say."""
        self.told: dict[str, Any] = {}
        """What UserInfo says besides ``sub``."""
        self.issuer = ""
        self.header: dict[str, Any] = {"alg": "RS256", "kid": "one"}
        self.signing: Any = None
        """The key that tokens are signed with; the first of its keys where it is None."""

    def __enter__(self) -> Self:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

            def do_GET(self) -> None:
                self.answer(*provider.get(self.path, self.headers.get("Authorization", "")))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.answer(*provider.token(parse_qs(body), self.headers.get("Authorization", "")))

            def answer(self, status: int, value: object) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def get(self, path: str, authorization: str = "") -> tuple[int, object]:
        """Answer what anybody may ask."""
        self.asked.append(path)
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.issuer, "authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys", "userinfo_endpoint": f"{self.url}/me", "end_session_endpoint": f"{self.url}/bye",
            }  # fmt: skip
        if path == "/me" and authorization == "Bearer x":
            return 200, {"sub": "u-1", **self.told}
        if path == "/keys":
            return 200, KeySet(self.keys).as_dict(private=False)
        return 404, {}

    def authorize(self, address: str, **claims: Any) -> dict[str, str]:
        """Do what a person does in front of a browser; return what the browser brings back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert (CLIENT, "code", "S256") == (asked["client_id"], asked["response_type"], asked["code_challenge_method"])
        code = secrets.token_urlsafe()
        self.codes[code] = {**asked, "claims": claims}
        return {"code": code, "state": asked["state"]}

    def token(self, form: dict[str, list[str]], authorization: str) -> tuple[int, object]:
        """Give an ID token for a code, once, to who began."""
        pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        asked = self.codes.pop(form["code"][0], None)
        verifier = form["code_verifier"][0]
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        if asked is None or challenge != asked["code_challenge"] or asked["redirect_uri"] != form["redirect_uri"][0]:
            return 400, {"error": "invalid_grant"}
        if [unquote(part) for part in pair.split(":")] != [CLIENT, SECRET]:
            return 401, {"error": "invalid_client"}
        now = int(time.time())
        claims = {
            "iss": self.issuer, "aud": CLIENT, "sub": "u-1", "iat": now, "exp": now + 300, "nonce": asked["nonce"],
            "email": "kim@example.com", "groups": ["ml"], **asked["claims"], **self.claims,
        }  # fmt: skip
        token = jwt.encode(self.header, claims, self.signing or self.keys[0], algorithms=[self.header["alg"]])
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": token}
