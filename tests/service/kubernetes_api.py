"""An API server of Kubernetes as far as ``kubectl get``, ``describe`` and ``logs`` ask it, which answers from recorded objects.

What it says has the shapes of the real one (API groups, resources, lists, events, ``Status``); a write is answered with 405 and noted.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

RESOURCES = [
    {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"], "shortNames": ["po"]},
    {"name": "pods/log", "singularName": "", "namespaced": True, "kind": "Pod", "verbs": ["get"]},
    {"name": "events", "singularName": "event", "namespaced": True, "kind": "Event", "verbs": ["get", "list"]},
]  # fmt: skip


@contextmanager
def serving(
    pods: list[dict[str, Any]], logs: dict[str, str], previous: dict[str, str]
) -> Iterator[tuple[str, list[str]]]:
    """Serve recorded pods of the namespace ``serving`` on loopback; logs are by pod, and followed in pieces.

    Yields:
        The address, and the requests as they come.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(f"GET {self.path}")
            where = urlsplit(self.path)
            if where.path.endswith("/log"):
                return self.log(where.path.split("/")[-2], parse_qs(where.query))
            found = answer(where.path, pods)
            return self.say(found or status(404, "NotFound", f"{where.path} not found"), 200 if found else 404)

        def do_POST(self) -> None:
            asked.append(f"{self.command} {self.path}")
            self.say(status(405, "MethodNotAllowed", "read only"), 405)

        do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815 - the base class's names

        def say(self, data: object, code: int = 200) -> None:
            body = json.dumps(data).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log(self, pod: str, query: dict[str, list[str]]) -> None:
            kept = previous if query.get("previous") == ["true"] else logs
            if pod not in kept:
                self.say(
                    status(400, "BadRequest", f'previous terminated container "vllm" in pod "{pod}" not found'), 400
                )
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for line in kept[pod].splitlines(keepends=True):
                piece = line.encode()
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                if query.get("follow") == ["true"]:
                    self.wfile.flush()
                    time.sleep(0.005)
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer(path: str, pods: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the object that stands at a path; None where there is none."""
    named = {f"/api/v1/namespaces/serving/pods/{pod['metadata']['name']}": pod for pod in pods}
    listed = {"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": [backed_off(pod) for pod in pods]}
    fixed: dict[str, dict[str, Any]] = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": RESOURCES},
        "/api/v1/namespaces/serving/pods": {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods},
        "/api/v1/namespaces/serving/events": listed,
    }
    return fixed.get(path) or named.get(path)


def backed_off(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the event that a crash loop leaves."""
    about = {"kind": "Pod", "namespace": "serving", "name": pod["metadata"]["name"], "apiVersion": "v1"}
    return {
        "kind": "Event", "apiVersion": "v1", "metadata": {"name": f"{about['name']}.17a1", "namespace": "serving"}, "involvedObject": about,
        "reason": "BackOff", "message": "Back-off restarting failed container", "type": "Warning", "count": 9,
        "source": {"component": "kubelet"}, "firstTimestamp": "2026-11-02T09:00:00Z", "lastTimestamp": "2026-11-02T09:20:00Z",
    }  # fmt: skip


def status(code: int, reason: str, message: str) -> dict[str, Any]:
    """Return what an API server says where it refuses."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
