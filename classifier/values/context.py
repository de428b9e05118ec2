"""max_model_len: the longest context that fits, and what of it a prompt leaves for the answer."""

from __future__ import annotations

from collections.abc import Mapping

from .computed import GIB, Computed, needs, number, value, whole

BLOCK = 16
"""Tokens of a KV-cache block: lengths are rounded down to whole blocks."""
ROUNDING = 0.005
"""vLLM prints GiB with two decimals: each printed figure may be off by this much."""


@value
def fit_max_model_len(facts: Mapping[str, object]) -> Computed:
    """Return the longest context (tokens) that fits: vLLM's own estimate first, else worked out from the KV cache.

    vLLM searches the longest length whose blocks fit the available memory (vllm/v1/core/kv_cache_planning.py, before
    0.22 kv_cache_utils.py: estimate_max_model_len) and prints it from 0.8.5 on. Where it is not in the log: in
    proportion to the memory needed; else by the tokens that the cache holds; else by the bytes that a token takes.
    """
    estimate = whole(facts, "max_len_that_fits")
    if estimate:
        return Computed(str(estimate), f"vLLM's own estimate: {estimate}", {"max_len_that_fits": estimate})
    for way in (_by_proportion, _by_tokens):
        # An answer without a value is one, too: it says that all fits, or nothing.
        if (found := way(facts)) is not None:
            return found
    return _by_bytes(facts)


@value
def fit_output_tokens(facts: Mapping[str, object]) -> Computed:
    """Return how many tokens of an answer fit behind a request's prompt: both share max_model_len."""
    length, prompt = whole(facts, "max_model_len"), whole(facts, "prompt_tokens")
    if not length or not prompt:
        return needs(*(name for name, known in (("max_model_len", length), ("prompt_tokens", prompt)) if not known))
    inputs = {"max_model_len": length, "prompt_tokens": prompt}
    if prompt >= length:
        return Computed("", f"the prompt's {prompt} tokens fill the context of {length}", inputs)
    if prompt_tokens_at_least(facts):
        return Computed("", f"vLLM counted the prompt up to {prompt} tokens and no further", inputs)
    return Computed(str(length - prompt), f"{length} - {prompt} tokens of the prompt → {length - prompt}", inputs)


@value
def prompt_tokens_at_least(facts: Mapping[str, object]) -> Computed:
    """Return a prompt's tokens where the number in the message is only where vLLM stopped counting; no value elsewhere.

    From 0.16 on the tokeniser is stopped one token above what the requested answer leaves of the context
    (vllm/renderers/params.py: get_encode_kwargs): all longer prompts are reported with that number.
    """
    length, prompt, output = (whole(facts, name) for name in ("max_model_len", "prompt_tokens", "output_tokens"))
    known = {"max_model_len": length, "prompt_tokens": prompt, "output_tokens": output}
    if not length or not prompt or not output:
        return needs(*(name for name, value in known.items() if not value))
    if prompt + output != length + 1:
        return Computed("", f"all {prompt} tokens of the prompt were counted")
    inputs = {"max_model_len": length, "prompt_tokens": prompt, "output_tokens": output}
    return Computed(str(prompt), f"{length} - {output} tokens of the answer + 1", inputs)


@value
def prompt_tokens_counted(facts: Mapping[str, object]) -> Computed:
    """Return a prompt's tokens where vLLM counted all of them."""
    prompt = whole(facts, "prompt_tokens")
    if not prompt:
        return needs("prompt_tokens")
    if prompt_tokens_at_least(facts):
        return Computed("", f"vLLM stopped counting at {prompt}")
    return Computed(str(prompt), f"all {prompt} were counted", {"prompt_tokens": prompt})


@value
def output_share_percent(facts: Mapping[str, object]) -> Computed:
    """Return how much of the context a request reserves for the answer, in percent."""
    length, output = whole(facts, "max_model_len"), whole(facts, "output_tokens")
    if not length or not output:
        return needs(*(name for name, known in (("max_model_len", length), ("output_tokens", output)) if not known))
    return Computed(
        str(100 * output // length), f"{output} of {length} tokens", {"max_model_len": length, "output_tokens": output}
    )


def _by_proportion(facts: Mapping[str, object]) -> Computed | None:
    wanted = whole(facts, "max_model_len")
    needed, left = number(facts, "kv_cache_needed_gib"), number(facts, "kv_cache_available_gib")
    if not wanted or not needed or left is None or needed <= 0:
        return None
    inputs = {"max_model_len": wanted, "kv_cache_needed_gib": needed, "kv_cache_available_gib": left}
    if left >= needed:
        return Computed("", f"{needed:g} GiB are needed and {left:g} GiB are there: the full context fits", inputs)
    tokens = int(wanted * max(0.0, left - ROUNDING) / (needed + ROUNDING)) // BLOCK * BLOCK
    text = f"{wanted} tokens × {left:g} GiB left ÷ {needed:g} GiB needed, down to whole blocks of {BLOCK}"
    if tokens < BLOCK:
        return Computed("", f"{text}: not one block fits", inputs)
    return Computed(str(tokens), f"{text} → {tokens}", inputs)


def _by_tokens(facts: Mapping[str, object]) -> Computed | None:
    tokens, inputs = whole(facts, "kv_cache_tokens"), {}
    text = f"the KV cache holds {tokens} tokens"
    if tokens:
        inputs["kv_cache_tokens"] = tokens
    elif blocks := whole(facts, "gpu_blocks"):
        tokens, inputs["gpu_blocks"] = blocks * BLOCK, blocks
        text = f"{blocks} blocks × {BLOCK} tokens"
    else:
        return None
    fits = tokens // BLOCK * BLOCK
    wanted = whole(facts, "max_model_len")
    if wanted and fits >= wanted:
        return Computed("", f"{text}: the full context of {wanted} fits", inputs | {"max_model_len": wanted})
    return Computed(str(fits), f"{text} → {fits}", inputs) if fits else Computed("", f"{text}: not one block", inputs)


def _by_bytes(facts: Mapping[str, object]) -> Computed:
    left, each = number(facts, "kv_cache_available_gib"), number(facts, "kv_bytes_per_token")
    if left is None or not each or each <= 0:
        absent = {"kv_cache_available_gib": left is not None, "kv_bytes_per_token": bool(each)}
        return needs(*(name for name, known in absent.items() if not known))
    inputs = {"kv_cache_available_gib": left, "kv_bytes_per_token": each}
    fits = int(max(0.0, left - ROUNDING) * GIB / each) // BLOCK * BLOCK
    text = f"{left:g} GiB ÷ {each / 1024:g} KiB per token"
    wanted = whole(facts, "max_model_len")
    if wanted and fits >= wanted:
        return Computed("", f"{text} = {fits} tokens: the full context of {wanted} fits", inputs)
    return Computed(str(fits), f"{text} → {fits}", inputs) if fits else Computed("", f"{text}: not one block", inputs)
