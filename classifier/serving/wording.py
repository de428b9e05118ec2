"""The wordings of vLLM's periodic lines, from 0.2 to 0.33: one line of bytes in, its numbers out.

As the releases print them (``vllm/engine/metrics.py`` for V0, ``vllm/v1/metrics/loggers.py`` and
``vllm/v1/spec_decode/metrics.py`` for V1)::

    0.2  – 0.11  Avg prompt throughput: %.1f tokens/s, Avg generation throughput: %.1f tokens/s, Running: %d reqs,
                 Swapped: %d reqs, Pending: %d reqs, GPU KV cache usage: %.1f%%, CPU KV cache usage: %.1f%%[.]
    0.7.1, 0.7.2 … Running: %d reqs, Waiting: %d reqs GPU KV cache usage: %.1f%%.
    0.7.3 – 0.8.4 … Running: %d reqs, Waiting: %d reqs, GPU KV cache usage: %.1f%%, Prefix cache hit rate: %.1f%%
    0.8.5 on     Engine %03d: …
    0.11.1 on    Engine %03d: … or %d Engines Aggregated: …; perhaps Preemptions: %d before the usage
    0.20 on      perhaps Deferred: %d reqs after Waiting
    0.31 on      %s KV cache usage with the kind of device; the hit rate only where there is a prefix cache
    0.32 on      perhaps KV fetch: %d waiting to start, %d in progress, %d completed waiting

    0.4.1 – 0.9  Speculative metrics: Draft acceptance rate: %.3f, …, Number of draft tokens[ tokens]: %d, …
    0.8.3, 0.8.4 SpecDecoding metrics: Draft acceptance rate: %.1f%%, Accepted: %d tokens, Drafted: %d tokens
    0.8.5 on     SpecDecoding metrics: …, Accepted: %d tokens, Drafted: %d tokens, …, Avg Draft acceptance rate: %.1f%%
"""

from __future__ import annotations

import math

from ..patterns.lazy import LazyPattern
from .marks import UNTOLD
from .types import Draft, Sample

_NUMBERS = LazyPattern(
    rb"Avg prompt throughput: (?P<prompt>[\d.]{1,12}|nan|inf) tokens/s, "
    rb"Avg generation throughput: (?P<generation>[\d.]{1,12}|nan|inf) tokens/s, "
    rb"Running: (?P<running>\d{1,7}) reqs, (?:Swapped: (?P<swapped>\d{1,7}) reqs, )?"
    rb"(?:Waiting|Pending): (?P<waiting>\d{1,7}) reqs"
)
_PREEMPTIONS = LazyPattern(rb" Preemptions: (\d{1,7})")
_USAGE = LazyPattern(rb"[A-Z]{2,8} KV cache usage: ([\d.]{1,8})%")
_DRAFT = LazyPattern(
    rb"(?:SpecDecoding|Speculative) metrics: .{0,400}?Draft acceptance rate: (?P<rate>[\d.]{1,8}|nan)(?P<percent>%?)"
)
_DRAFTED = LazyPattern(rb"(?:Drafted: |Number of draft tokens(?: tokens)?: )(\d{1,12})")


def read_statistics(line: int, front: bytes, rest: bytes, at: float) -> Sample | None:
    """Read a line of an engine's statistics.

    Args:
        line: Its number.
        front: What stands before its own words: prefixes and the engine's name.
        rest: The line from ``recorder.STATISTICS`` on.
        at: Its time.

    Returns:
        The numbers; None where the line only quotes those words.
    """
    found = _NUMBERS.match(rest)
    if found is None:
        return None
    after = rest[found.end() :]
    preempted = _PREEMPTIONS.search(after) if b"Preemptions" in after else None
    return Sample(
        line,
        at,
        _number(found["prompt"]),
        _number(found["generation"]),
        int(found["running"]),
        int(found["waiting"]),
        int(found["swapped"] or 0),
        int(preempted[1]) if preempted else 0,
        _usage(after),
        front + rest,
    )


def read_draft(text: bytes, line: int, at: float) -> Draft | None:
    """Read a line about speculative decoding; None where it is none, or where nothing was drafted."""
    found = _DRAFT.search(text)
    if found is None or found["rate"] == b"nan":
        return None
    drafted = _DRAFTED.search(text, found.start())
    count = int(drafted[1]) if drafted else int(UNTOLD)
    rate = _number(found["rate"]) / (100 if found["percent"] else 1)
    return Draft(line, at, rate, count, text) if count else None


def _usage(text: bytes) -> float:
    """Return the share of the KV cache that is taken, in per cent."""
    # V0 tells two: that of the GPU, and the swap space; on a CPU the first is always 0, and the second is the cache.
    told = [_number(found) for found in _USAGE.findall(text)[:2]]
    return UNTOLD if not told else (told[0] or told[-1])


def _number(text: bytes) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0
