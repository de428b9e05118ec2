"""How many bytes a model's parameters take on a GPU: by quantisation, tensor and pipeline ranks."""

from __future__ import annotations

from collections.abc import Mapping

from ..values.computed import GIB, Computed
from .architecture import Architecture, first_integer
from .parameters import count_parameters, number_of_experts

_METHOD_BITS = {
    "fp8": 8.0,
    "fbgemm_fp8": 8.0,
    "ptpc_fp8": 8.0,
    "modelopt": 8.0,
    "experts_int8": 8.0,
    "tpu_int8": 8.0,
    "mxfp4": 4.25,
    "gpt_oss_mxfp4": 4.25,
    "modelopt_fp4": 4.5,
    "nvfp4": 4.5,
    "petit_nvfp4": 4.5,
}
"""Bits of a weight with its scales, for formats that have one width."""


def weight_bits(model: Architecture, quantization: str = "") -> tuple[float, str] | None:
    """Return the bits of a weight with its scales and in whose words: 16 where not quantised, None where unknown.

    ``quantization`` is what is given to vLLM; without it the checkpoint's quantization_config speaks. Bits are those of
    the format: a scale per group (and a zero point, AWQ and GPTQ) comes on top of the weight's own.
    """
    config = model.quantization
    method = (
        (quantization or str(config.get("quant_method") or config.get("quant_algo") or "")).lower().replace("_", "-")
    )
    if not method or method == "none":
        return 16.0, "16 bits"
    plain = method.replace("-", "_")
    if plain in _METHOD_BITS:
        return _METHOD_BITS[plain], method
    group = first_integer(config, "group_size", "q_group_size") or 128
    if method.startswith(("awq", "gptq", "moe-wna16", "auto-round", "intel/auto-round", "inc")):
        bits = first_integer(config, "bits", "w_bit") or 4
        return bits + (16 + bits) / group, method
    if method in ("bitsandbytes", "bnb"):
        return (8.0, method) if config.get("load_in_8bit") else (4.5, method)
    if method == "compressed-tensors":
        return _compressed_bits(config)
    return None


def _compressed_bits(config: Mapping[str, object]) -> tuple[float, str] | None:
    groups = config.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping) and (bits := first_integer(weights, "num_bits")):
            size = first_integer(weights, "group_size")
            scale = 8 if weights.get("type") == "float" and bits == 4 else 16
            return bits + (scale / size if size else 0), f"compressed-tensors, {bits} bits"
    return None


def weights_per_rank(model: Architecture, tensor: int = 1, pipeline: int = 1, quantization: str = "") -> Computed:
    """Return the bytes of weights on the fullest GPU.

    Linear layers and embeddings are divided among tensor ranks, norms and routers are copied, key and value projections
    are copied where ranks outnumber KV heads; a pipeline stage holds its layers, and the first or last the embeddings.
    Embeddings, output head, norms and routers stay at 16 bits; MXFP4 checkpoints quantise experts alone.
    """
    found = count_parameters(model)
    bits = weight_bits(model, quantization)
    if bits is None:
        return Computed(
            "",
            f"the width of {model.quantization.get('quant_method') or quantization} weights is not in the config",
            missing=("weights",),
        )
    small = dense = bits[0] / 16
    only_experts = "mxfp4" in bits[1] or (number_of_experts(model.config) > 0 and _attention_kept(model.quantization))
    if only_experts:
        dense = 1.0
    copies = max(1.0, tensor / model.kv_heads) if model.kv_heads else 1.0
    small *= _expert_padding(model, tensor) if "mxfp4" in bits[1] else 1
    layers = (found.attention + found.mlp) * dense + found.kv * dense * copies + found.experts * small
    stage = max(stage_layers(model.layers, pipeline)) / model.layers
    ends = max(found.embedding, found.head) if pipeline > 1 else found.embedding + found.head
    numbers = (layers * stage + ends + found.vision) / tensor + found.other * stage
    size = int(2 * numbers)
    text = f"{found.total / 1e9:.3g} billion parameters, {bits[1]}"
    if tensor * pipeline > 1:
        text += f", over {tensor * pipeline} GPUs"
    return Computed(
        f"{size / GIB:.2f}", f"{text} → {size / GIB:.2f} GiB on a GPU", {"parameters": found.total, "bytes": size}
    )


def _expert_padding(model: Architecture, tensor: int) -> float:
    """Return by how much MXFP4 kernels enlarge experts: hidden to 256, width to 128 (Marlin, oracle/mxfp4.py)."""
    width = first_integer(model.config, "moe_intermediate_size", "intermediate_size") / tensor
    return -(-model.hidden // 256) * 256 / model.hidden * (-(-width // 128) * 128 / width) if width >= 1 else 1.0


def _attention_kept(config: Mapping[str, object]) -> bool:
    """Return whether attention is left at 16 bits: named as a whole in the list of what is not converted."""
    named = config.get("modules_to_not_convert") or config.get("ignore") or config.get("ignored_layers") or ()
    names = named if isinstance(named, (list, tuple)) else [named]
    return any("self_attn" in str(item) and not any(letter.isdigit() for letter in str(item)) for item in names)


def stage_layers(layers: int, stages: int) -> list[int]:
    """Return how many layers each pipeline stage holds (vllm/distributed/utils.py, get_pp_indices)."""
    each = [layers // stages] * stages
    for place in range(2, layers % stages + 2):
        each[-place] += 1
    return each
