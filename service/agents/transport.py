"""How agents reach the server: as a child process (stdio), or over streamable HTTP with keys."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ..http.keys import Key, find_key
from ..http.keys import Scope as Allows
from .desk import MOST_TEXT

PATH = "/mcp"
BODY = 2 * MOST_TEXT
"""Bytes of a request: a log as text, with what JSON adds to it."""
SESSIONS, IDLE = 100, 1800.0
"""Sessions at a time, and seconds after which one that nobody uses ends."""


async def serve_stdio(server: Server[Any]) -> None:
    """Speak over standard input and output until the client closes them."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def http_app(server: Server[Any], host: str, keys: Sequence[Key] = ()) -> ASGIApp:
    """Return the application that answers at ``PATH``.

    Args:
        server: The server.
        host: Address that it listens on.
        keys: Who may ask; where there is none, programs of this machine may.

    Raises:
        ValueError: It would answer whoever reaches it: not this machine alone, and no key.
    """
    local = is_local(host)
    if not local and not keys:
        raise ValueError(f"{host} can be reached from elsewhere: name the keys of those who may ask (--keys FILE)")
    # A page of another site can reach a local server by a name of its own; it has no key.
    security = None if local else TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        host="127.0.0.1" if local else host,
        max_request_body_size=BODY,
        max_sessions=SESSIONS,
        session_idle_timeout=IDLE,
        transport_security=security,
    )
    return WithKey(app, keys) if keys else app


async def serve_http(server: Server[Any], host: str, port: int, keys: Sequence[Key] = ()) -> None:
    """Listen until stopped.

    Raises:
        ValueError: See ``http_app``.
    """
    config = uvicorn.Config(http_app(server, host, keys), host=host, port=port, log_level="warning", access_log=False)
    await uvicorn.Server(config).serve()


def is_local(host: str) -> bool:
    """Return whether an address is of this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class WithKey:
    """Lets those in who bring a key that allows to post logs.

    Args:
        app: What is behind.
        keys: As the settings of ``vllm-triage serve`` know them.
    """

    def __init__(self, app: ASGIApp, keys: Sequence[Key]) -> None:
        self._app = app
        self._keys = tuple(keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse before anything of the body is read."""
        if scope["type"] == "http" and not self._may(Headers(scope=scope)):
            refusal = {"error": "an API key is needed: Authorization: Bearer KEY"}
            await JSONResponse(refusal, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _may(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        key = find_key(self._keys, given.strip()) if scheme.lower() == "bearer" else None
        return key is not None and key.allows(Allows.TRIAGE)
