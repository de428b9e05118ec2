"""Logs of a fleet, generated as they are read: recorded logs with other processes, times, models, paths and figures.

What is kept is the wording; what differs from one start to the next differs here, too. Nothing is written to disk: who reads a
log makes it, as it would fetch it from an object store.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from vllm_triage.service.batch.log import Chunk, Log
from vllm_triage.service.batch.work import Outcome, Write

RECORDED = Path(__file__).parents[1] / "corpus" / "logs" / "recorded"
MODELS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jade", "krill", "larch")
NODES = 40
DAYS = 28
START = 1_790_000_000
"""The first day, in seconds since 1970."""
BLOCK = 64 << 10
"""Bytes of served requests that are made at once."""
BLOCKS = 16
"""Such blocks, of which what a server prints while it serves is put together."""
UP = "Application startup complete."
SERVING = re.compile(r'"POST /v1/(?:chat/)?completions HTTP/1\.1" 200 OK$|Engine 000: Avg prompt throughput: ')
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


@dataclass(frozen=True, slots=True)
class Fleet:
    """Logs of a fleet.

    Args:
        number: How many.
        seed: Other logs for another seed, the same for the same.
        starts: Starts in each log.
        tail: Bytes that a server prints while it serves, in logs whose server came up (three in ten).
    """

    number: int
    seed: int = 17
    starts: int = 1
    tail: int = 0

    def names(self) -> Iterator[Log]:
        """Yield the logs as a listing has them, without their content."""
        for index in range(self.number):
            changed = START + (index * DAYS * 86_400) // max(1, self.number)
            yield Log(f"node-{index % NODES:02}/start-{index:06}.log", -1, str(index), float(changed))

    def filled(self, log: Log) -> Log:
        """Return a log with its content."""
        index, texts = int(log.version), _texts()
        own = random.Random(f"{self.seed}:{index}")
        parts = [varied(texts[(index + step * 7) % len(texts)], own) for step in range(self.starts)]
        text = "".join(part if part.endswith("\n") else part + "\n" for part in parts)
        if self.tail and UP in text:
            before, up, after = text.partition(UP)
            served = "".join(own.choice(_served()) for _ in range(self.tail // BLOCK))
            text = f"{before}{up}\n{served}{after.lstrip()}"
        return replace(log, data=text.encode())


@dataclass(frozen=True, slots=True)
class Filling:
    """What a worker does with logs of a fleet: it makes them, and goes on as with any others."""

    fleet: Fleet
    work: Write

    @property
    def place(self) -> str:
        """The folder of reports."""
        return self.work.place

    @property
    def form(self) -> str:
        """Their form."""
        return self.work.form

    def __call__(self, chunk: Chunk) -> Outcome:
        """Write the rows of a chunk."""
        size = 0

        def counted() -> Iterator[Log]:
            nonlocal size
            for log in chunk:
                filled = self.fleet.filled(log)
                size += len(filled.data or b"")
                yield filled

        return replace(self.work(tuple(counted())), bytes=size)


def fleet(number: int, seed: int = 17) -> Iterator[Log]:
    """Yield logs of a fleet, each with its content."""
    made = Fleet(number, seed)
    return map(made.filled, made.names())


@lru_cache(1)
def _texts() -> list[str]:
    return [path.read_text(encoding="utf-8", errors="replace") for path in recorded()]


@lru_cache(1)
def _served() -> list[str]:
    """Return blocks of what recorded servers print while they serve, with other figures."""
    lines = [line for text in _texts() for line in text.splitlines() if SERVING.search(line) and "\x1b" not in line]
    answered = [line for line in lines if "POST" in line]
    # vLLM prints its throughput every ten seconds.
    lines = [line for line in lines if "POST" not in line] + answered * (30 * len(lines) // len(answered) // 2)
    blocks = []
    for number in range(BLOCKS):
        own, block, size = random.Random(number), [], 0
        while size < BLOCK:
            line = re.sub(
                r"\d+(?=\.\d tokens/s|\.\d%| -)", lambda _, own=own: str(own.randrange(10, 99)), own.choice(lines)
            )
            block.append(line + "\n")
            size += len(line) + 1
        blocks.append("".join(block))
    return blocks
