"""A stand-in for the model hub on this machine, which answers as a failing hub does."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Self

MODES: dict[str, tuple[int, dict[str, str], str]] = {
    "401": (
        401,
        {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Invalid username or password."},
        "Invalid username or password.",
    ),
    "403": (
        403,
        {"X-Error-Code": "GatedRepo", "X-Error-Message": "Your request to access this repository is awaiting review."},
        "Forbidden",
    ),
    "gated": (
        401,
        {
            "X-Error-Code": "GatedRepo",
            "X-Error-Message": "Access to this model is restricted. You must be authenticated to access it.",
        },
        "Access to this model is restricted.",
    ),
    "404": (404, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}, "Repository not found"),
    "429": (429, {"Retry-After": "1"}, "Too Many Requests"),
    "500": (500, {}, "Internal Server Error"),
    "503": (503, {"Retry-After": "1"}, "Service Unavailable"),
    "garbage": (200, {}, "<html><body>Please log in to the network</body></html>"),
    "slow": (200, {}, ""),
}
"""Name → status, headers, text. The header names and the codes are those of the real hub."""
PATIENCE = 40
"""Seconds for which the slow hub says nothing."""


class Hub:
    """A server in a thread, for the time of a ``with``."""

    def __init__(self, mode: str) -> None:
        status, headers, text = MODES[mode]
        delay = PATIENCE if mode == "slow" else 0

        class Answer(_Answer):
            reply: ClassVar[tuple[int, dict[str, str], str, int]] = (status, headers, text, delay)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Answer(BaseHTTPRequestHandler):
    reply: ClassVar[tuple[int, dict[str, str], str, int]]

    def _send(self) -> None:
        status, headers, text, delay = self.reply
        time.sleep(delay)
        kind = "text/html" if text.startswith("<") else "application/json"
        body = text.encode() if text.startswith("<") else json.dumps({"error": text}).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        with suppress(ConnectionError):
            # Who waits for a slow hub may have hung up.
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    do_GET = do_HEAD = do_POST = _send  # noqa: N815 - the names that http.server looks for

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parameter's name in http.server
        """Say nothing: progress is shown by the runner."""
