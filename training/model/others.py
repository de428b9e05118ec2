"""Rows of other software: written lines with their blanks filled in."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from .rows import Row

COPIES = 3
_BLANKS = {
    "n": ("3", "17", "42", "128", "901", "2048"),
    "w": ("orders", "harbor", "invoice", "worker", "session", "catalog", "metrics", "profile"),
    "p": ("/srv/app", "/home/anna/project", "/opt/shop/api", "/var/lib/build"),
    "h": ("db.example", "api.internal", "cache-2.example", "git.example"),
}


def other_rows(seed: random.Random) -> Iterator[Row]:
    """Yield the rows of logs that vLLM did not write."""
    data = tomllib.loads((Path(__file__).parent / "others.toml").read_text(encoding="utf-8"))
    for program in data["program"]:
        for line in program["lines"]:
            for _ in range(COPIES):
                text = re.sub(r"\{([nwph])\}", lambda found: seed.choice(_BLANKS[found.group(1)]), line)
                yield Row(text, "unknown", f"other/{program['name']}", "other", "", "", 1.0)
