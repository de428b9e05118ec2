"""Servers on loopback that note what they get: the base of the fake Slack and of receivers of webhooks."""

from __future__ import annotations

import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


@dataclass(frozen=True)
class Call:
    """A request that came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """What is answered."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Loopback:
    """A server; ``planned`` replies go first, one for a request, then ``answer`` decides."""

    def __init__(
        self,
        answer: Callable[[Call], Reply] = lambda _: Reply(),
        tls: ssl.SSLContext | None = None,
        port: int = 0,
    ) -> None:
        self.calls: list[Call] = []
        self.planned: deque[Reply | None] = deque()
        """None closes the connection without an answer."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                call = Call(
                    self.command,
                    self.path,
                    {name.lower(): value for name, value in self.headers.items()},
                    self.rfile.read(length),
                )
                outer.calls.append(call)
                reply = outer.planned.popleft() if outer.planned else answer(call)
                self.close_connection = True
                if reply is None:
                    return
                self.send_response(reply.status)
                for name, value in {
                    "Content-Length": str(len(reply.body)),
                    "Connection": "close",
                    **reply.headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            do_GET = do_PATCH = do_POST  # noqa: N815 - the base class calls them so

            def log_message(self, *words: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            # The handshake is the thread's that handles the connection.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(0.02), daemon=True)

    @property
    def url(self) -> str:
        """Without a slash at the end."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def wait_until(true: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that will come; fail where it does not."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)
