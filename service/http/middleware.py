"""What goes around every request: its id, its line in our log, its figures, headers that protect, and a last net."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..reading import STATE_KEY
from . import problems
from .problems import Problem
from .state import State
from .tracing import Tracing

ID = "X-Request-ID"
PROTECTION = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""On every answer that does not say otherwise itself."""
GONE = 499
"""Status in our log where the client left before the answer."""
UNMATCHED = "(none)"
_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_access = logging.getLogger("vllm_triage.access")
_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH", "QUERY", "TRACE"})


class NotePeer:
    """Notes the address that a connection comes from, before headers of a proxy say whose it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        client = scope.get("client")
        scope.setdefault("state", {})["peer"] = client[0] if client else ""
        await self._app(scope, receive, send)


class Envelope:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, state: State, tracing: Tracing) -> None:
        self._app = app
        self._state = state
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await _Exchange(self._app, self._state, self._tracing, scope, receive, send).run()


class _Exchange:
    """One request with its answer."""

    def __init__(
        self, app: ASGIApp, state: State, tracing: Tracing, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._app, self._state, self._tracing = app, state, tracing
        self._scope, self._raw_receive, self._raw_send = scope, receive, send
        self._headers = Headers(scope=scope)
        given = self._headers.get(ID, "")
        self._id = given if _ID.fullmatch(given) else secrets.token_hex(8)
        self._notes: dict[str, Any] = scope.setdefault("state", {})
        self._notes["request_id"] = self._id
        self._hold = self._notes[STATE_KEY] = state.memory.hold()
        self._status = 0
        self._read = self._written = 0

    async def run(self) -> None:
        began = time.perf_counter()
        metrics = self._state.metrics
        metrics.in_flight.inc()
        try:
            with self._tracing.request(self._scope, self._headers, self._id) as span:
                await self._answer()
                span.done(self._route(), self._status)
        finally:
            self._hold.close()
            metrics.in_flight.dec()
            self._note(time.perf_counter() - began)

    async def _answer(self) -> None:
        path = self._scope["path"]
        try:
            if not self._host_known():
                text = "Add the name to allowed_hosts to have it answered."
                self._notes["problem"] = "wrong-host"
                await self._respond(problems.respond(Problem("wrong-host", text), path, self._id))
                return
            await self._app(self._scope, self._receive, self._send)
        except (ClientDisconnect, OSError):
            self._status = self._status or GONE
        except asyncio.CancelledError:
            # The time for shutting down is over.
            self._status = self._status or GONE
            raise
        except Exception as error:  # noqa: BLE001 - the last net
            self._notes["problem"] = "internal"
            response = problems.internal(path, self._id, error)
            if self._status:
                # Cut off: the client sees that the answer is not complete.
                raise ConnectionAbortedError from None
            await self._respond(response)

    async def _respond(self, response: Any) -> None:
        await response(self._scope, self._receive, self._send)

    def _host_known(self) -> bool:
        hosts = self._state.hosts
        if not hosts:
            return True
        host = self._headers.get("host", "")
        name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
        return name.lower() in hosts

    async def _receive(self) -> Message:
        message = await self._raw_receive()
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
        return message

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in PROTECTION.items():
                headers.setdefault(name, value)
            headers[ID] = self._id
            for name, value in self._notes.get("headers", {}).items():
                headers.setdefault(name, value)
        elif message["type"] == "http.response.body":
            self._written += len(message.get("body", b""))
        try:
            async with asyncio.timeout(self._state.settings.idle_seconds):
                await self._raw_send(message)
        except TimeoutError:
            # It reads nothing of its answer: what is left of it need not be kept.
            raise ClientDisconnect from None

    def _route(self) -> str:
        # The template: paths may hold anything.
        return str(getattr(self._scope.get("route"), "path", UNMATCHED))

    def _note(self, seconds: float) -> None:
        route, method, metrics = self._route(), self._scope["method"], self._state.metrics
        if method not in _METHODS:
            method = "other"
        metrics.requests.labels(method, route, self._status).inc()
        metrics.seconds.labels(route).observe(seconds)
        if self._read:
            metrics.bytes.observe(self._read)
        problem = self._notes.get("problem", "")
        if problem:
            metrics.refused.labels(problem).inc()
        if not _access.isEnabledFor(logging.INFO):
            return
        client = self._scope.get("client")
        fields = {
            "request_id": self._id, "method": method, "route": route, "status": self._status,
            "ms": round(seconds * 1000, 2), "bytes_in": self._read, "bytes_out": self._written,
            "client": client[0] if client else "", "key": self._notes.get("caller", ""), "problem": problem,
            **self._notes.get("answer", {}),
        }  # fmt: skip
        _access.info("request", extra=fields)
