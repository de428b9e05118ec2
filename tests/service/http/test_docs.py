"""docs/http.md: its commands run, its tables are what the code says (TRIAGE_BLESS=1 writes them anew)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.service.http.conftest import LOG
from vllm_triage.service.chat.registry import platforms
from vllm_triage.service.http.problems import TYPES
from vllm_triage.service.http.routes.plan import EXAMPLE
from vllm_triage.service.http.settings import Settings

PAGE = Path(__file__).parents[3] / "docs" / "http.md"
TEXT = PAGE.read_text("utf-8")


def commands() -> list[str]:
    """Return the commands of the page."""
    blocks = re.findall(r"<!-- tested -->\n```shell\n(.*?)```", TEXT, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def problems_table() -> str:
    """Return the table of problems."""
    rows = [f"| `{name}` | {status} | {title} |" for name, (status, title) in TYPES.items()]
    return "\n".join(["| name | status | meaning |", "|---|---|---|", *rows])


def settings_table() -> str:
    """Return the table of settings."""
    rows = []
    for name, field in Settings.model_fields.items():
        if name in (*platforms(), "notify"):
            continue
        rows.append(f"| `{name}` | {_shown(field.default)} | {field.description} |")
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])


def _shown(value: Any) -> str:
    if value in ("", (), None):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int) and value >= 1 << 18:
        for size, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if value % size == 0:
                return f"{value // size} {unit}"
    return f"`{value}`"


@pytest.mark.parametrize(("name", "table"), [("problems", problems_table()), ("settings", settings_table())])
def test_tables_are_what_the_code_says(name, table):
    """Names, defaults, meanings."""
    pattern = re.compile(rf"(<!-- table: {name} -->\n)((?:\|.*\n)*)")
    if os.environ.get("TRIAGE_BLESS"):
        text = PAGE.read_text("utf-8")
        PAGE.write_text(pattern.sub(lambda found: found[1] + table + "\n", text), "utf-8")
    found = pattern.search(PAGE.read_text("utf-8"))

    assert found is not None
    assert table + "\n" == found[2]


def test_every_setting_says_what_it_is():
    """In one line."""
    assert [] == [
        name
        for name, field in Settings.model_fields.items()
        if not field.description and name not in (*platforms(), "notify")
    ]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_commands_of_the_page_are_answered(serve, tmp_path):
    """Each as it stands there."""
    server = serve(database=f"sqlite:///{tmp_path}/h.sqlite")
    (tmp_path / "server.log").write_bytes(LOG)
    (tmp_path / "config.json").write_text(json.dumps(EXAMPLE["model_config"]))
    assert len(commands()) > 12
    for command in commands():
        ran = subprocess.run(
            ["bash", "-c", command.replace("curl ", "curl --fail-with-body --max-time 30 ", 1)],
            cwd=tmp_path, env={**os.environ, "URL": server.url}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (0, True) == (ran.returncode, len(ran.stdout) > 20), f"{command}\n{ran.stdout}{ran.stderr}"


def test_links_lead_somewhere():
    """To files of the repository."""
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", TEXT):
        assert (PAGE.parent / target).exists(), target
