"""The README is true: its commands can be run, its sample output is what comes out, its links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.input.read import LogFile
from vllm_triage.service.cli.arguments import COMMANDS, parser
from vllm_triage.service.render.interface import Options, Result, render

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"
OUTPUT = re.compile(r"(<!-- output: (?P<log>\S+) -->\n```text\n)(?P<shown>.*?)(```)", re.DOTALL)
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_sample_output_is_what_comes_out():
    """`TRIAGE_BLESS=1 pytest tests/service/test_readme.py` writes it anew."""
    text = README.read_text(encoding="utf-8")
    found = OUTPUT.search(text)
    assert found is not None
    answer = shared().report(LogFile(str(ROOT / found["log"])))
    shown = render("text", [Result(found["log"], answer)], Options(color="never", width=100))
    if os.environ.get("TRIAGE_BLESS"):
        text = text[: found.start("shown")] + shown + text[found.end("shown") :]
        README.write_text(text, encoding="utf-8")

    assert OUTPUT.search(text)["shown"] == shown  # type: ignore[index]


def _commands(path: Path) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.partition("  #")[0] for block in blocks for line in block.splitlines()]
    return [
        part.strip() for line in lines for part in re.split(r"[|;&]+", line) if part.strip().startswith("vllm-triage ")
    ]


@pytest.mark.parametrize("command", sorted(set(_commands(README))))
def test_commands_of_the_readme_are_understood(command):
    """No option in it that the command does not have."""
    words = shlex.split(command.partition(" > ")[0])[1:]
    if words[0] in COMMANDS:
        return

    assert parser().parse_args(words).files


@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_links_lead_somewhere(path):
    """Files of this repository that a page names are there."""
    targets = re.findall(r"\]\((?!https?:)([^)#\s]*[./][^)#\s]*)", path.read_text(encoding="utf-8"))

    assert [target for target in targets if not (path.parent / target).exists()] == []
