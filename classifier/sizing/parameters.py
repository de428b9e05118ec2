"""How many parameters a model has, counted from its config.json, and how many bytes they take on a GPU: by quantisation and ranks."""

from __future__ import annotations

from collections.abc import Mapping

from ..values.computed import GIB, Computed
from .architecture import NONE, STATE, Architecture, first_integer, integer

# Models whose MLP has two matrices (up, down); all others have three (gate, up, down).
_PLAIN_MLP = frozenset(
    [
        "falcon",
        "RefinedWeb",
        "RefinedWebModel",
        "gpt2",
        "gpt_bigcode",
        "gpt_neox",
        "gptj",
        "gpt_neo",
        "phi",
        "phi-msft",
        "opt",
        "bloom",
        "mpt",
        "starcoder2",
        "nemotron",
        "nemotron_h",
        "persimmon",
        "codegen",
        "stablelm_epoch",
    ]
)
# Models that tie output and input embeddings unless their config says otherwise.
_TIED = frozenset(
    [
        "gemma",
        "gemma2",
        "gemma3",
        "gemma3_text",
        "gpt2",
        "gpt_bigcode",
        "falcon",
        "RefinedWeb",
        "RefinedWebModel",
        "bloom",
        "mpt",
        "opt",
    ]
)


class Parameters:
    """Parameter counts by what becomes of them: quantised or not, split over ranks or copied to each."""

    __slots__ = ("attention", "embedding", "experts", "head", "kv", "mlp", "other", "vision")

    def __init__(self) -> None:
        self.embedding = self.head = 0
        self.attention = 0
        """Projections of attention, MLA and state layers, keys and values left out."""
        self.kv = 0
        """Key and value projections: copied where there are fewer KV heads than ranks."""
        self.mlp = 0
        self.experts = 0
        self.other = 0
        """Norms, routers, convolutions: not quantised."""
        self.vision = 0

    @property
    def layers(self) -> int:
        """Parameters of all decoder layers."""
        return self.attention + self.kv + self.mlp + self.experts + self.other

    @property
    def total(self) -> int:
        """All parameters."""
        return self.embedding + self.head + self.layers + self.vision


def count_parameters(model: Architecture) -> Parameters:
    """Count parameters layer by layer, as the modules in vllm/model_executor/models create them (biases left out)."""
    config, found = model.config, Parameters()
    found.embedding = model.vocab * model.hidden
    tied = model.whole.get("tie_word_embeddings", config.get("tie_word_embeddings", model.model_type in _TIED))
    found.head = 0 if tied else found.embedding
    for layer, kind in enumerate(model.kinds):
        found.other += 2 * model.hidden
        if kind == STATE:
            _add_state(found, model)
        elif kind != NONE:
            _add_attention(found, model)
        if _has_mlp(model, layer, kind):
            _add_mlp(found, model, layer)
    found.vision = _vision(model.whole.get("vision_config"))
    return found


def _add_attention(found: Parameters, model: Architecture) -> None:
    config, hidden, heads = model.config, model.hidden, model.heads
    if model.mla:
        latent, rope = first_integer(config, "kv_lora_rank"), first_integer(config, "qk_rope_head_dim")
        nope, value = first_integer(config, "qk_nope_head_dim"), first_integer(config, "v_head_dim")
        rank = first_integer(config, "q_lora_rank")
        query = hidden * rank + rank * heads * (nope + rope) if rank else hidden * heads * (nope + rope)
        found.attention += query + hidden * (latent + rope) + latent * heads * (nope + value) + heads * value * hidden
        if indexer := first_integer(config, "index_n_heads") * first_integer(config, "index_head_dim"):
            found.attention += rank * indexer + hidden * (
                first_integer(config, "index_head_dim") + first_integer(config, "index_n_heads")
            )
        return
    gate = (
        heads * model.head_dim * hidden
        if model.model_type in ("qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text")
        else 0
    )
    found.attention += 2 * hidden * heads * model.head_dim + gate
    found.kv += hidden * model.kv_heads * (model.head_dim + (model.head_dim_v or model.head_dim))


def _add_state(found: Parameters, model: Architecture) -> None:
    config, hidden = model.config, model.hidden
    if values := first_integer(config, "linear_num_value_heads"):  # gated delta net
        keys = first_integer(config, "linear_num_key_heads") * first_integer(config, "linear_key_head_dim")
        wide = values * first_integer(config, "linear_value_head_dim")
        found.attention += hidden * (2 * keys + 2 * wide + 2 * values) + wide * hidden
        found.other += (2 * keys + wide) * first_integer(config, "linear_conv_kernel_dim")
        return
    state = first_integer(config, "ssm_state_size", "mamba_d_state", "state_size")
    if heads := first_integer(config, "mamba_num_heads", "mamba_n_heads"):  # Mamba 2
        inner = heads * first_integer(config, "mamba_head_dim", "mamba_d_head", "head_dim")
        groups = first_integer(config, "n_groups", "mamba_n_groups", "mamba_ngroups") or 1
        found.attention += hidden * (2 * inner + 2 * groups * state + heads) + inner * hidden
        found.other += (inner + 2 * groups * state) * (first_integer(config, "conv_kernel", "mamba_d_conv") or 4)
        return
    inner = (
        first_integer(config, "intermediate_size")
        if model.model_type == "mamba"
        else (first_integer(config, "mamba_expand", "expand") or 2) * hidden
    )
    rank = first_integer(config, "mamba_dt_rank", "time_step_rank") or hidden // 16
    found.attention += 2 * hidden * inner + inner * (rank + 2 * state) + rank * inner + inner * hidden
    found.other += inner * ((first_integer(config, "mamba_d_conv", "conv_kernel") or 4) + state)


def _has_mlp(model: Architecture, layer: int, kind: str) -> bool:
    pattern = model.config.get("hybrid_override_pattern")
    if isinstance(pattern, str):  # Nemotron-H: a layer is a mixer or an MLP
        return pattern[layer] in "-E"
    if model.model_type in ("mamba", "mamba2", "falcon_mamba"):
        return False
    return not (model.model_type.startswith("zamba") and kind == STATE)


def _add_mlp(found: Parameters, model: Architecture, layer: int) -> None:
    config, hidden = model.config, model.hidden
    matrices = 2 if model.model_type in _PLAIN_MLP else 3
    wide = _width(model, layer)
    experts = number_of_experts(config)
    if not experts or not _is_sparse(model, layer):
        found.mlp += matrices * hidden * wide
        return
    each = first_integer(config, "moe_intermediate_size") or first_integer(
        config, "intermediate_size", "ffn_hidden_size"
    )
    found.experts += experts * matrices * hidden * each
    found.other += experts * hidden
    shared = first_integer(config, "n_shared_experts", "moe_num_shared_experts", "num_shared_experts")
    shared_width = (
        first_integer(config, "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size") or shared * each
    )
    found.mlp += matrices * hidden * shared_width


def _width(model: Architecture, layer: int) -> int:
    config = model.config
    blocks, listed = config.get("block_configs"), config.get("intermediate_size")
    block = blocks[layer] if isinstance(blocks, list) and layer < len(blocks) else None
    ffn = block.get("ffn") if isinstance(block, Mapping) else None
    if isinstance(ffn, Mapping):
        if ffn.get("no_op"):
            return 0
        if isinstance(times := ffn.get("ffn_mult"), (int, float)) and 0 < times < 1000:
            return -(-int(2 * times * model.hidden / 3) // 256) * 256
        if width := integer(ffn.get("intermediate_size")):
            return width
    if isinstance(listed, list) and listed:
        return integer(listed[min(layer, len(listed) - 1)])
    return first_integer(config, "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim") or 4 * model.hidden


def number_of_experts(config: Mapping[str, object]) -> int:
    """Return how many experts a sparse layer has; 0 in dense models."""
    return first_integer(config, "num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")


def _is_sparse(model: Architecture, layer: int) -> bool:
    config = model.config
    if model.config.get("hybrid_override_pattern"):
        return str(config["hybrid_override_pattern"])[layer] == "E"
    if layer < first_integer(config, "first_k_dense_replace"):
        return False
    if isinstance(dense := config.get("mlp_only_layers"), list) and layer in dense:
        return False
    if period := first_integer(config, "expert_layer_period"):  # Jamba
        return layer % period == first_integer(config, "expert_layer_offset")
    if step := first_integer(config, "interleave_moe_layer_step"):  # Llama 4
        return (layer + 1) % step == 0
    step = first_integer(config, "decoder_sparse_step", "moe_layer_freq") or 1
    return (layer + 1) % step == 0 if "decoder_sparse_step" in config else layer % step == 0


def _vision(config: object) -> int:
    if not isinstance(config, Mapping):
        return 0
    width = first_integer(config, "hidden_size", "embed_dim", "width")
    wide = first_integer(config, "intermediate_size") or 4 * width
    return first_integer(config, "num_hidden_layers", "depth", "layers") * (4 * width * width + 3 * width * wide)


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
