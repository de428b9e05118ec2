"""tensor_parallel_size: sizes that divide a model, and the next one up or down."""

from __future__ import annotations

from collections.abc import Mapping

from .computed import Computed, needs, value, whole

VOCAB_PADDING = 64
"""vLLM pads the vocabulary to a multiple of this before it is split (layers/vocab_parallel_embedding.py)."""
MOST = 1024
"""No larger size is looked at."""


def divides(size: int, heads: int | None = None, kv_heads: int | None = None, vocab: int | None = None) -> bool:
    """Return whether a model can be split over ``size`` ranks; what is not known is not checked.

    Attention heads must divide (vllm/config/model.py, verify_with_parallel_config); KV heads must divide, or be
    replicated evenly where there are fewer than ranks (QKVParallelLinear; models/llama.py asserts it); the padded
    vocabulary must divide (VocabParallelEmbedding).
    """
    if size < 1:
        return False
    if heads and heads % size:
        return False
    if kv_heads and kv_heads % size and size % kv_heads:
        return False
    padded = -(-vocab // VOCAB_PADDING) * VOCAB_PADDING if vocab else 0
    return not padded % size


def sizes_that_divide(most: int, facts: Mapping[str, object]) -> list[int]:
    """Return the sizes up to ``most`` that divide the model, ascending.

    Where the number of heads or of KV heads is not known these are powers of two, which divide both of nearly every model:
    7 ranks divide 28 heads, and not the 4 KV heads beside them.
    """
    heads = whole(facts, "num_attention_heads", "num_heads")
    kv_heads, vocab = whole(facts, "num_key_value_heads"), whole(facts, "vocab_size")
    found = [size for size in range(1, min(most, MOST) + 1) if divides(size, heads, kv_heads, vocab)]
    return found if heads and kv_heads else [size for size in found if size & (size - 1) == 0]


@value
def fit_tensor_parallel_size(facts: Mapping[str, object]) -> Computed:
    """Return the size to change to: down where the one asked for cannot work, else the next one up on the GPUs seen."""
    asked, gpus = _asked(facts), _gpus(facts)
    heads = whole(facts, "num_attention_heads", "num_heads")
    if gpus and asked > gpus:
        return lower_tensor_parallel_size(facts)
    if heads and not divides(asked, heads, whole(facts, "num_key_value_heads"), whole(facts, "vocab_size")):
        return lower_tensor_parallel_size(facts)
    return raise_tensor_parallel_size(facts)


@value
def raise_tensor_parallel_size(facts: Mapping[str, object]) -> Computed:
    """Return the next larger size that divides the model and fits the GPUs seen."""
    asked, gpus = _asked(facts), _gpus(facts)
    if not gpus:
        return needs("gpu_count")
    inputs = {"gpu_count": gpus, "tensor_parallel_size": asked} | _model(facts)
    larger = [size for size in sizes_that_divide(gpus, facts) if size > asked]
    if not larger:
        return Computed("", f"no size above {asked} fits {_count(gpus)}{_reason(facts)}", inputs)
    return Computed(
        str(larger[0]), f"the next size above {asked} on {_count(gpus)}{_reason(facts)} → {larger[0]}", inputs
    )


@value
def lower_tensor_parallel_size(facts: Mapping[str, object]) -> Computed:
    """Return the largest size that divides the model, is smaller than what was asked for, and fits the GPUs seen."""
    asked, gpus = _asked(facts), _gpus(facts)
    if asked <= 1:
        return (
            Computed("", "1 is the smallest size", {"tensor_parallel_size": asked})
            if _given(facts)
            else needs("tensor_parallel_size")
        )
    most = min(asked - 1, gpus or asked - 1)
    size = sizes_that_divide(most, facts)[-1]
    inputs = {"tensor_parallel_size": asked} | ({"gpu_count": gpus} if gpus else {}) | _model(facts)
    where = f", at most {_count(gpus)}" if gpus else ""
    return Computed(str(size), f"the largest size below {asked}{where}{_reason(facts)} → {size}", inputs)


@value
def alignment_factor(facts: Mapping[str, object]) -> Computed:
    """Return by what to divide the ranks so that a slice of ``size`` becomes a multiple of ``multiple``; 2 where a number is missing.

    Nothing where no power of two up to 8 makes it one: fewer ranks do not help then.
    """
    size, multiple = whole(facts, "size"), whole(facts, "multiple")
    if not size or not multiple:
        return Computed("2", "")
    inputs = {"size": size, "multiple": multiple}
    factor = next((factor for factor in (2, 4, 8) if size * factor % multiple == 0), 0)
    if not factor:
        return Computed("", f"{size} × 2, 4 and 8 are no multiples of {multiple}", inputs)
    return Computed(str(factor), f"{size} × {factor} = {size * factor} is a multiple of {multiple}", inputs)


@value
def aligned_tensor_parallel_size(facts: Mapping[str, object]) -> Computed:
    """Return the largest number of ranks whose slices are a multiple of what a quantised format needs; "" where none is."""
    asked, factor = _asked(facts), alignment_factor(facts)
    if not factor or not factor.inputs:
        return lower_tensor_parallel_size(facts) if factor else factor
    if asked % int(factor.value):
        return Computed("", f"{asked} ranks cannot be made {factor.value} times fewer", factor.inputs)
    return Computed(str(asked // int(factor.value)), f"{factor.formula}: {asked} ranks / {factor.value}", factor.inputs)


def _given(facts: Mapping[str, object]) -> int | None:
    return whole(facts, "tensor_parallel_size", "world_size")


def _asked(facts: Mapping[str, object]) -> int:
    """Return the size that was asked for; vLLM's default is 1."""
    return _given(facts) or 1


def _gpus(facts: Mapping[str, object]) -> int | None:
    """Return how many GPUs tensor parallelism may use: pipeline stages and data-parallel ranks need theirs as well."""
    seen = whole(facts, "gpu_count")
    others = (whole(facts, "pipeline_parallel_size") or 1) * (whole(facts, "data_parallel_size") or 1)
    return max(1, seen // others) if seen else None


def _model(facts: Mapping[str, object]) -> dict[str, int]:
    names = ("num_attention_heads", "num_heads", "num_key_value_heads", "vocab_size")
    return {name: value for name in names if (value := whole(facts, name))}


def _reason(facts: Mapping[str, object]) -> str:
    model = _model(facts)
    if not model.keys() & {"num_attention_heads", "num_heads"}:
        return " (heads not known: a power of two)"
    words = {
        "num_attention_heads": "heads",
        "num_heads": "heads",
        "num_key_value_heads": "KV heads",
        "vocab_size": "tokens of vocabulary",
    }
    told = " that divides " + ", ".join(f"{value} {words[name]}" for name, value in model.items())
    return told if "num_key_value_heads" in model else f"{told} (KV heads not known: a power of two)"


def _count(gpus: int) -> str:
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"
