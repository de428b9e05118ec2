"""Signs of work, and of none, in a log as it comes: progress bars, statistics, notices that repeat."""

from __future__ import annotations

from typing import NamedTuple

from ..patterns.lazy import LazyPattern
from ..serving.marks import STATISTICS, UNTOLD
from ..serving.types import Sample
from ..serving.wording import read_statistics

BAR = LazyPattern(
    rb"(?P<name>[^\r\n]{0,80}?):?\s{0,3}(?P<percent>\d{1,3})%(?:\|| Completed \|)[^\r\n|]{0,120}\|?\s{0,2}"
    rb"(?P<done>[\d.]{1,12}[kMGT]?)/(?P<total>[\d.]{1,12}[kMGT]?) \["
)
"""A bar of tqdm: ``Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:03<00:09, 3.1s/it]``."""
_WAITING = LazyPattern(
    rb"No available shared memory broadcast block|Waiting for output from MQLLMEngine|Heartbeat successful"
    rb"|[Ww]aiting for work\b|Waiting for \d+ local, \d+ remote|\"GET /(?:health|metrics|ping|version|v1/models)\b"
    rb"|[Ww]aiting for creating a placement group|still waiting"
)
"""What is printed again and again while nothing goes on."""
_NOTICE = LazyPattern(rb"No available shared memory broadcast block")
_ANSWERED = LazyPattern(rb'"POST /\S{1,80} HTTP/1\.[01]" \d')
_RANK = LazyPattern(rb"rank (\d{1,4}) in world size (\d{1,4}) is assigned")

_SIZE = LazyPattern(rb"Checkpoint size: (\d{1,6}(?:\.\d{1,4})?) GiB")

TAIL = 4096
"""Bytes at the end of what came in which the latest state of a bar is looked for."""


class Bar(NamedTuple):
    """A progress bar as it was drawn last."""

    name: str
    done: str
    total: str
    at: float
    """When it moved last."""
    first: float
    """When it moved first."""
    steps: int
    """How often it moved."""

    @property
    def complete(self) -> bool:
        """Whether it has come to its end."""
        return self.done == self.total

    @property
    def step(self) -> float:
        """Seconds that one move took, on the average; 0 where it has not moved yet."""
        return (self.at - self.first) / self.steps if self.steps else 0.0


class Seen(NamedTuple):
    """What a piece of log shows."""

    progress: bool
    """Whether a line is in it that says more than that somebody waits; a progress bar is one only where it moved."""
    notices: int
    """Notices of a full queue between processes."""
    answered: bool
    """Whether a request was answered."""
    samples: tuple[Sample, ...]
    ranks: tuple[tuple[int, int], ...]
    """Ranks that told their place, each with the number of all."""


MUCH = 1 << 14
"""Bytes that come at once from which on they are not looked at line by line: whoever only waits says little."""


def read(data: bytes) -> Seen:
    """Return what whole lines show; what is drawn over and over within one line counts as lines."""
    return _much(data) if len(data) >= MUCH else _lines(data)


def _much(data: bytes) -> Seen:
    """Return what many lines show: they are progress, and the last of each kind counts."""
    at = data.rfind(STATISTICS)
    sample = None
    if at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        sample = read_statistics(0, data[start:at], data[at : end if end > 0 else len(data)], UNTOLD)
    ranks = [(int(rank), int(world)) for rank, world in _RANK.made.findall(data)] if b"in world size" in data else []
    # Only what was answered after the last line of statistics says something.
    answered = data.find(b'"POST /', max(0, at)) >= 0
    return Seen(True, 0, answered, (sample,) if sample is not None else (), tuple(ranks))


def _lines(data: bytes) -> Seen:
    progress, notices, answered = False, 0, False
    samples: list[Sample] = []
    ranks: list[tuple[int, int]] = []
    for line in data.splitlines():
        if not line.strip():
            continue
        if (at := line.find(STATISTICS)) >= 0:
            sample = read_statistics(0, line[:at], line[at:], UNTOLD)
            if sample is not None:
                samples.append(sample)
                progress = progress or not (sample.asked and sample.idle)
                continue
        if b"%" in line and BAR.search(line):
            continue
        if _WAITING.search(line):
            notices += bool(_NOTICE.search(line))
            continue
        progress = True
        answered = answered or (b"POST /" in line and _ANSWERED.search(line) is not None)
        if b"in world size" in line and (found := _RANK.search(line)):
            ranks.append((int(found[1]), int(found[2])))
    return Seen(progress, notices, answered, tuple(samples), tuple(ranks))


def checkpoint_gib(data: bytes) -> float:
    """Return the size of the weights' files in GiB as vLLM tells it before it reads them; 0 where it does not, as older releases."""
    found = _SIZE.search(data) if b"Checkpoint size: " in data else None
    return float(found[1]) if found else 0.0


def moved(bar: Bar | None, data: bytes, now: float) -> Bar | None:
    """Return the progress bar after a piece of log; the one given where none was drawn, or it did not move."""
    data = data[-TAIL:]
    if b"%|" not in data and b"% Completed |" not in data:
        return bar
    found = None
    for item in BAR.finditer(data):
        found = item
    if found is None:
        return bar
    name = found["name"].rpartition(b"\r")[2].strip().rpartition(b") ")[2].decode("utf-8", "replace")
    done, total = found["done"].decode(), found["total"].decode()
    if bar is None or bar.name != name or bar.total != total:
        return Bar(name, done, total, now, now, 0)
    return bar if bar.done == done else bar._replace(done=done, at=now, steps=bar.steps + 1)
