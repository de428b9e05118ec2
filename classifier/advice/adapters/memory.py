"""Whether what a fix sets gives one request of the full context the memory that it lacks: the ledger, held against a fix.

A fix that the ledger excludes is joined with the context that fits then, or left out where it gains too little to be worth
its price.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....corpus.actions import SetOption
from ....corpus.records import replace
from ...fix import Fix, because
from ...values.computed import number, whole
from ...values.context import BLOCK, fit_max_model_len
from ...values.memory import default_utilization

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST_GPU_GIB = 288.0
"""The most memory that one GPU has which vLLM serves on (AMD Instinct MI355X)."""
BESIDE = 1.5
"""How many times weights and KV cache the budget may be, where the total is not told: what activations and others take."""
WORTH = 1.25
"""How much longer the context must become for a fix to be worth its price."""
FAR = 1.5
"""How many times the cache one request needs where a somewhat larger share of the memory hardly makes up for it."""
SOME = 0.01
"""GiB of KV cache below which vLLM says that there is none."""
_LIGHTER = frozenset(["--quantization", "--model", "--cpu-offload-gb", "--dtype"])
"""Options that change what the weights take."""
_SHARE = ("--gpu-memory-utilization", "--device-memory-utilization")


def balanced(fix: Fix, part: SetOption, facts: Mapping[str, object]) -> tuple[Fix | None, str]:
    """Return a fix as it makes a request fit, or None with the reason why it does not.

    Args:
        fix: Sets one option.
        part: The option, with its value.
        facts: Of a server whose KV cache is too small for one request; of others all fixes hold.
    """
    cache, needed, unit = lacking(facts)
    if cache >= needed or len(part.values) != 1:
        return _not_starved(fix, part, facts)
    digits = 1 if unit == "GiB" else 0
    then_ = after(part.name, part.value, facts, cache, needed)
    if then_ is None:
        return _with_context(fix, part, facts, cache, needed), ""
    there, then, most = then_
    if there >= then or fix.safety == "destructive":
        return fix, ""
    said = f"{there:.{digits}f} {unit} of KV cache {'at most ' if most else ''}for the {then:.{digits}f} {unit} that one request needs then"
    fits = int(fit_max_model_len(facts).value or 0)
    # Tokens that fit grow with the cache, and with what a token takes less.
    context = int(fits * there / cache * needed / then) // BLOCK * BLOCK if cache > 0 and fits else 0
    if most or not context or context < fits * WORTH or part.name == "--max-model-len":
        return None, f"not enough: {said}"
    return _capped(fix, part, context, f"Alone it is not enough: {said}."), ""


def _not_starved(fix: Fix, part: SetOption, facts: Mapping[str, object]) -> tuple[Fix | None, str]:
    """Join a smaller share with the context that still fits, where it takes from a cache that one request nearly fills."""
    cache, requests = number(facts, "kv_cache_available_gib"), number(facts, "max_concurrency")
    length, total = whole(facts, "max_model_len"), number(facts, "gpu_memory_total_gib")
    if (
        part.name not in _SHARE
        or len(part.values) != 1
        or not cache
        or not requests
        or requests < 1
        or not length
        or not total
    ):
        return fix, ""
    shared = _with_share(part.value, facts, cache, 0.0)
    one = cache / requests
    left = shared[0] if shared is not None else one
    # Windows and states make short contexts dearer by the token: of the rest a tenth is left alone.
    context = int(length * left / one * 0.9) // BLOCK * BLOCK
    if left >= one:
        return fix, ""
    if context < BLOCK:
        return None, f"it takes all of the {cache:.1f} GiB of KV cache"
    said = f"Of the KV cache {left:.1f} GiB are left then, and one request of the full context needs {one:.1f} GiB."
    return _capped(fix, part, context, said), ""


def _with_context(fix: Fix, part: SetOption, facts: Mapping[str, object], cache: float, needed: float) -> Fix:
    """Join a share of a GPU whose size nobody told with the context that fits now, where far more is missing."""
    fits = int(fit_max_model_len(facts).value or 0)
    if part.name not in _SHARE or fix.moves == "down" or not fits or not 0 < cache * FAR < needed:
        return fix
    said = f"Alone it is hardly enough: one request needs {needed / cache:.1f} times the cache."
    return _capped(fix, part, fits, said)


def _capped(fix: Fix, part: SetOption, context: int, why: str) -> Fix:
    """Join what a fix sets with a context."""
    capped = (replace(part, joined=False), SetOption("--max-model-len", (str(context),)))
    return replace(fix, title=f"{fix.title}, and cap the context", actions=capped, remark="", why=because(fix, why))


def beyond_free(parts: Sequence[SetOption], facts: Mapping[str, object]) -> str:
    """Tell why a share of the GPU's memory cannot be had; "" where it can, or the log does not tell what is free.

    vLLM refuses to start while less is free than it would reserve (vllm/v1/worker/utils.py, request_memory).
    """
    free, total = number(facts, "gpu_memory_free_gib"), number(facts, "gpu_memory_total_gib")
    share = next((part.value for part in parts if part.name in _SHARE and len(part.values) == 1), "")
    if free is None or not total or not share.replace(".", "", 1).isdigit() or float(share) * total <= free:
        return ""
    return f"{float(share) * total:.1f} GiB of {total:.1f} GiB are more than the {free:.1f} GiB that are free"


def below_weights(parts: Sequence[SetOption], facts: Mapping[str, object]) -> str:
    """Tell why the weights alone do not fit what a fix leaves for them on each GPU; "" where they do, or nobody knows.

    Args:
        parts: A smaller share of the GPU's memory, or more tensor-parallel ranks.
        facts: Of the start.
    """
    from ...values.sizes import total_weights_gib

    total = number(facts, "gpu_memory_total_gib")
    set_to = {part.name: part.value for part in parts if len(part.values) == 1}
    share = next((set_to[name] for name in _SHARE if name in set_to), "")
    sizes = {
        name: set_to.get(f"--{name.replace('_', '-')}", "")
        for name in ("tensor_parallel_size", "pipeline_parallel_size")
    }
    moved = _is_number(share) or any(size.isdigit() for size in sizes.values())
    if not total or not moved or not _LIGHTER.isdisjoint(set_to):
        return ""
    weights = total_weights_gib(facts)
    given = number(facts, "gpu_memory_utilization")
    room = total * (float(share) if _is_number(share) else given or default_utilization(facts))
    count = 1
    for name, size in sizes.items():
        count *= int(size) if size.isdigit() else whole(facts, name) or 1
    each = float(weights.value) / count if weights else 0.0
    return (
        ""
        if each < room
        else f"the weights take {each:.1f} GiB on each of {count} GPUs, of which {room:.1f} GiB may be used"
    )


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def lacking(facts: Mapping[str, object]) -> tuple[float, float, str]:
    """Return the KV cache that there is, what one request needs, and in what they are told; equals where nothing lacks."""
    needed, cache = number(facts, "kv_cache_needed_gib"), number(facts, "kv_cache_available_gib")
    if cache is not None and (needed is not None or cache <= 0):
        return cache, SOME if needed is None else needed, "GiB"
    fits, length = whole(facts, "max_len_that_fits"), whole(facts, "max_model_len")
    return (float(fits), float(length), "tokens") if fits and length else (0.0, 0.0, "GiB")


def after(
    option: str, value: str, facts: Mapping[str, object], cache: float, needed: float
) -> tuple[float, float, bool] | None:
    """Return cache and need in GiB with an option, and whether the cache is at most that; None where it moves neither."""
    in_tokens = number(facts, "kv_cache_available_gib") is None
    if option in _SHARE and not in_tokens:
        return _with_share(value, facts, cache, needed)
    if option == "--kv-cache-dtype" and value.startswith("fp8"):
        now = str(facts.get("kv_cache_dtype") or "auto").lower()
        return (cache, needed if now.startswith(("fp8", "int8")) else needed / 2, False)
    if option == "--tensor-parallel-size" and value.isdigit():
        weights, ranks = number(facts, "weights_gib"), whole(facts, "tensor_parallel_size") or 1
        if weights is None or int(value) <= ranks or in_tokens:
            return None
        part = ranks / int(value)
        heads = whole(facts, "num_key_value_heads")
        copied = heads is not None and heads < int(value)
        return cache + weights * (1 - part), needed if copied else needed * part, False
    if option == "--max-model-len" and value.isdigit() and (length := whole(facts, "max_model_len")):
        # Windows and states make short contexts dearer by the token, never cheaper: only what is plainly too long is excluded.
        fits = int(fit_max_model_len(facts).value or 0)
        return (cache, needed * int(value) / length, False) if fits and int(value) > fits else None
    return None


def _with_share(
    value: str, facts: Mapping[str, object], cache: float, needed: float
) -> tuple[float, float, bool] | None:
    given, total = number(facts, "gpu_memory_utilization"), number(facts, "gpu_memory_total_gib")
    now = default_utilization(facts) if given is None else given
    try:
        more = float(value) - now
    except ValueError:
        return None
    if total:
        return cache + more * total, needed, False
    weights = number(facts, "weights_gib")
    likely = (weights + max(cache, 0.0)) / now * BESIDE if weights else LARGEST_GPU_GIB
    most = cache + more * min(likely, LARGEST_GPU_GIB)
    return (most, needed, True) if most < needed else None
