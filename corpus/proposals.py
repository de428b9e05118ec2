"""What a source outside the rules may propose: the rows of ``proposals.toml``, read where there is a proposal."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Bounds:
    """The rows, each as an expression that a whole name, or a text, is held against."""

    doors: re.Pattern[str]
    """Options and variables that open the server, hand out secrets or lower security."""
    closes: re.Pattern[str]
    """Those of such names that do the opposite."""
    code: re.Pattern[str]
    """Those that load code."""
    own: re.Pattern[str]
    """Secrets of the server's owner, which a cure may ask for."""
    families: re.Pattern[str]
    """Variables that vLLM's neighbours read."""
    places: re.Pattern[str]
    """Values that lead to the machine's toolkits, or hold a place."""
    keys: re.Pattern[str]
    """Keys within JSON that do."""
    names: re.Pattern[str]
    """Options whose values name weights or files."""
    named_keys: re.Pattern[str]
    """Keys within JSON whose values do."""
    images: re.Pattern[str]
    looks: re.Pattern[str]
    """Commands that change nothing."""
    harm: re.Pattern[str]
    """Words that no answer says; searched for."""
    packages: frozenset[str]
    """What vLLM's releases and their neighbours need."""


@cache
def bounds() -> Bounds:
    """Return what may be proposed."""
    rows: dict[str, list[str]] = tomllib.loads((HERE / "proposals.toml").read_text(encoding="utf-8"))
    globs = {
        name: re.compile("|".join(map(translate, rows[name])))
        for name in ("doors", "closes", "code", "own", "families", "places", "keys", "names", "named_keys", "images")
    }
    mined: list[str] = json.loads((HERE / "vllm" / "packages.json").read_text(encoding="utf-8"))
    looks = re.compile("|".join(f"(?:{row})" for row in rows["looks"]))
    return Bounds(
        **globs,
        looks=looks,
        harm=re.compile("|".join(rows["harm"]), re.IGNORECASE),
        packages=frozenset([*mined, *rows["packages"]]),
    )
