"""Tables of the documentation that are what the code says (TRIAGE_BLESS=1 writes them anew)."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from vllm_triage.service.chat.registry import platforms
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


def platforms_table() -> str:
    """Return the table of chat platforms."""
    rows = [f"| `{name}` | {platform.ABOUT} |" for name, platform in platforms().items()]
    return "\n".join(["| setting | platform |", "|---|---|", *rows])


@pytest.mark.parametrize(
    ("page", "name", "table"),
    [("README.md", "formats", formats_table()), ("docs/chat.md", "platforms", platforms_table())],
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
