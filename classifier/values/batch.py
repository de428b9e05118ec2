"""max_num_seqs and max_num_batched_tokens: how much is worked on in one step."""

from __future__ import annotations

from collections.abc import Mapping

from .computed import Computed, needs, number, release_at_least, value, whole

_USUAL = 256
"""vLLM's default of max_num_seqs, but on large GPUs."""
_LARGE = 1024
_PROMPTS = 8192
"""Tokens a step that are usual where prompts are long."""
_MANY = 16384
"""Tokens a step from which on more of them bring little."""
_BUSY = 4
"""How many times more tokens of prompts than of answers keep an engine busy with prompts."""
_FULL = 95
"""Per cent of the KV cache in use from which on it counts as full."""
_QUEUED = 3
"""How many times more requests wait than run from which on fewer at a time shorten no wait."""
_BINDS = 0.9
"""Share of max_num_seqs that runs from which on it counts as the limit."""


def default_max_num_seqs(facts: Mapping[str, object]) -> int:
    """Return what ``vllm serve`` takes where max_num_seqs is not given (vllm/engine/arg_utils.py, get_batch_defaults).

    From 0.8.5 on it is 1024 on GPUs of 70 GiB and more; from 0.9.2 on not on the A100; else 256. Where more than 256 requests
    run, it is the larger one, whatever the log tells of the GPU.
    """
    if (number(facts, "running") or 0) > _USUAL:
        return _LARGE
    total, name = number(facts, "gpu_memory_total_gib") or 0, str(facts.get("gpu_name") or "").lower()
    version = facts.get("vllm_version") or facts.get("assumed_release")
    if total < 70 or facts.get("engine") == "V0" or release_at_least(version, 0, 8, 5) is False:
        return _USUAL
    small = "a100" in name and release_at_least(version, 0, 9, 2) is not False
    return _USUAL if small or "gb10" in name else _LARGE


def default_max_num_batched_tokens(facts: Mapping[str, object]) -> int:
    """Return what ``vllm serve`` takes where max_num_batched_tokens is not given (get_batch_defaults, as above).

    Before chunked prefill was the default (0.8) it was the context's length, at least 2048 (vllm/config.py).
    """
    total, version = number(facts, "gpu_memory_total_gib") or 0, facts.get("vllm_version")
    if release_at_least(version, 0, 8) is False or facts.get("engine") == "V0":
        return max(2048, whole(facts, "max_model_len") or 2048)
    if total >= 160 and release_at_least(version, 0, 33) is not False:
        return 16384
    return 8192 if default_max_num_seqs(facts) == _LARGE else 2048


@value
def halve_max_num_seqs(facts: Mapping[str, object]) -> Computed:
    """Return half of max_num_seqs (of vLLM's default where the log does not say)."""
    given = whole(facts, "max_num_seqs")
    now = given or default_max_num_seqs(facts)
    said = f"{now}" if given else f"{now} (vLLM's default)"
    if now == 1:
        return Computed("", "1 is the smallest number", {"max_num_seqs": now})
    return Computed(str(now // 2), f"half of {said}", {"max_num_seqs": now})


@value
def usual_max_num_seqs(facts: Mapping[str, object]) -> Computed:
    """Return vLLM's default of max_num_seqs, where more sequences may run; by the rows that a warm-up made, where only these are told."""
    now = whole(facts, "max_num_seqs") or whole(facts, "dummy_requests")
    if not now:
        return Computed("", "the log does not tell how many may run")
    if now <= _USUAL:
        return Computed("", f"{now} is no more than the default", {"max_num_seqs": now})
    return Computed(str(_USUAL), f"{now} → {_USUAL}, the default of most GPUs", {"max_num_seqs": now})


@value
def raise_max_num_seqs(facts: Mapping[str, object]) -> Computed:
    """Return twice max_num_seqs, where as many requests run as it allows: below that something else is the limit."""
    running = number(facts, "running")
    if running is None:
        return needs("running")
    given = whole(facts, "max_num_seqs")
    now = given or default_max_num_seqs(facts)
    if running < _BINDS * now:
        return Computed("", f"{running:g} run, and {now} might: max_num_seqs is not the limit", {"running": running})
    said = f"{now}" if given else f"{now} (vLLM's default)"
    return Computed(str(2 * now), f"twice {said}", {"max_num_seqs": now, "running": running})


@value
def below_running(facts: Mapping[str, object]) -> Computed:
    """Return nine tenths of the requests that run while the KV cache is full: the others wait instead of being computed twice."""
    running, usage = whole(facts, "running"), number(facts, "kv_cache_usage_percent")
    if running is None or usage is None:
        absent = {"running": running is not None, "kv_cache_usage_percent": usage is not None}
        return needs(*(name for name, known in absent.items() if not known))
    inputs = {"running": running, "kv_cache_usage_percent": usage}
    if usage < _FULL or running < 2:
        return Computed("", f"{running} run, and {usage:g} % of the cache are in use: it is not full now", inputs)
    fewer = max(1, running * 9 // 10)
    return Computed(
        str(fewer), f"nine tenths of {running} that run with {usage:g} % of the cache in use → {fewer}", inputs
    )


@value
def more_wait_than_run(facts: Mapping[str, object]) -> Computed:
    """Return how many times more requests wait than run while the KV cache is full; nothing where they are few, or room is left."""
    waiting, running, usage = (number(facts, name) for name in ("waiting", "running", "kv_cache_usage_percent"))
    if not waiting or not running or usage is None or usage < _FULL or waiting < _QUEUED * running:
        return Computed("", "few wait, or the cache is not full")
    inputs = {"waiting": waiting, "running": running, "kv_cache_usage_percent": usage}
    return Computed(f"{waiting / running:.0f}", f"{waiting:g} wait while {running:g} run", inputs)


@value
def raise_max_num_batched_tokens(facts: Mapping[str, object]) -> Computed:
    """Return more tokens a step, where prompts are what the engine is busy with; below 8192 that is the next step anyway."""
    given = whole(facts, "max_num_batched_tokens")
    if given and given < _PROMPTS:
        return Computed(str(_PROMPTS), f"now {given}", {"max_num_batched_tokens": given})
    prompts, answers = number(facts, "prompt_throughput"), number(facts, "generation_throughput")
    version = facts.get("vllm_version") or facts.get("assumed_release")
    unchunked = facts.get("engine") == "V0" or release_at_least(version, 0, 8) is False
    if prompts is None or answers is None or (not given and unchunked):
        return needs("prompt_throughput", "generation_throughput")
    inputs = {"prompt_throughput": prompts, "generation_throughput": answers}
    if prompts < _BUSY * answers:
        return Computed("", f"{prompts:g} tokens/s of prompts beside {answers:g} generated: not prompts alone", inputs)
    now = given or default_max_num_batched_tokens(facts)
    said = f"{now}" if given else f"{now} (vLLM's default)"
    if now > _MANY:
        return Computed("", f"{said} is much already", inputs)
    how = f"{prompts:g} tokens/s of prompts beside {answers:g} generated: the engine is busy with prompts; twice {said}"
    return Computed(str(2 * now), how, inputs)


@value
def fit_max_num_seqs(facts: Mapping[str, object]) -> Computed:
    """Return how many requests of the full context the KV cache holds at a time.

    vLLM prints the same as 'Maximum concurrency for … tokens per request'.
    """
    held = number(facts, "max_concurrency")
    if held is not None:
        count = int(held)
        text, inputs = f"maximum concurrency {held:g} at the full context", {"max_concurrency": held}
    else:
        tokens, length = whole(facts, "kv_cache_tokens"), whole(facts, "max_model_len")
        if not tokens or not length:
            absent = {"kv_cache_tokens": tokens, "max_model_len": length}
            return needs(*(name for name, known in absent.items() if not known))
        count = tokens // length
        text, inputs = (
            f"{tokens} tokens of KV cache ÷ {length} tokens",
            {"kv_cache_tokens": tokens, "max_model_len": length},
        )
    if count < 1:
        return Computed("", f"{text}: not one request of the full context fits", inputs)
    return Computed(str(count), f"{text} → {count}", inputs)


@value
def halve_max_num_batched_tokens(facts: Mapping[str, object]) -> Computed:
    """Return half of max_num_batched_tokens, not below what vLLM accepts.

    It must be at least max_num_seqs, and at least max_model_len without chunked prefill (vllm/config/scheduler.py,
    verify_max_model_len).
    """
    given = whole(facts, "max_num_batched_tokens")
    now = given or default_max_num_batched_tokens(facts)
    seqs = whole(facts, "max_num_seqs") or default_max_num_seqs(facts)
    least, why = seqs, f"at least max_num_seqs {seqs}"
    length = whole(facts, "max_model_len")
    arguments = facts.get("arguments")
    chunked = arguments.get("enable_chunked_prefill") if isinstance(arguments, Mapping) else None
    old = release_at_least(facts.get("vllm_version"), 0, 8) is False or facts.get("engine") == "V0"
    unchunked = str(chunked).lower() == "false" or (old and chunked is None)
    inputs = {"max_num_batched_tokens": now, "max_num_seqs": seqs}
    if unchunked and length and length > least:
        least, why = length, f"at least max_model_len {length} without chunked prefill"
        inputs["max_model_len"] = length
    value = max(now // 2, least)
    said = f"{now}" if given else f"{now} (vLLM's default)"
    if value >= now:
        return Computed("", f"{said} cannot be halved: {why}", inputs)
    return Computed(str(value), f"half of {said}" + (f", {why}" if value > now // 2 else "") + f" → {value}", inputs)
