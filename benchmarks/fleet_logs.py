"""Logs of a fleet, generated as they are read: recorded logs with other processes, times, models, paths and figures.

What is kept is the wording; what differs from one start to the next differs here, too. Nothing is written to disk.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from vllm_triage.service.batch.log import Log

RECORDED = Path(__file__).parents[1] / "corpus" / "logs" / "recorded"
MODELS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jade", "krill", "larch")
NODES = 40
DAYS = 28
START = 1_790_000_000
"""The first day, in seconds since 1970."""
_PID = re.compile(r"pid=\d+|\(\d{3,6}\)")
_TIME = re.compile(r"\b\d\d-\d\d \d\d:\d\d:\d\d\b")
_MODEL = re.compile(r"/models/tiny(?P<rest>[\w.-]*)|acme/harbor(?P<more>[\w.-]*)|harbou?r")
_HEX = re.compile(r"\b0x[0-9a-f]{6,}\b|\b[0-9a-f]{12,}\b")
_SIZE = re.compile(r"\b(?P<whole>\d{1,3})\.(?P<part>\d\d)(?= ?(?:GiB|GB|MiB|seconds|s\b))")


def recorded() -> list[Path]:
    """Return the recorded logs, sorted."""
    return sorted(RECORDED.rglob("*.log"))


def varied(text: str, seed: random.Random) -> str:
    """Return a log as another start of another server would have printed it."""
    model = seed.choice(MODELS)
    pids: dict[str, str] = {}

    def pid(found: re.Match[str]) -> str:
        own = pids.setdefault(found[0], str(seed.randrange(300, 99_999)))
        return f"pid={own}" if found[0].startswith("pid") else f"({own})"

    def name(found: re.Match[str]) -> str:
        if found["rest"] is not None:
            return f"/srv/{model}/{model}-{seed.randrange(1, 90)}b{found['rest']}"
        return f"{model}/{model}{found['more']}" if found["more"] is not None else model

    day = seed.randrange(1, 29)
    text = _PID.sub(pid, text)
    text = _TIME.sub(lambda found: f"{9 + day % 3:02}-{day:02}{found[0][5:]}", text)
    text = _MODEL.sub(name, text)
    text = _HEX.sub(lambda found: found[0][:2] + "".join(seed.choices("0123456789abcdef", k=len(found[0]) - 2)), text)
    return _SIZE.sub(lambda found: f"{found['whole']}.{seed.randrange(100):02}", text)


def fleet(number: int, paths: Sequence[Path] | None = None, seed: int = 17, starts: int = 1) -> Iterator[Log]:
    """Yield logs of a fleet, each with its content.

    Args:
        number: How many.
        paths: What they are made of; default all recorded logs.
        seed: Other logs for another seed, the same for the same.
        starts: Starts in each log.
    """
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths or recorded()]
    for index in range(number):
        own = random.Random(f"{seed}:{index}")
        parts = [varied(texts[(index + step * 7) % len(texts)], own) for step in range(starts)]
        data = "".join(part if part.endswith("\n") else part + "\n" for part in parts).encode()
        changed = START + (index * DAYS * 86_400) // max(1, number)
        yield Log(f"node-{index % NODES:02}/start-{index:06}.log", len(data), str(index), float(changed), data)
