"""max_model_len: the longest context that fits, what of it a prompt leaves, and other limits that a request runs into."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import gcd

from .computed import GIB, Computed, needs, number, release_at_least, value, whole

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


_ITEM = 64
"""Tokens that whole items have in common at least: where both numbers share less, they are no sums of the same items."""
_NEAR = 0.1
"""Share of the larger number by which they differ at most."""


@value
def counted_apart(facts: Mapping[str, object]) -> Computed:
    """Return by how many tokens the model's own count and the prompt's differ, where no whole item is missing.

    A prompt by hand has one placeholder for an item; thousands of them are what vLLM itself made of it.
    """
    names = ("mm_tokens", "placeholders")
    made, there = (whole(facts, name) for name in names)
    if not made or not there:
        return needs(*(name for name in names if not whole(facts, name)))
    inputs = {"mm_tokens": made, "placeholders": there}
    apart = abs(made - there)
    if there < 2 * _ITEM or gcd(made, there) >= _ITEM or apart > _NEAR * max(made, there):
        return Computed("", f"{made} against {there}", inputs)
    return Computed(str(apart), f"{made} tokens of the model against {there} placeholders", inputs)


@value
def raised_media_limit(facts: Mapping[str, object]) -> Computed:
    """Return --limit-mm-per-prompt as it was given, with more of the kind whose number was given and refused a prompt."""
    kind, limit, arguments = str(facts.get("modality") or ""), whole(facts, "limit"), facts.get("arguments")
    given = arguments.get("limit_mm_per_prompt") if isinstance(arguments, Mapping) else None
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = None
    if not isinstance(given, Mapping) or not kind or not limit or given.get(kind) != limit:
        return Computed("", "the limit that refused the prompt was not given by hand")
    more = max(2 * limit, whole(facts, "items") or 0)
    inputs = {"limit": limit, "modality": kind}
    return Computed(json.dumps({**given, kind: more}), f"{limit} was given for {kind} → {more}", inputs)


RANKS = (((0, 11, 1), 1), ((0, 0), 8), ((0, 0), 16), ((0, 0), 32), ((0, 0), 64), ((0, 5, 5), 128), ((0, 5, 5), 256), ((0, 8), 320),
         ((0, 8), 512))  # fmt: skip
"""What --max-lora-rank accepts, each with the first release that does: LoRAConfig in vllm/config.py, later vllm/config/lora.py."""


@value
def fit_max_lora_rank(facts: Mapping[str, object]) -> Computed:
    """Return the smallest rank that the release accepts and that has room for the adapter's; none where there is none."""
    rank = whole(facts, "lora_rank")
    if rank is None:
        return needs("lora_rank")
    version = facts.get("vllm_version")
    accepted = [size for since, size in RANKS if release_at_least(version, *since) is not False]
    inputs = {"lora_rank": rank}
    fitting = next((size for size in accepted if size >= rank), None)
    listed = ", ".join(map(str, accepted))
    if fitting is None:
        return Computed("", f"rank {rank} is above what vLLM accepts ({listed})", inputs)
    return Computed(str(fitting), f"of the sizes accepted ({listed}) the first that holds rank {rank}", inputs)


DEFAULT = 8000
"""vLLM's own (vllm/entrypoints/openai/cli_args.py)."""


@value
def free_port(facts: Mapping[str, object]) -> Computed:
    """Return the port after the one in use."""
    try:
        port = int(str(facts.get("port") or DEFAULT))
    except (TypeError, ValueError, OverflowError):
        return Computed("", f"{facts.get('port')!r} is no port", missing=("port",))
    other = port + 1 if 0 < port < 65535 else DEFAULT + 1
    return Computed(str(other), f"the next after {port}", {"port": port})


@value
def graphs(facts: Mapping[str, object]) -> Computed:
    """Return what CUDA graphs are called where there is no CUDA; no value on NVIDIA's and AMD's GPUs, and where no platform is told."""
    platform = str(facts.get("platform") or "cuda")
    return Computed("" if platform in ("cuda", "rocm") else "captured graphs", f"what {platform} calls them")


@value
def http_port(facts: Mapping[str, object]) -> Computed:
    """Return the port that the API server listens on: the one that was given, else vLLM's default."""
    port = whole(facts, "port")
    return (
        Computed(str(port), "as given", {"port": port}) if port else Computed(f"{DEFAULT}, the default", "vLLM's own")
    )
