"""Starts of servers, on a stand-in for vLLM."""

import sys
import textwrap
from types import SimpleNamespace
from typing import Any

import pytest

from vllm_triage.training.prove.starts import Starter

VLLM = """
import http.server, json, os, sys


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self._say({"data": [{"id": "m"}]})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._say({"model": asked["model"], "pid": os.getpid()}, 200 if "--broken" not in sys.argv else 500)

    def _say(self, what, status=200):
        body = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    if "--dtype" in sys.argv:
        print("usage: vllm serve", file=sys.stderr)
        sys.exit("vllm serve: error: argument --dtype: invalid choice: 'int7'")
    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    print(f"INFO Starting vLLM server on http://127.0.0.1:{server.server_port}", flush=True)
    print("INFO Application startup complete.", os.environ.get("VLLM_X", "-"), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
"""


@pytest.fixture
def starter(tmp_path):
    package = tmp_path / "site/vllm/entrypoints/cli"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").touch()
    (package / "main.py").write_text(textwrap.dedent(VLLM))
    home = tmp_path / "venv/bin"
    home.mkdir(parents=True)
    python = f'#!/bin/sh\nPYTHONPATH={tmp_path / "site"} exec {sys.executable} "$@"\n'
    for name, text in (("python", python), ("vllm", python.replace('"$@"', f'{package / "main.py"} "$@"'))):
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    environment: Any = SimpleNamespace(venv=home.parent, variables=dict, release=SimpleNamespace(version="1.0"))
    return Starter(tmp_path, environment)


def test_a_server_that_answers_works_and_is_ended(starter):
    """It is asked where its log says that it listens; variables of the command reach it."""
    started = starter.start("VLLM_X=seen vllm serve m", "/v1/completions")
    assert (started.works, started.refused) == (True, False)
    assert b"complete. seen" in started.log


def test_a_command_that_is_refused_is_told_as_such(starter):
    """The parser's own words, and no server."""
    started = starter.start("vllm serve m --dtype int7", "/v1/completions")
    assert (started.works, started.ready, started.refused) == (False, False, True)


def test_a_request_that_fails_is_no_cure(starter):
    """Up is not enough."""
    started = starter.start("vllm serve m --broken", "/v1/chat/completions")
    assert (started.works, started.ready, started.answer[:3]) == (False, True, "500")
