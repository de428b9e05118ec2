"""The README is true: its commands can be run, its sample output is what comes out, its links lead somewhere."""

from __future__ import annotations

import io
import os
import re
import shlex
from pathlib import Path

import pytest
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.input.read import LogFile
from vllm_triage.service.cli.arguments import COMMANDS, parser
from vllm_triage.service.render.interface import Options, Result, render

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"
THEME = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (230, 237, 243),
    ],
)
"""Dark, as most terminals are."""
PICTURE = ROOT / "docs/images/terminal.svg"
OUTPUT = re.compile(r"(<!-- output: (?P<log>\S+) -->\n```text\n)(?P<shown>.*?)(```)", re.DOTALL)
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


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


def test_the_picture_is_of_what_comes_out():
    """`TRIAGE_BLESS=1 pytest tests/service/test_readme.py` draws it anew: colours, no fonts of elsewhere."""
    log = "corpus/logs/written/kv-cache-too-small.log"
    answer = shared().report(LogFile(str(ROOT / log)))
    shown = render("text", [Result(log, answer)], Options(color="always", width=100))
    console = Console(width=100, record=True, file=io.StringIO(), legacy_windows=False)
    console.print(Text.from_ansi(f"$ vllm-triage {log}\n{shown}"))
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace("Fira Code, ", "")
    drawn = console.export_svg(title="vllm-triage", code_format=form, unique_id="terminal", theme=THEME)
    if os.environ.get("TRIAGE_BLESS"):
        PICTURE.write_text(drawn, encoding="utf-8")

    assert PICTURE.read_text(encoding="utf-8") == drawn
    assert "http" not in re.sub(r'xmlns="[^"]*"|<!--.*?-->', "", drawn)
    shades = [_light(text) for text in re.findall(r"\.terminal-r\d+ \{ fill: (#\w{6})", drawn)]
    assert len(shades) > 5
    assert min(shades) + 0.05 >= 4.5 * (_light("#161b22") + 0.05), "readable: 4.5 : 1 at least"


def _light(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _commands(path: Path) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.partition("  #")[0] for block in blocks for line in block.splitlines()]
    return [
        part.strip() for line in lines for part in re.split(r"[|;&]+", line) if part.strip().startswith("vllm-triage ")
    ]


@pytest.mark.parametrize("command", sorted({*_commands(README), *_commands(ROOT / "docs/command.md")}))
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
