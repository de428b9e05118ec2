"""Server logs as vLLM writes them at work: ``python benchmarks/serving_log.py RELEASE MIB FILE``.

The formats are those of each release's source; prompts, ids and numbers are made up. A busy server with short requests is
mostly lines of requests and access lines; prompts were printed by default until 0.9.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

RELEASES = ("0.6.0", "0.9.2", "0.10.2", "0.14.1", "0.32.0")
"""Releases after which the form of these lines changed."""
SOURCES = {  # the logger's file and line: request received, added, finished or aborted, statistics, drafts
    "0.6.0": ("logger.py:36]", "async_llm_engine.py:206]", "async_llm_engine.py:174]", "metrics.py:351]", ""),
    "0.9.2": ("[logger.py:43]", "[async_llm.py:270]", "[async_llm.py:431]", "[loggers.py:118]", "[metrics.py:86]"),
    "0.10.2": ("[logger.py:40]", "[async_llm.py:321]", "[async_llm.py:499]", "[loggers.py:123]", "[metrics.py:96]"),
    "0.14.1": ("[logger.py:49]", "[async_llm.py:382]", "[async_llm.py:563]", "[loggers.py:257]", "[metrics.py:100]"),
    "0.32.0": ("[request_logger.py:65]", "[async_llm.py:578]", "[async_llm.py:922]", "[loggers.py:335]", "[metrics.py:120]"),
}  # fmt: skip
PROMPT = "request {id}: prompt: '{prompt}', params: {params}, prompt_token_ids: {tokens}, {embeds}lora_request: None{adapter}."
NO_PROMPT = "request {id}: params: {params}, lora_request: None."
BEFORE = (
    "n=1, {best}presence_penalty=0.0, frequency_penalty=0.0, repetition_penalty=1.0, temperature={temperature}, {water}top_p=1.0, "
    "top_k={top_k}, min_p=0.0, seed=None, {beam}stop=[], stop_token_ids=[], "
)
AFTER = (
    "include_stop_str_in_output=False, ignore_eos=False, max_tokens={most}, min_tokens=0, logprobs=None, prompt_logprobs=None, "
    "skip_special_tokens=True, spaces_between_special_tokens=True, "
)
PARAMETERS = {
    "0.6.0": BEFORE + AFTER + "truncate_prompt_tokens=None",
    "0.9.2": BEFORE + "bad_words=[], " + AFTER + "truncate_prompt_tokens=None, guided_decoding=None, extra_args=None",
    "0.10.2": BEFORE + "bad_words=[], " + AFTER + "truncate_prompt_tokens=None, guided_decoding=None, extra_args=None",
    "0.14.1": BEFORE
    + "bad_words=[], "
    + AFTER
    + "truncate_prompt_tokens=None, structured_outputs=None, extra_args=None",
    "0.32.0": BEFORE
    + "bad_words=[], thinking_token_budget=None, "
    + AFTER
    + "structured_outputs=None, extra_args=None",
}
STATISTICS = (
    "Engine 000: Avg prompt throughput: {read:.1f} tokens/s, Avg generation throughput: {made:.1f} tokens/s, Running: {running} reqs, "
    "Waiting: {waiting} reqs, GPU KV cache usage: {used:.1f}%, Prefix cache hit rate: {hit:.1f}%"
)
OLD_STATISTICS = (
    "Avg prompt throughput: {read:.1f} tokens/s, Avg generation throughput: {made:.1f} tokens/s, Running: {running} reqs, "
    "Swapped: 0 reqs, Pending: {waiting} reqs, GPU KV cache usage: {used:.1f}%, CPU KV cache usage: 0.0%."
)
DRAFTS = {
    "0.9.2": "SpecDecoding metrics: Draft acceptance rate: {rate:.1f}%, Mean acceptance length: {length:.2f}, Accepted: {taken} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: 0.{rate:.0f}1, 0.{taken}",
    "0.32.0": "SpecDecoding metrics: Mean acceptance length: {length:.2f}, Accepted throughput: {made:.2f} tokens/s, Drafted throughput: {read:.2f} tokens/s, Accepted: {taken} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: 0.{rate:.0f}1, 0.{taken}, Avg Draft acceptance rate: {rate:.1f}%",
}
WORDS = (
    "the of and to in is that for on with as be this have from or by word but what some we can out other were all there use how "
    "said each which do their time if will way about many then them write would like so these long make thing see him two has look "
    "more day could go come did number sound no most people over know water than call first who may down find error memory model "
    "cuda device token cache request failed value tensor traceback exception context length"
).split()
QUIET = [("GET /health", "200 OK"), ("GET /metrics", "200 OK"), ("GET /v1/models", "200 OK"), ("GET /ping", "200 OK")]
CALLS = [("POST /v1/chat/completions", "200 OK")] * 40 + [("POST /v1/completions", "200 OK")] * 15 + [
    ("POST /v1/embeddings", "200 OK"), ("POST /v1/chat/completions", "400 Bad Request"), ("POST /tokenize", "200 OK"),
]  # fmt: skip


def lines(release: str, seed: int = 7, drafts: bool = False, requests: bool = True) -> Iterator[str]:
    """Yield the lines of a server at work, without end.

    Args:
        release: One of ``RELEASES``.
        seed: Of all that is made up.
        drafts: Whether it decodes speculatively.
        requests: Whether it logs requests: by default until 0.9, with ``--enable-log-requests`` since.
    """
    chance = random.Random(seed)
    who, uvicorn = _speaker(release)
    received, added, ended, loggers, metrics = SOURCES[release]
    sentences = [" ".join(chance.choices(WORDS, k=chance.randrange(6, 22))) + ". " for _ in range(1000)]
    clock = 0.0
    while True:
        clock += chance.expovariate(8)
        stamp = _stamp(int(clock))
        call, status = chance.choice(CALLS)
        if requests and call.startswith(("POST /v1/chat", "POST /v1/comp")):
            name = f"{'chatcmpl' if 'chat' in call else 'cmpl'}-{chance.getrandbits(128):032x}"
            yield f"{who}INFO {stamp} {received} Received {_request(release, name, chance, sentences)}"
            yield f"{who}INFO {stamp} {added} Added request {name}."
            if release == "0.6.0":
                yield f"{who}INFO {stamp} {ended} Finished request {name}."
            elif chance.random() < 0.02:
                yield f"{who}INFO {stamp} {ended} Aborted request{'' if release == '0.9.2' else '(s)'} {name}."
        yield f'{uvicorn}INFO:     10.{chance.randrange(250)}.{chance.randrange(250)}.7:{chance.randrange(2000, 60000)} - "{call} HTTP/1.1" {status}'
        if chance.random() < 0.05:
            call, status = chance.choice(QUIET)
            yield f'{uvicorn}INFO:     10.0.0.{chance.randrange(250)}:{chance.randrange(2000, 60000)} - "{call} HTTP/1.1" {status}'
        if chance.random() < 0.0125:  # each ten seconds
            numbers = _numbers(chance)
            statistics = OLD_STATISTICS if release == "0.6.0" else STATISTICS
            yield f"{who}INFO {stamp} {loggers} {statistics.format(**numbers)}"
            if drafts and metrics:
                yield f"{who}INFO {stamp} {metrics} {DRAFTS['0.9.2' if release == '0.9.2' else '0.32.0'].format(**numbers)}"


def _speaker(release: str) -> tuple[str, str]:
    """Return what stands before vLLM's lines, and before uvicorn's: the process, since 0.10 coloured for some time."""
    if release in ("0.6.0", "0.9.2"):
        return "", ""
    if release == "0.32.0":
        return "(APIServer pid=41) ", "(APIServer pid=41) "
    colour = "\x1b[1;36m" if release == "0.10.2" else "\x1b[0;36m"
    return (f"{colour}(APIServer pid=41)\x1b[0;0m ",) * 2


def _stamp(second: int) -> str:
    day, rest = divmod(second, 86400)
    return f"11-{day % 28 + 1:02d} {rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


def _numbers(chance: random.Random) -> dict[str, float]:
    return {
        "read": chance.random() * 9000, "made": chance.random() * 4000, "running": chance.randrange(90), "waiting": 0,
        "used": chance.random() * 90, "hit": 30 + chance.random(), "rate": 40 + chance.randrange(50), "length": 1 + chance.random() * 2,
        "taken": chance.randrange(100, 999), "drafted": chance.randrange(1000, 9999),
    }  # fmt: skip


def _request(release: str, name: str, chance: random.Random, sentences: list[str]) -> str:
    old = release == "0.6.0"
    params = PARAMETERS[release].format(
        best="best_of=1, " if old else "", water="watermarking=None, " if release == "0.32.0" else "",
        beam="use_beam_search=False, length_penalty=1.0, early_stopping=False, " if old else "",
        temperature=chance.choice((0.0, 0.7, 1.0)), top_k=-1 if old else 0, most=chance.randrange(16, 4096),
    )  # fmt: skip
    if release in ("0.14.1", "0.32.0"):
        return NO_PROMPT.format(id=name, params=f"SamplingParams({params})")
    return PROMPT.format(
        id=name, prompt="".join(chance.choices(sentences, k=chance.randrange(1, 24))), params=f"SamplingParams({params})",
        tokens="None" if chance.random() < 0.5 else [chance.randrange(150_000) for _ in range(chance.randrange(8, 300))],
        embeds="" if old else "prompt_embeds shape: None, ", adapter="" if release == "0.10.2" else ", prompt_adapter_request: None",
    )  # fmt: skip


def write(path: Path, release: str, mib: float, *, drafts: bool = False, requests: bool = True) -> Path:
    """Write a log of so many MiB: a recorded start, then the server at work."""
    start = Path(__file__).parent.parent / "corpus" / "logs" / "recorded"
    with path.open("w", encoding="utf-8") as file:
        size = 0
        begun = start / release / "healthy-serve.log"
        if begun.exists():
            head = begun.read_text(encoding="utf-8", errors="replace")
            size += file.write(head[: head.index("\n", head.index("Application startup complete.")) + 1])
        for line in lines(release, drafts=drafts, requests=requests):
            size += file.write(line + "\n")
            if size >= mib * (1 << 20):
                return path
    return path


if __name__ == "__main__":
    write(Path(sys.argv[3]), sys.argv[1], float(sys.argv[2]))
