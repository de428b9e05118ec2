"""Weights against GPUs: what no flag can make fit, and the smallest change that does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..lazy import LazyPattern
from .memory import default_utilization
from .parallel import sizes_that_divide
from .worked import GIB, Worked, needs, number, whole

RESERVE_GIB = 1.5
"""What activations, CUDA context and a minimal KV cache take beside the weights: below that no server starts."""
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
_QUANT_BITS = {
    "fp8": 8.0, "ptpc_fp8": 8.0, "fbgemm_fp8": 8.0, "modelopt": 8.0, "experts_int8": 8.0, "tpu_int8": 8.0, "w8a8": 8.0, "int8": 8.0,
    "awq": 4.16, "awq_marlin": 4.16, "gptq": 4.16, "gptq_marlin": 4.16, "moe_wna16": 4.16, "w4a16": 4.16, "int4": 4.16, "auto-round": 4.16,
    "bitsandbytes": 4.5, "bnb": 4.5, "mxfp4": 4.25, "gpt_oss_mxfp4": 4.25, "modelopt_fp4": 4.5, "nvfp4": 4.5, "fp4": 4.5,
}  # fmt: skip
_NAME_MARKS = (
    ("nvfp4", "nvfp4"), ("mxfp4", "mxfp4"), ("fp4", "fp4"), ("w4a16", "w4a16"), ("int4", "int4"), ("awq", "awq"), ("gptq-int8", "int8"), ("gptq", "gptq"),
    ("bnb-4bit", "bnb"), ("4bit", "int4"), ("w8a8", "w8a8"), ("int8", "int8"), ("8bit", "int8"), ("fp8", "fp8"),
)  # fmt: skip
_OPAQUE = ("gguf", "compressed-tensors", "quark", "hqq", "aqlm", "torchao", "exl2", "modelopt_mixed")
# «70B», «8x7B», «1.5B», «0.5B»; not the active parameters of «30B-A3B», nor «4bit», «b16».
_COUNT = LazyPattern(r"(?i)(?<![a-z0-9.])(?:(?P<experts>\d{1,3})x)?(?P<billions>\d{1,4}(?:\.\d{1,2})?)b(?![a-z0-9])")


def parameters_by_name(model: str) -> float | None:
    """Return the parameters (in billions) that a model's name tells; None where it tells none or several."""
    last = model.rstrip("/").rpartition("/")[2].replace("_", "-")
    found = {
        float(match["billions"]) * (float(match["experts"]) * 0.84 if match["experts"] else 1)
        for match in _COUNT.finditer(last)
    }
    # Experts share attention and embeddings: 8x7B has 46.7 billion, 8x22B 141.
    return found.pop() if len(found) == 1 else None


def bits_per_weight(facts: Mapping[str, Any]) -> tuple[float, str] | None:
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


def total_weights_gib(facts: Mapping[str, Any]) -> Worked:
    """Return the memory that all weights take together: measured by the log, else by the model's name.

    The log's figure («Model loading took … GiB») is one rank's; tensor and pipeline ranks hold about equal shares.
    """
    measured = number(facts, "weights_gib")
    ranks = (whole(facts, "tensor_parallel_size") or 1) * (whole(facts, "pipeline_parallel_size") or 1)
    if measured and measured > 0:
        inputs: dict[str, Any] = {"weights_gib": measured}
        if ranks == 1:
            return Worked(f"{measured:g}", f"{measured:g} GiB were loaded", inputs)
        inputs["ranks"] = ranks
        return Worked(
            f"{measured * ranks:.4g}", f"{measured:g} GiB on each of {ranks} ranks → {measured * ranks:.4g} GiB", inputs
        )
    model = str(facts.get("model") or "")
    billions = parameters_by_name(model)
    bits = bits_per_weight(facts)
    if not billions or bits is None:
        return needs("weights_gib") if model else needs("weights_gib", "model")
    size = billions * 1e9 * bits[0] / 8 / GIB
    return Worked(
        f"{size:.3g}", f"{billions:g} billion parameters by the name × {bits[0] / 8:g} bytes ({bits[1]}) → about {size:.3g} GiB",
        {"model": model, "parameters_billions": billions, "bits_per_weight": bits[0]},
    )  # fmt: skip


def no_flag_fixes(facts: Mapping[str, Any]) -> Worked:
    """Return the sentence that says that the weights are larger than all GPUs seen; "" where they are not."""
    sizes = _sizes(facts)
    if isinstance(sizes, Worked):
        return sizes
    weights, total, gpus, share, formula, inputs = sizes
    room = gpus * total
    if weights < room:
        return Worked("", f"{formula}; {_gpus(gpus, total)} hold {room:.4g} GiB", inputs)
    return Worked(
        f"No flag fixes this: weights {weights:.3g} GiB, {_gpus(gpus, total)}.",
        f"{formula}; {gpus} × {total:g} GiB = {room:.4g} GiB",
        inputs,
    )


def smallest_change_that_fits(facts: Mapping[str, Any]) -> Worked:
    """Return the smallest change with which the weights fit: more of the GPUs seen, a quantised checkpoint, or more GPUs."""
    sizes = _sizes(facts)
    if isinstance(sizes, Worked):
        return sizes
    weights, total, gpus, share, formula, inputs = sizes
    room = total * share - RESERVE_GIB
    text = f"{formula}; a GPU has {total:g} × {share:g} - {RESERVE_GIB} = {room:.3g} GiB for them"
    if room <= 0:
        return Worked("", f"{text}: none", inputs)
    now = whole(facts, "tensor_parallel_size") or 1
    if weights / now <= room:
        return Worked("", f"{text}: the weights fit", inputs)
    for size in sizes_that_divide(gpus, facts):
        if size > now and weights / size <= room:
            return Worked(f"--tensor-parallel-size {size}", f"{text}; ÷ {size} = {weights / size:.3g} GiB", inputs)
    bits = bits_per_weight(facts)
    most = sizes_that_divide(gpus, facts)[-1]
    for width, words in ((8.0, "an FP8 or 8-bit checkpoint"), (4.16, "a 4-bit checkpoint (AWQ, GPTQ, w4a16)")):
        if bits is not None and bits[0] > width + 1 and (small := weights * width / bits[0]) / most <= room:
            parallel = f" with --tensor-parallel-size {most}" if most > 1 else ""
            return Worked(f"{words} of the same model{parallel}", f"{text}; at {width:g} bits {small:.3g} GiB", inputs)
    for size in sizes_that_divide(64, facts):
        if weights / size <= room:
            return Worked(
                f"{_gpus(size, total)}: --tensor-parallel-size {size}",
                f"{text}; ÷ {size} = {weights / size:.3g} GiB",
                inputs,
            )
    return Worked("", f"{text}: not with 64 of them either", inputs)


def _sizes(facts: Mapping[str, Any]) -> tuple[float, float, int, float, str, dict[str, Any]] | Worked:
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
