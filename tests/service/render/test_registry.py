"""A file in the folder of formats is a format, everywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from vllm_triage.service.render.interface import load, names

FORMAT = """
ABOUT = "says it aloud"
MEDIA_TYPE = "text/x-shout"
COMPLETE = False


def render(results, options):
    return "".join(f"{result.report.cause.upper()}!\\n" for result in results)
"""
START = """
import sys
import vllm_triage.service.render.formats as formats

formats.__path__.append({folder!r})
"""
COMMAND = """
from vllm_triage.service.cli.main import main

sys.exit(main(sys.argv[1:]))
"""
SERVICE = """
import json
from fastapi.testclient import TestClient
from vllm_triage.service.http.app import create_app
from vllm_triage.service.http.settings import Settings

app = create_app(Settings(database="none"))
with TestClient(app, base_url="http://localhost") as client:
    answer = client.post("/v1/triage", content=open(sys.argv[1], "rb").read(), headers={{"Accept": "text/x-shout"}})
    said = client.get("/openapi.json").json()["paths"]["/v1/triage"]["post"]["responses"]["200"]["content"]
    print(json.dumps([answer.headers["content-type"], answer.text, "text/x-shout" in said]))
"""


@pytest.fixture
def dropped(tmp_path):
    """Run a script in a process of its own in which one file more is in the folder of formats."""
    folder = tmp_path / "formats"
    folder.mkdir()
    (folder / "shout.py").write_text(FORMAT)

    def run(script: str, *words: str) -> subprocess.CompletedProcess[str]:
        code = START.format(folder=str(folder)) + script.replace("{{", "{").replace("}}", "}")
        return subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, "COLUMNS": "200"},
        )  # fmt: skip

    return run


def test_the_command_offers_it(dropped, failed):
    """In the help, as a choice, in completion scripts."""
    assert "{concise,github,json,jsonl,markdown,pack,prompt,sarif,shout,text}" in dropped(COMMAND, "-h").stdout
    assert "KV_CACHE_OOM/NO_CACHE_BLOCKS!\n" == dropped(COMMAND, str(failed), "-f", "shout").stdout
    assert "shout" in dropped(COMMAND, "completion", "bash").stdout


@pytest.mark.slow
def test_the_service_offers_it(dropped, failed):
    """By its media type, which OpenAPI tells of."""
    pytest.importorskip("fastapi")
    ran = dropped(SERVICE, str(failed))

    assert ["text/x-shout; charset=utf-8", "KV_CACHE_OOM/NO_CACHE_BLOCKS!\n", True] == json.loads(ran.stdout), (
        ran.stderr
    )


@pytest.mark.parametrize("name", names())
def test_every_format_declares_what_it_is(name):
    """What lists of formats are made of."""
    form = load(name)

    assert (True, True) == (bool(form.ABOUT), form.MEDIA_TYPE == "" or "/" in form.MEDIA_TYPE)


def test_media_types_name_one_format_each():
    kinds = [media for name in names() if (media := load(name).MEDIA_TYPE)]

    assert len(kinds) == len(set(kinds))
