"""The frames that usually stand above an error, so that the model does not take them for the fault."""

from __future__ import annotations

import random
import tomllib
from functools import cache
from pathlib import Path


def above(seed: random.Random) -> str:
    """Return the frames of one usual way, cut at random, as a traceback prints them."""
    frames = seed.choice(_known()[0])
    return "".join(_printed(frame, seed) for frame in frames[seed.randint(0, len(frames) - 2) :])


def below(seed: random.Random) -> str:
    """Return a frame of another package, or nothing."""
    return _printed(seed.choice(_known()[1]), seed) if seed.random() < 0.4 else ""


@cache
def _known() -> tuple[list[list[str]], list[str]]:
    data = tomllib.loads((Path(__file__).parent / "stacks.toml").read_text(encoding="utf-8"))
    return data["ways"], data["below"]


def _printed(frame: str, seed: random.Random) -> str:
    path, _, function = frame.partition(":")
    return f'  File "/opt/venv/lib/python3.12/site-packages/{path}", line {seed.randint(20, 2000)}, in {function}\n'
