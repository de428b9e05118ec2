"""Weights against GPUs: what no flag can make fit, and the smallest change that does."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from ..patterns.lazy import LazyPattern
from .computed import GIB, Computed, needs, number, short, value, whole
from .memory import default_utilization
from .parallel import sizes_that_divide

FULLER = 0.95
"""Share of a GPU's memory that may be asked for where the one in force is too small for the weights."""
RESERVE_GIB = 1.5
"""What activations, CUDA context and a minimal KV cache take beside the weights: below that no server starts."""
_MOST_GPUS = 64
_ADDED_GIB = 12.0
"""Memory of a GPU below which nobody adds more of it: those of notebooks and desktops."""
_DISPLAY_GIB = 0.6
"""What a fuller share must leave to the driver and to what else uses the GPU, on small cards mostly a screen."""
_WIDE = 0.4
"""Billions of parameters that quantised checkpoints leave at 16 bits (embeddings, lm_head), for each square root of all billions."""
_FULL = 16
_FOUR_BITS = 4.16
"""With scales and zero points for each group of 128."""
_DTYPE_BITS = {
    "float32": 32,
    "fp32": 32,
    "float": 32,
    "float16": 16,
    "half": 16,
    "fp16": 16,
    "bfloat16": 16,
    "bf16": 16,
}
# Bits of a quantised weight with its scales and zero points (groups of 128, bitsandbytes 64, MXFP4 32, NVFP4 16).
_EIGHT = ("fp8", "ptpc_fp8", "fbgemm_fp8", "modelopt", "experts_int8", "tpu_int8", "w8a8", "int8")
_FOUR = ("awq", "awq_marlin", "gptq", "gptq_marlin", "moe_wna16", "w4a16", "int4", "auto-round")
_FLOAT4 = ("bitsandbytes", "bnb", "modelopt_fp4", "nvfp4", "fp4")
# Bits of a quantised weight with its scales and zero points (groups of 128, bitsandbytes 64, MXFP4 32, NVFP4 16).
_QUANT_BITS = {
    **dict.fromkeys(_EIGHT, 8.0),
    **dict.fromkeys(_FOUR, _FOUR_BITS),
    **dict.fromkeys(_FLOAT4, 4.5),
    "mxfp4": 4.25,
    "gpt_oss_mxfp4": 4.25,
}
_NAME_MARKS = (
    ("gpt-oss", "mxfp4"),
    ("nvfp4", "nvfp4"),
    ("mxfp4", "mxfp4"),
    ("fp4", "fp4"),
    ("w4a16", "w4a16"),
    ("int4", "int4"),
    ("awq", "awq"),
    ("gptq-int8", "int8"),
    ("gptq", "gptq"),
    ("bnb-4bit", "bnb"),
    ("4bit", "int4"),
    ("w8a8", "w8a8"),
    ("int8", "int8"),
    ("8bit", "int8"),
    ("fp8", "fp8"),
)
_OPAQUE = ("gguf", "compressed-tensors", "quark", "hqq", "aqlm", "torchao", "exl2", "modelopt_mixed")
# '70B', '8x7B', '1.5B', '0.5B'; not the active parameters of '30B-A3B', nor '4bit', 'b16'.
_ACTIVE = LazyPattern(r"(?i)-\d{1,4}E(?![a-z0-9])")
"""'17B-16E': what stands before the number of experts is one expert's share."""
_COUNT = LazyPattern(r"(?i)(?<![a-z0-9.])(?:(?P<experts>\d{1,3})x)?(?P<billions>\d{1,4}(?:\.\d{1,2})?)b(?![a-z0-9])")


def parameters_by_name(model: str) -> float | None:
    """Return the parameters (in billions) that a model's name tells; None where it tells none or several."""
    last = model.rstrip("/").rpartition("/")[2].replace("_", "-")
    if _ACTIVE.made.search(last):
        return None
    found = {
        float(match["billions"]) * (float(match["experts"]) * 0.84 if match["experts"] else 1)
        for match in _COUNT.made.finditer(last)
    }
    # Experts share attention and embeddings: 8x7B has 46.7 billion, 8x22B 141.
    return found.pop() if len(found) == 1 else None


def bits_per_weight(facts: Mapping[str, object]) -> tuple[float, str] | None:
    """Return the bits that a weight takes and in whose words; None for formats of many widths."""
    quantization = str(facts.get("quantization") or "").lower()
    name = str(facts.get("model") or "").lower()
    if quantization in _QUANT_BITS:
        # Quantised while it is read: the checkpoint is at full width, but what stays on the GPU is not.
        return _QUANT_BITS[quantization], quantization
    for mark, method in _NAME_MARKS:
        if mark in name.rpartition("/")[2]:
            return _QUANT_BITS[method], mark.upper()
    if quantization in _OPAQUE or (quantization and quantization != "none") or "gguf" in name:
        return None
    dtype = str(facts.get("dtype") or "").lower().removeprefix("torch.")
    return (_DTYPE_BITS[dtype], dtype) if dtype in _DTYPE_BITS else (16, "16-bit weights")


@value
def total_weights_gib(facts: Mapping[str, object]) -> Computed:
    """Return the memory that all weights take together: measured by the log, else by the model's name.

    The log's figure ('Model loading took … GiB') is one rank's; tensor and pipeline ranks hold about equal shares.
    """
    measured = number(facts, "weights_gib")
    ranks = (whole(facts, "tensor_parallel_size") or 1) * (whole(facts, "pipeline_parallel_size") or 1)
    if measured and measured > 0:
        inputs: dict[str, object] = {"weights_gib": measured}
        if ranks == 1:
            return Computed(short(measured), f"{short(measured)} GiB were loaded", inputs)
        inputs["ranks"] = ranks
        return Computed(
            f"{short(measured * ranks)}",
            f"{short(measured)} GiB on each of {ranks} ranks → {short(measured * ranks)} GiB",
            inputs,
        )
    model = str(facts.get("model") or "")
    billions = parameters_by_name(model)
    bits = bits_per_weight(facts)
    if not billions or bits is None:
        return needs("weights_gib") if model else needs("weights_gib", "model")
    size = _size(billions, bits[0])
    how = f"{billions:g} billion parameters by the name × {bits[0] / 8:g} bytes ({bits[1]})"
    if bits[0] < _FULL:
        how += f", {_left_wide(billions):.1f} of them (embeddings, lm_head) at 2 bytes"
    inputs = {"model": model, "parameters_billions": billions, "bits_per_weight": bits[0]}
    return Computed(f"{short(size)}", f"{how} → about {short(size)} GiB", inputs)


def _left_wide(billions: float) -> float:
    """Return how many billions of parameters a quantised checkpoint keeps at 16 bits, at least about."""
    return min(_WIDE * sqrt(billions), billions / 2)


def _size(billions: float, bits: float) -> float:
    """Return the GiB of a model's weights at a width."""
    wide = _left_wide(billions) if bits < _FULL else 0.0
    return ((billions - wide) * bits + wide * _FULL) * 1e9 / 8 / GIB


@value
def no_flag_fixes(facts: Mapping[str, object]) -> Computed:
    """Return the sentence that says that the weights are larger than all GPUs seen; "" where they are not."""
    sizes = _sizes(facts)
    if isinstance(sizes, Computed):
        return sizes
    weights, total, gpus, _, formula, inputs = sizes
    room = gpus * total
    if weights < room:
        return Computed("", f"{formula}; {_gpus(gpus, total)} hold {short(room)} GiB", inputs)
    return Computed(
        f"No flag fixes this: weights {short(weights)} GiB, {_gpus(gpus, total)}.",
        f"{formula}; {gpus} × {total:g} GiB = {short(room)} GiB",
        inputs,
    )


@value
def smallest_change_that_fits(facts: Mapping[str, object]) -> Computed:
    """Return the smallest change with which the weights fit: more of the GPUs seen, fewer bits, or more GPUs."""
    sizes = _sizes(facts)
    if isinstance(sizes, Computed):
        return sizes
    weights, total, gpus, share, formula, inputs = sizes
    room = total * share - RESERVE_GIB
    text = f"{formula}; a GPU has {total:g} × {share:g} - {RESERVE_GIB} = {short(room)} GiB for them"
    now = whole(facts, "tensor_parallel_size") or 1
    if room <= 0 or weights / now <= room:
        return Computed("", f"{text}: {'none' if room <= 0 else 'the weights fit'}", inputs)
    seen = sizes_that_divide(gpus, facts)
    for size in seen:
        if size > now and weights / size <= room:
            return Computed(f"--tensor-parallel-size {size}", f"{text}; ÷ {size} = {short(weights / size)} GiB", inputs)
    if found := _quantised(facts, weights, (total, share), seen[-1]):
        return Computed(found[0], f"{text}; {found[1]}", inputs)
    for size in sizes_that_divide(_MOST_GPUS, facts) if total >= _ADDED_GIB else ():
        if weights / size <= room:
            change = f"{_gpus(size, total)} and --tensor-parallel-size {size}"
            return Computed(change, f"{text}; ÷ {size} = {short(weights / size)} GiB", inputs)
    change, how = ("", f": not with {_MOST_GPUS} of them either") if total >= _ADDED_GIB else _smaller(room * seen[-1])
    return Computed(change, f"{text}{how}", inputs)


def _smaller(room: float) -> tuple[str, str]:
    """Return the largest model of four bits that fits, and the sum; nothing where none does."""
    most = next((half / 2 for half in range(40, 0, -1) if _size(half / 2, _FOUR_BITS) <= room), 0.0)
    if not most:
        return "", "; no model fits"
    change = f"a model of at most about {most:g} billion parameters in a 4-bit checkpoint (AWQ, GPTQ, w4a16)"
    return change, f"; with 4 bits and embeddings at 16 that is {short(_size(most, _FOUR_BITS))} GiB"


def _quantised(
    facts: Mapping[str, object], weights: float, memory: tuple[float, float], gpus: int
) -> tuple[str, str] | None:
    """Return the checkpoint of fewer bits that fits, with a fuller share where it needs one, and the sum; None where none does."""
    total, share = memory
    fuller = max(share, FULLER) if total * (1 - FULLER) >= _DISPLAY_GIB else share
    for asked in dict.fromkeys((share, fuller)):
        width, words = _fewer_bits(facts, weights, (total * asked - RESERVE_GIB) * gpus)
        if words:
            parallel = f" with --tensor-parallel-size {gpus}" if gpus > 1 else ""
            more = f", and --gpu-memory-utilization {asked:g}" if asked > share else ""
            shared = f" and a share of {asked:g}" if asked > share else ""
            return f"{words} of the same model{parallel}{more}", f"at {width:g} bits{shared} it does"
    return None


def _fewer_bits(facts: Mapping[str, object], weights: float, room: float) -> tuple[float, str]:
    """Return the widest quantised checkpoint that fits ``room``, and its name; no name where none does."""
    bits = bits_per_weight(facts)
    billions = weights * GIB * 8 / bits[0] / 1e9 if bits is not None else 0.0
    for width, words in ((8.0, "an FP8 or 8-bit checkpoint"), (_FOUR_BITS, "a 4-bit checkpoint (AWQ, GPTQ, w4a16)")):
        if bits is not None and bits[0] > width + 1 and _size(billions, width) <= room:
            return width, words
    return 0.0, ""


def _sizes(facts: Mapping[str, object]) -> tuple[float, float, int, float, str, dict[str, object]] | Computed:
    weights, total = total_weights_gib(facts), number(facts, "gpu_memory_total_gib")
    if not weights or not total or total <= 0:
        return needs(*weights.missing, *(() if total else ("gpu_memory_total_gib",)))
    gpus = max(whole(facts, "gpu_count") or 1, whole(facts, "tensor_parallel_size") or 1)
    given = number(facts, "gpu_memory_utilization")
    share = given if given and 0 < given <= 1 else default_utilization(facts)
    inputs = weights.inputs | {"gpu_memory_total_gib": total, "gpu_count": gpus, "gpu_memory_utilization": share}
    return float(weights.value), total, gpus, share, weights.formula, inputs


def _gpus(count: int, total: float) -> str:
    return f"{count} × {total:g} GiB of GPU memory" if count > 1 else f"one GPU of {total:g} GiB"
