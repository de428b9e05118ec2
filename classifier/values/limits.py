"""Limits that a prompt, an adapter or a port ran into, and what lies within them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import gcd

from .computed import Computed, needs, release_at_least, value, whole

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
