"""Tables of the documentation that are what the code says (TRIAGE_BLESS=1 writes them anew)."""

from __future__ import annotations

import os
import re
from argparse import SUPPRESS
from pathlib import Path

import pytest

from vllm_triage.service.chat.registry import platforms
from vllm_triage.service.cli.arguments import COMMANDS, parser
from vllm_triage.service.render.interface import load, names

ROOT = Path(__file__).parents[2]


def formats_table() -> str:
    """Return the table of output formats, the default first."""
    rows = [
        f"| `{name}` | {load(name).ABOUT} | {media and f'`{media}`'} |"
        for name in sorted(names(), key=lambda name: (name != "text", name))
        for media in [load(name).MEDIA_TYPE]
    ]
    return "\n".join(["| `--format` | for | over HTTP (`Accept`) |", "|---|---|---|", *rows])


def options_table() -> str:
    """Return the table of the main command's options, as its help has them."""
    rows = []
    for action in parser()._actions:
        if action.option_strings and action.help != SUPPRESS:
            choices = f"{{{','.join(action.choices)}}}" if action.choices else ""
            names = f"{', '.join(action.option_strings)} {action.metavar or choices}".strip().replace("|", "\\|")
            rows.append(f"| `{names}` | {action.help} |")
    return "\n".join(["| option | what it does |", "|---|---|", *rows])


def commands_table() -> str:
    """Return the table of commands."""
    rows = [f"| `{name}` | {about} |" for name, (_, about) in COMMANDS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def platforms_table() -> str:
    """Return the table of chat platforms."""
    rows = [f"| `{name}` | {platform.ABOUT} |" for name, platform in platforms().items()]
    return "\n".join(["| setting | platform |", "|---|---|", *rows])


@pytest.mark.parametrize(
    ("page", "name", "table"),
    [
        ("docs/command.md", "formats", formats_table()),
        ("docs/command.md", "options", options_table()),
        ("docs/command.md", "commands", commands_table()),
        ("docs/chat.md", "platforms", platforms_table()),
    ],
)
def test_tables_are_what_the_registries_say(page, name, table):
    """A format or a platform that is added shows in its page."""
    pattern = re.compile(rf"(<!-- table: {name} -->\n)((?:\|.*\n)*)")
    text = (ROOT / page).read_text("utf-8")
    if os.environ.get("TRIAGE_BLESS"):
        text = pattern.sub(lambda found: found[1] + table + "\n", text)
        (ROOT / page).write_text(text, "utf-8")
    found = pattern.search(text)

    assert found is not None
    assert table + "\n" == found[2]
