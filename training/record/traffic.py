"""What is done to a running server: requests, lost connections, waiting, signals to its processes."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from typing import Any

from .faults import Action
from .process import Server

TIMEOUT = 90
"""Seconds for one request of a tiny model on a busy CPU."""
BODIES: dict[str, dict[str, Any]] = {
    "/v1/completions": {"model": "{model}", "prompt": "the quick brown fox", "max_tokens": 8},
    "/v1/chat/completions": {"model": "{model}", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 8},
}
"""What a request says where the catalogue says nothing else; a value `absent` leaves a key out."""


class Client:
    """Does the actions of one fault, in order, and keeps what came back."""

    def __init__(self, server: Server, port: int, fill: dict[str, str]) -> None:
        self.notes: list[str] = []
        self._server = server
        self._port = port
        self._fill = fill

    def do(self, actions: list[Action]) -> None:
        """Do all of them; requests in the background are not waited for."""
        for action in actions:
            match action.do:
                case "wait":
                    self._wait(action.seconds)
                case "wait-for":
                    seen = self._server.wait_for(action.text, action.seconds or TIMEOUT)
                    self.notes.append(f"waited for {action.text!r}: {'seen' if seen else 'not seen'}")
                case "signal":
                    told = self._server.signal(action.signal, action.process, action.which)
                    self.notes.append(f"{action.signal} to {told[:80] or 'NOBODY'}")
                case "disconnect":
                    self._disconnect(action)
                case _:
                    self._requests(action)

    def _requests(self, action: Action) -> None:
        content = self._content(action)
        for _ in range(action.times):
            if action.background:
                threading.Thread(target=self._send, args=(action.path, content), daemon=True).start()
            else:
                self._send(action.path, content)

    def _send(self, path: str, content: bytes | None) -> None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT)
            connection.request(
                "GET" if content is None else "POST", path, content, {"Content-Type": "application/json"}
            )
            answer = connection.getresponse()
            self.notes.append(f"{path} {answer.status} {answer.read(400).decode(errors='replace')}")
            connection.close()
        except (OSError, http.client.HTTPException) as error:
            self.notes.append(f"{path} {error!r}")

    def _disconnect(self, action: Action) -> None:
        """Send a request and hang up while it is answered."""
        content = self._content(action) or b""
        for _ in range(action.times):
            with socket.create_connection(("127.0.0.1", self._port)) as connection:
                head = [f"POST {action.path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
                head += [f"Content-Length: {len(content)}", "", ""]
                connection.sendall("\r\n".join(head).encode() + content)
                time.sleep(action.seconds or 1)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            # Looks at the processes now and then: shared memory of one that is killed later must be known.
            self._server.members()
            time.sleep(min(left, 2))

    def _content(self, action: Action) -> bytes | None:
        if action.do == "raw":
            return action.text.encode()
        if not action.body and action.path not in BODIES:
            return None
        body = {**BODIES.get(action.path, {}), **action.body}
        return json.dumps(
            filled({name: value for name, value in body.items() if value != "absent"}, self._fill)
        ).encode()


def filled(value: Any, fill: dict[str, str]) -> Any:
    """Return ``value`` with the placeholders in all its strings replaced; `{word * 300}` repeats a word."""
    if isinstance(value, dict):
        return {name: filled(inner, fill) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, fill) for inner in value]
    if not isinstance(value, str):
        return value
    if value.startswith("{") and value.endswith("}") and " * " in value:
        word, _, count = value[1:-1].rpartition(" * ")
        return " ".join([word] * int(count))
    for name, text in fill.items():
        value = value.replace(f"{{{name}}}", text)
    return value
