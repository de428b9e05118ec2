"""Logs of servers at work, made up from a seed: healthy ones and sick ones, in the wordings of three ages of vLLM.

What is made up are the numbers; the wordings, and when a line is printed at all, are those of vLLM's releases: V0 prints on
every interval, V1 says nothing at INFO once two intervals in a row had no token.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

WORDINGS = ("0.6.3", "0.10.2", "0.32.0")
"""V0; V1 with a number for each engine; V1 with the device's name and without a hit rate where there is no prefix cache."""


@dataclass(frozen=True)
class Tick:
    """What one line of statistics says."""

    running: int = 0
    waiting: int = 0
    usage: float = 0.0
    prompt: float = 0.0
    generation: float = 0.0
    preemptions: int = 0
    swapped: int = 0
    accepted: float | None = None
    answered: int = 0
    asked: int = 0
    silent: bool = False
    """Nothing is printed, though time goes by."""
    shown: bool = False
    """Printed whatever it says (DEBUG)."""


IDLE = Tick()
Ticks = Iterator[Tick]
Maker = Callable[[random.Random, str], Ticks]


def log(maker: Maker, seed: int, wording: str, start: bool = True) -> str:
    """Return the log of a server that did what ``maker`` makes of the seed."""
    chance = random.Random(f"{maker.__name__} {seed} {wording}")
    return "\n".join(_lines(maker(chance, wording), chance, wording, start)) + "\n"


def _lines(ticks: Ticks, chance: random.Random, wording: str, start: bool) -> Iterator[str]:
    now = chance.randrange(86400 * 27)
    old = wording == "0.6.3"
    pid = chance.randrange(300, 99999)
    if start:
        yield from _start(now, wording, pid)
    moved = False
    for tick in ticks:
        now += (5 if old and tick.running else 10) + (chance.random() < 0.1)
        for _ in range(tick.asked):
            yield _asked(now, chance, wording, pid)
        for _ in range(tick.answered):
            yield (
                _bare(wording, pid)
                + f'INFO:     10.1.{chance.randrange(9)}.7:{chance.randrange(1024, 65000)} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
            )
        if chance.random() < 0.5:
            yield (
                _bare(wording, pid)
                + f'INFO:     10.1.0.2:{chance.randrange(1024, 65000)} - "GET /health HTTP/1.1" 200 OK'
            )
        moves = bool(tick.prompt or tick.generation)
        if tick.silent or not (old or moves or moved or tick.shown):
            continue
        moved = moves
        yield _statistics(tick, now, chance, wording, pid)
        if tick.accepted is not None and moves:
            yield _drafts(tick.accepted, now, chance, wording, pid)


def _stamp(now: int) -> str:
    day, second = divmod(now, 86400)
    return f"05-{day + 1:02d} {second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def _bare(wording: str, pid: int) -> str:
    return f"(APIServer pid={pid}) " if wording == "0.10.2" else ""


def _head(now: int, wording: str, pid: int, module: str, level: str = "INFO") -> str:
    if wording == "0.6.3":
        return f"{level} {_stamp(now)} {module}] "
    return f"(APIServer pid={pid}) {level} {_stamp(now)} [{module}] "


def _start(now: int, wording: str, pid: int) -> Iterator[str]:
    yield _head(now, wording, pid, "api_server.py:525") + f"vLLM API server version {wording}"
    engine = "an LLM" if wording == "0.6.3" else "a V1 LLM"
    yield (
        _head(now, wording, pid, "core.py:77")
        + f"Initializing {engine} engine (v{wording}) with config: model='acme/borealis-7b', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto"
    )
    yield _bare(wording, pid) + f"INFO:     Started server process [{pid}]"
    yield _bare(wording, pid) + "INFO:     Waiting for application startup."
    yield _bare(wording, pid) + "INFO:     Application startup complete."


def _asked(now: int, chance: random.Random, wording: str, pid: int) -> str:
    return (
        _head(now, wording, pid, "logger.py:41")
        + f"Received request chatcmpl-{chance.getrandbits(64):016x}: prompt: 'Hello', params: SamplingParams(n=1, max_tokens=512), prompt_token_ids: None, lora_request: None."
    )


def _statistics(tick: Tick, now: int, chance: random.Random, wording: str, pid: int) -> str:
    throughput = f"Avg prompt throughput: {tick.prompt:.1f} tokens/s, Avg generation throughput: {tick.generation:.1f} tokens/s, Running: {tick.running} reqs, "
    if wording == "0.6.3":
        return (
            _head(now, wording, pid, "metrics.py:350")
            + throughput
            + f"Swapped: {tick.swapped} reqs, Pending: {tick.waiting} reqs, GPU KV cache usage: {tick.usage:.1f}%, CPU KV cache usage: 0.0%."
        )
    preempted = f"Preemptions: {tick.preemptions}, " if tick.preemptions and wording == "0.32.0" else ""
    device, hits = (
        ("CPU", "") if wording == "0.32.0" else ("GPU", f", Prefix cache hit rate: {chance.random() * 60:.1f}%")
    )
    level = "DEBUG" if tick.shown else "INFO"
    return (
        _head(now, wording, pid, "loggers.py:123", level)
        + f"Engine 000: {throughput}Waiting: {tick.waiting} reqs, {preempted}{device} KV cache usage: {tick.usage:.1f}%{hits}"
    )


def _drafts(accepted: float, now: int, chance: random.Random, wording: str, pid: int) -> str:
    drafted = chance.randrange(600, 9000)
    good = round(accepted * drafted)
    if wording == "0.6.3":
        return (
            _head(now, wording, pid, "metrics.py:370")
            + f"Speculative metrics: Draft acceptance rate: {accepted:.3f}, System efficiency: 0.250, Number of speculative tokens: 3, Number of accepted tokens: {good}, Number of draft tokens: {drafted}, Number of emitted tokens: {drafted}."
        )
    return (
        _head(now, wording, pid, "metrics.py:101")
        + f"SpecDecoding metrics: Mean acceptance length: {1 + 3 * accepted:.2f}, Accepted throughput: {good / 10:.2f} tokens/s, Drafted throughput: {drafted / 10:.2f} tokens/s, Accepted: {good} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: {accepted:.3f}, {accepted / 2:.3f}, {accepted / 4:.3f}, Avg Draft acceptance rate: {100 * accepted:.1f}%"
    )


# ---------------------------------------------------------------- what servers do


def _minutes(chance: random.Random, wording: str, low: float, high: float) -> range:
    """Return as many ticks as fill a time between so many minutes."""
    return range(round(chance.uniform(low, high) * 60 / (5 if wording == "0.6.3" else 10)) + 1)


def _load(chance: random.Random, running: int, speed: float) -> Tick:
    """Return a tick of a server that works well."""
    now = max(1, running + chance.randrange(-2, 3))
    usage = min(90.0, now * 0.8 + chance.random())
    tokens = now * speed * chance.uniform(0.85, 1.15)
    return Tick(now, 0, usage, chance.random() * 4 * tokens, tokens, asked=2, answered=2)


def _at_work(chance: random.Random, wording: str, low: float = 3, high: float = 8) -> Ticks:
    running, speed = chance.randrange(2, 60), chance.uniform(8, 70)
    for _ in _minutes(chance, wording, low, high):
        yield _load(chance, running, speed)


def idle(chance: random.Random, wording: str) -> Ticks:
    """Nobody asks, or now and then one request."""
    for _ in _minutes(chance, wording, 5, 20):
        yield IDLE if chance.random() < 0.85 else replace(_load(chance, 1, 40), running=chance.randrange(2), usage=0.1)
    yield IDLE


def bursty(chance: random.Random, wording: str) -> Ticks:
    """Bursts that fill the cache and make a queue for less than a minute, and calm in between."""
    for _ in range(chance.randrange(2, 6)):
        for step in range(3):
            yield Tick(
                40,
                chance.randrange(1, 60) // (step + 1),
                chance.uniform(90, 100),
                900,
                chance.uniform(300, 900),
                asked=4,
                answered=4,
            )
        for running in (30, 18, 7, 1):
            yield Tick(running, 0, running * 2.0, 0, running * 25.0, answered=4)
        for _ in range(chance.randrange(1, 9)):
            yield IDLE


def ramp_up(chance: random.Random, wording: str) -> Ticks:
    """More and more requests, all of which find room."""
    for running in range(1, chance.randrange(30, 90), 3):
        yield Tick(running, chance.randrange(3), running * 0.7, 300, running * 22.0, asked=3, answered=1)


def benchmark(chance: random.Random, wording: str) -> Ticks:
    """All requests at once, answered one after the other until none is left."""
    waiting, step = chance.randrange(100, 3000), chance.randrange(20, 90)
    while waiting > 0:
        yield Tick(256, waiting, chance.uniform(60, 99), 5000, chance.uniform(2000, 4000), answered=3)
        waiting -= step
    for running in (200, 120, 40, 5, 0):
        yield Tick(running, 0, running * 0.3, 0, running * 15.0 + 10, answered=3)
    yield IDLE


def drained(chance: random.Random, wording: str) -> Ticks:
    """Work, and then the requests end one by one; the last lines are of a server without any."""
    yield from _at_work(chance, wording)
    for running in range(chance.randrange(5, 20), -1, -3):
        yield Tick(max(0, running), 0, max(0, running) * 0.9, 0, running * 12.0 + 3, answered=2)
    yield IDLE
    yield IDLE


def long_prompts(chance: random.Random, wording: str) -> Ticks:
    """Prompts so long that whole intervals pass without a token, while the cache fills."""
    for _ in range(chance.randrange(4, 12)):
        usage = chance.uniform(2, 9)
        for _ in range(chance.randrange(1, 4)):
            usage += chance.uniform(1, 9)
            yield Tick(1, 0, usage, 0, 0)
        yield Tick(1, 0, usage + 1, 9000, chance.uniform(3, 20), answered=1)
        yield Tick(1, 0, usage + 1.2, 0, 23)


def agent(chance: random.Random, wording: str) -> Ticks:
    """One client, one request at a time, whose context grows and whose tokens come the more slowly."""
    usage = 1.0
    for _ in _minutes(chance, wording, 6, 20):
        usage = min(80.0, usage * chance.uniform(1.0, 1.12))
        yield Tick(1, 0, usage, chance.choice([0, 0, 900]), 70 / (1 + usage / 40), asked=1, answered=1)


def pooling(chance: random.Random, wording: str) -> Ticks:
    """A classifier: the cache is always full, and no request is ever seen running."""
    for _ in _minutes(chance, wording, 3, 9):
        yield Tick(0, 0, 100.0, chance.choice([0.0, chance.uniform(2000, 12000)]), 0, answered=1)


def drafting(chance: random.Random, wording: str) -> Ticks:
    """A draft model that earns its keep, with an interval now and then in which nothing was accepted."""
    for tick in _at_work(chance, wording):
        yield replace(tick, accepted=0.0 if chance.random() < 0.05 else chance.uniform(0.15, 0.8))


def cut_in_work(chance: random.Random, wording: str) -> Ticks:
    """A server whose log simply ends while it works."""
    yield from _at_work(chance, wording, 2, 12)


HEALTHY = (idle, bursty, ramp_up, benchmark, drained, long_prompts, agent, pooling, drafting, cut_in_work)


def stalled(chance: random.Random, wording: str) -> Ticks:
    """Requests run, and from one line to the next nothing moves any more."""
    last = IDLE
    for last in _at_work(chance, wording):
        yield last
    still = replace(last, prompt=0.0, generation=0.0, answered=0, asked=0)
    yield still
    for _ in range(chance.choice([0, 2, 9])):
        yield replace(still, asked=1)


def stalled_debug(chance: random.Random, wording: str) -> Ticks:
    """The same at DEBUG, where V1 repeats the line."""
    last = IDLE
    for last in _at_work(chance, wording):
        yield last
    for _ in range(chance.randrange(3, 20)):
        yield replace(last, prompt=0.0, generation=0.0, answered=0, shown=True)


def fell_silent(chance: random.Random, wording: str) -> Ticks:
    """The engine prints nothing any more; requests come in and are not answered."""
    yield from _at_work(chance, wording)
    for _ in _minutes(chance, wording, 3, 9):
        yield Tick(1, silent=True, asked=1)


def cache_full(chance: random.Random, wording: str) -> Ticks:
    """The cache is full and requests wait, to the end."""
    yield from _at_work(chance, wording, 0.5, 4)
    running = chance.randrange(3, 80)
    for _ in _minutes(chance, wording, 1.6, 9):
        yield Tick(
            running + chance.randrange(3),
            chance.randrange(2, 29),
            chance.uniform(95.5, 100),
            chance.random() * 900,
            running * chance.uniform(10, 20),
            asked=2,
            answered=1,
        )


def queue_grows(chance: random.Random, wording: str) -> Ticks:
    """More requests come than go."""
    waiting, most = 0, chance.choice([1, 4, 16, 128])
    for _ in _minutes(chance, wording, 4, 12):
        waiting += chance.randrange(1, 12) + (5 if wording == "0.10.2" else 2)
        yield Tick(most, waiting, chance.uniform(20, 60), 700, most * 20.0, asked=3, answered=1)


def preempted(chance: random.Random, wording: str) -> Ticks:
    """Requests lose their blocks on every other line."""
    yield from _at_work(chance, wording, 0.5, 4)
    for _ in _minutes(chance, wording, 1.6, 9):
        lost = chance.randrange(4, 30) if chance.random() < 0.8 else 0
        yield Tick(30, chance.randrange(1, 20), chance.uniform(96, 100), 100, 200.0, lost, lost // 3, answered=1)


def drafts_rejected(chance: random.Random, wording: str) -> Ticks:
    """Nothing of what is drafted is accepted, from the first line or from some line on."""
    good = chance.random() < 0.5
    for number, tick in enumerate(_at_work(chance, wording, 4, 9)):
        yield replace(tick, accepted=chance.uniform(0.3, 0.7) if good and number < 12 else chance.uniform(0, 0.03))


def slowed_down(chance: random.Random, wording: str) -> Ticks:
    """From some line on each request gets a fraction of its tokens."""
    running, speed, factor = chance.randrange(2, 60), chance.uniform(12, 70), chance.uniform(5, 20)
    for _ in _minutes(chance, wording, 4, 10):
        yield _load(chance, running, speed)
    for _ in _minutes(chance, wording, 2, 5):
        yield replace(_load(chance, running, speed / factor), answered=0)


SICK: dict[Maker, str] = {
    stalled: "stalled",
    stalled_debug: "stalled",
    fell_silent: "stalled",
    cache_full: "cache_full",
    queue_grows: "queued",
    preempted: "preempted",
    drafts_rejected: "drafts_rejected",
    slowed_down: "slowed_down",
}
"""What each must be taken for."""
