"""An endpoint of our own for tests: answers what it is told to, as late as it is told to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER: dict[str, Any] = {
    "cause": "One request of 131072 tokens needs 16.0 GiB of KV cache, 5.12 GiB are left.",
    "candidate": "kv_cache_oom/context_exceeds_cache", "lines": [37],
    "fixes": [
        {"title": "Shorten the context", "actions": [{"do": "set_option", "name": "--max-model-len", "values": ["32768"]}],
         "why": "It fits.", "predicts": "graph capture begins"},
        {"title": "Halve it", "actions": [{"do": "set_option", "name": "--kv-cache-mode", "values": ["fp8"]}], "why": "", "predicts": ""},
    ],
    "confidence": 0.9, "missing": "",
}  # fmt: skip
"""About ``corpus/logs/written/kv-cache-too-small.log``: the first fix holds, the second names an option that there is not."""


class Double(ThreadingHTTPServer):
    """The endpoint."""

    def __init__(self, answer: dict[str, Any], late: float, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.late, self.status = answer, late, status
        self.asked: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving(answer: dict[str, Any] | None = None, late: float = 0.0, status: int = 200) -> Iterator[Double]:
    """Serve until the end of the block."""
    server = Double(ANSWER if answer is None else answer, late, status)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Double

    def do_GET(self) -> None:
        self._send(
            {"object": "list", "data": [{"id": "acme/oak-70b", "object": "model", "created": 1, "owned_by": "x"}]}
        )

    def do_POST(self) -> None:
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        time.sleep(self.server.late)
        message = {"role": "assistant", "content": json.dumps(self.server.answer)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._send({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})

    def _send(self, told: object) -> None:
        data = json.dumps(told).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_told: object) -> None:
        """Say nothing."""
