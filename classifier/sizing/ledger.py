"""The memory ledger: where a GPU's memory goes, by the log's own numbers, and what would make one request fit.

``total × share = weights + activations + graphs + others + KV cache``. What the log does not tell apart is one entry, worked
out as the rest; where the numbers contradict each other there is no ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor

from ...corpus.records import Record, record
from ..values.computed import number, release_at_least, whole
from ..values.context import BLOCK, ROUNDING, fit_max_model_len
from ..values.memory import HIGHEST, default_utilization, fit_gpu_memory_utilization
from ..values.parallel import raise_tensor_parallel_size

SLACK = 0.15
"""GiB by which the entries may exceed the budget: figures are rounded, and come from different ranks."""
MARGIN = 0.01
"""Share by which a larger share goes beyond what is missing."""
_WIDE = ("auto", "float16", "bfloat16", "half", "none", "")
"""KV cache formats of two bytes."""


@record(frozen=True, slots=True)
class Way(Record):
    """A change by which one request of some context fits, by the ledger's arithmetic."""

    change: str
    """Options to paste."""
    context: int
    """Tokens that one request may have then."""
    yields: str
    """The arithmetic, for people."""


@record(frozen=True, slots=True)
class Ledger(Record):
    """Memory of one GPU, in GiB; None where the log does not tell a figure."""

    total_gib: float | None
    share: float
    budget_gib: float | None
    weights_gib: float
    kv_cache_gib: float
    activations_gib: float | None
    others_gib: float | None
    rest_gib: float | None
    """Activations and others together, worked out, where the log does not tell them apart."""
    graphs_gib: float | None
    """CUDA graphs: within the budget from 0.20 on, before beside it."""
    kv_cache_needed_gib: float | None
    missing: tuple[str, ...]
    """Facts that the log does not tell."""
    ways: tuple[Way, ...]


def ledger(facts: Mapping[str, object]) -> Ledger | None:
    """Return the ledger of a server; None where weights or KV cache are not told, or the sum does not close."""
    total, weights = number(facts, "gpu_memory_total_gib"), number(facts, "weights_gib")
    cache = number(facts, "kv_cache_available_gib")
    given = number(facts, "gpu_memory_utilization")
    share = default_utilization(facts) if given is None else given
    if not weights or cache is None or not 0 < weights < 100_000 or not 0 < share <= 1 or (total or 1) <= 0:
        return None
    activations, others = number(facts, "activation_gib"), number(facts, "non_torch_gib")
    apart = activations is not None and others is not None
    rest = None if not total else total * share - weights - cache
    if rest is not None and (rest < -SLACK or (apart and abs(rest - (activations or 0) - (others or 0)) > SLACK)):
        return None
    wanted = {
        "gpu_memory_total_gib": total, "gpu_memory_utilization": given, "activation_gib": activations,
        "graph_memory_gib": number(facts, "graph_memory_gib"),
    }  # fmt: skip
    return Ledger(
        total_gib=total,
        share=share,
        budget_gib=round(total * share, 2) if total else None,
        weights_gib=weights,
        kv_cache_gib=cache,
        activations_gib=activations if apart else None,
        others_gib=others if apart else None,
        rest_gib=None if apart or rest is None else round(max(rest, 0.0), 2),
        graphs_gib=number(facts, "graph_memory_gib"),
        kv_cache_needed_gib=number(facts, "kv_cache_needed_gib"),
        missing=tuple(name for name, value in wanted.items() if value is None),
        ways=_ways(facts, total, share, cache),
    )


def told(book: Ledger, facts: Mapping[str, object]) -> str:
    """Return the ledger as one line: ``23.6 GiB × 0.90 = 21.2 = weights 14.2 + … + KV cache 5.1``."""
    inside = release_at_least(facts.get("vllm_version"), 0, 20) is not False
    parts = [f"weights {book.weights_gib:.1f}"]
    if book.activations_gib is not None:
        parts += [f"activations {book.activations_gib:.1f}", f"others {book.others_gib or 0:.1f}"]
    else:
        graphs = ", graphs" if inside and book.graphs_gib else ""
        much = "not told" if book.rest_gib is None else f"{book.rest_gib:.1f}"
        parts.append(f"activations{graphs} and others {much}")
    parts.append(f"KV cache {book.kv_cache_gib:.1f}")
    needed = book.kv_cache_needed_gib
    more = f"; one request of the full context needs {needed:.1f}" if needed else ""
    beside = f"; graphs {book.graphs_gib:.1f} beside it" if book.graphs_gib and not inside else ""
    budget = f"{book.total_gib:.1f} GiB × {book.share:g} = {book.budget_gib:.1f} = " if book.budget_gib else "GiB: "
    unknown = "" if book.total_gib else "; the GPU's total is unknown"
    return f"{budget}{' + '.join(parts)}{beside}{unknown}{more}"


def _ways(facts: Mapping[str, object], total: float | None, share: float, cache: float) -> tuple[Way, ...]:
    """Return what makes a request fit that does not, the longest context first, of equals the smaller change first."""
    needed, length = number(facts, "kv_cache_needed_gib"), whole(facts, "max_model_len")
    if not needed or not length or needed <= cache or cache < 0:
        return ()
    # vLLM's own estimate, where the log has it, counts whole blocks of each layer's kind.
    fits = int(fit_max_model_len(facts).value or 0)
    found = [
        _by_share(facts, total, share, cache, needed, length) if total else None,
        _by_format(facts, cache, needed, length),
        _by_ranks(facts, cache, needed, length),
        _way(f"--max-model-len {fits}", fits, f"{cache:.2f} GiB hold that many tokens"),
    ]
    if all(way is None or way.context < length for way in found):
        found.append(_together(facts, total, share, cache, needed, length))
    return tuple(sorted((way for way in found if way is not None), key=lambda way: -way.context))


def _together(
    facts: Mapping[str, object], total: float | None, share: float, cache: float, needed: float, length: int
) -> Way | None:
    """Return several changes at once, where each alone leaves the context short: more ranks, a byte for two, a larger share."""
    changes: list[str] = []
    if ranks := _ranks(facts, cache, needed):
        size, cache, needed = ranks
        changes.append(f"--tensor-parallel-size {size}")
    if needed > cache and _halves(facts):
        needed /= 2
        changes.append("--kv-cache-dtype fp8")
    if needed > cache and total and (way := _by_share(facts, total, share, cache, needed, length)):
        if way.context < length:
            return None
        return _way(f"{' '.join(changes)} {way.change}", length, way.yields) if changes else None
    if needed > cache or len(changes) < 2:
        return None
    return _way(" ".join(changes), length, f"{cache:.2f} GiB of KV cache for the {needed:.2f} needed")


def _by_share(
    facts: Mapping[str, object], total: float, share: float, cache: float, needed: float, length: int
) -> Way | None:
    """Return a larger share, together with a shorter context where what is free is not enough for all of it."""
    free = fit_gpu_memory_utilization(facts)
    highest = min(HIGHEST, float(free.value)) if free.value else HIGHEST
    doubt = "" if free.value else ", if that much is free"
    wanted = -floor(-(share + (needed - cache) / total + MARGIN) * 100) / 100
    if wanted <= highest:
        gained = cache + (wanted - share) * total
        return _way(
            f"--gpu-memory-utilization {wanted:.2f}",
            length,
            f"{gained:.2f} GiB of KV cache for the {needed:.2f} needed{doubt}",
        )
    if highest <= share + MARGIN:
        return None
    gained = cache + (highest - share) * total
    context = _fits(gained, (needed + ROUNDING) / length)
    change = f"--gpu-memory-utilization {highest:.2f} --max-model-len {context}"
    return _way(change, context, f"{gained:.2f} GiB of KV cache, the most there can be{doubt}")


def _by_format(facts: Mapping[str, object], cache: float, needed: float, length: int) -> Way | None:
    """Return keys and values of one byte each, for GPUs."""
    if not _halves(facts):
        return None
    if needed / 2 <= cache:
        return _way(
            "--kv-cache-dtype fp8", length, f"{needed / 2:.2f} GiB needed, half of {needed:.2f}; costs some accuracy"
        )
    # Twice what fits now: vLLM's own estimate, where it tells one, knows layers of several kinds.
    context = min(length, 2 * int(fit_max_model_len(facts).value or 0)) // BLOCK * BLOCK
    return _way(
        f"--kv-cache-dtype fp8 --max-model-len {context}", context, "half the bytes per token; costs some accuracy"
    )


def _halves(facts: Mapping[str, object]) -> bool:
    """Return whether keys and values take two bytes now and could take one."""
    now = str(facts.get("kv_cache_dtype") or "").lower().removeprefix("torch.")
    return now in _WIDE and str(facts.get("platform") or "cuda") in ("cuda", "rocm")


def _by_ranks(facts: Mapping[str, object], cache: float, needed: float, length: int) -> Way | None:
    """Return more of the GPUs that the log shows: weights and keys are split, what a GPU needs besides stays."""
    ranks = _ranks(facts, cache, needed)
    if ranks is None or ranks[2] > ranks[1]:
        return None
    size, there, part = ranks
    return _way(f"--tensor-parallel-size {size}", length, f"{there:.1f} GiB on each GPU for the {part:.2f} needed")


def _ranks(facts: Mapping[str, object], cache: float, needed: float) -> tuple[int, float, float] | None:
    """Return the next number of ranks with each rank's KV cache and need; None where the log shows no GPUs for it."""
    size = raise_tensor_parallel_size(facts).value
    now = whole(facts, "tensor_parallel_size") or 1
    weights = number(facts, "weights_gib") or 0.0
    heads, gpus = whole(facts, "num_key_value_heads"), whole(facts, "gpu_count")
    # Fewer KV heads than ranks are copied: then a rank's share of the cache gets no smaller.
    if not size or int(size) <= now or not heads or not gpus or int(size) > min(heads, gpus):
        return None
    part = now / int(size)
    return int(size), cache + weights * (1 - part), needed * part


def _fits(cache: float, each: float) -> int:
    """Return how many tokens fit, in whole blocks; each takes ``each`` GiB."""
    return int(max(0.0, cache - ROUNDING) / each) // BLOCK * BLOCK


def _way(change: str, context: int, yields: str) -> Way | None:
    return Way(change, context, yields) if context >= BLOCK else None
