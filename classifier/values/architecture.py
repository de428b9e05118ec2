"""What a model's config.json says about its shape, read as vLLM reads it.

Sources: vllm/transformers_utils/model_arch_config_convertor.py (heads, head size, MLA), config.py there
(CONFIG_FIELD_ALIASES), vllm/config/model.py (get_num_layers_by_block_type, _get_and_verify_max_len), and the layer
patterns in vllm/model_executor/models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FULL, SLIDING, CHUNKED, STATE, NONE = "full", "sliding", "chunked", "state", "none"
"""What a layer keeps per sequence: all tokens, a window, a chunk, a state of fixed size, or nothing."""

_KV_HEADS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
_LENGTHS = (
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_target_positions",
    "max_sequence_length", "max_seq_length", "seq_len",
)  # fmt: skip
_MLA_TYPES = frozenset(
    """axk1 deepseek_v2 deepseek_v3 deepseek_v32 deepseek_mtp glm_moe_dsa glm4_moe_lite kimi_k2 kimi_linear longcat_flash
    pangu_ultra_moe bailing_hybrid""".split()
)
_KINDS = {
    "full_attention": FULL, "attention": FULL, "global": FULL, "hybrid": FULL, "sliding_attention": SLIDING, "chunked_attention": CHUNKED,
    "linear_attention": STATE, "mamba": STATE, "mamba2": STATE, "conv": STATE, "recurrent": STATE, "gated_delta_net": STATE,
    "mlp": NONE, "moe": NONE, "no_op": NONE,
}  # fmt: skip
_PATTERN = {"M": STATE, "*": FULL, "-": NONE, "E": NONE}
"""Letters of Nemotron-H's hybrid_override_pattern."""
# Rotary scalings whose max_position_embeddings is the scaled length already (_get_and_verify_max_len).
_SCALED = frozenset({"su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling"})


class ConfigError(ValueError):
    """A config.json without what the arithmetic needs; the message names it."""


class Architecture:
    """The numbers of a model's config.json that decide memory."""

    __slots__ = (
        "config", "head_dim", "head_dim_v", "heads", "hidden", "indexer_bytes", "kinds", "kv_heads", "layers", "longest", "mla",
        "model_type", "vocab", "whole", "window",
    )  # fmt: skip

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.whole = config
        text = _text_config(config)
        self.config = text
        self.model_type = str(text.get("model_type") or config.get("model_type") or "")
        self.layers = _count(text, "num_hidden_layers", "n_layer", "n_layers", "num_layers")
        self.hidden = _count(text, "hidden_size", "n_embd", "d_model")
        self.heads = _count(text, "num_attention_heads", "n_head", "n_heads", least=0) if _has_heads(text) else 0
        self.vocab = _count(text, "vocab_size", least=0)
        self.mla = self.model_type in _MLA_TYPES and bool(text.get("kv_lora_rank"))
        self.kv_heads = _kv_heads(text, self.model_type, self.heads)
        self.head_dim, self.head_dim_v = self._head_sizes()
        self.window = _integer(text.get("sliding_window")) or _integer(text.get("attention_chunk_size"))
        self.kinds = _kinds(text, self.model_type, self.layers)
        self.indexer_bytes = _indexer_bytes(text) if self.mla else 0
        self.longest = _longest(text, config, self.model_type)

    def _head_sizes(self) -> tuple[int, int]:
        """Return the sizes of a cached key and value; with MLA one latent vector stands for both."""
        text = self.config
        if self.mla:
            return _integer(text.get("kv_lora_rank")) + _integer(text.get("qk_rope_head_dim")), 0
        size = _integer(text.get("head_dim")) or _integer(text.get("hidden_size_per_head")) or _integer(text.get("attention_head_dim"))
        if not size and self.heads:
            size = self.hidden // self.heads
        return size, _integer(text.get("v_head_dim")) if self.model_type == "mimo_v2_flash" else size

    @property
    def quantization(self) -> Mapping[str, Any]:
        """The checkpoint's quantization_config, or an empty one."""
        found = self.whole.get("quantization_config") or self.config.get("quantization_config") or self.whole.get("compression_config")
        return found if isinstance(found, Mapping) else {}


def _text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part about the language model of a multimodal config."""
    for name in ("text_config", "llm_config", "language_config", "thinker_config"):
        inner = config.get(name)
        if isinstance(inner, Mapping):
            return _text_config(inner) if name == "thinker_config" else inner
    return config


def _has_heads(text: Mapping[str, Any]) -> bool:
    return any(text.get(name) for name in ("num_attention_heads", "n_head", "n_heads"))


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) > 1e12:
        return 0
    return max(0, int(value))


def _count(text: Mapping[str, Any], *names: str, least: int = 1) -> int:
    for name in names:
        if found := _integer(text.get(name)):
            return found
    if least:
        raise ConfigError(f"the model config has no {names[0]}")
    return 0


def _kv_heads(text: Mapping[str, Any], model_type: str, heads: int) -> int:
    if model_type in ("falcon", "RefinedWeb", "RefinedWebModel") and not text.get("new_decoder_architecture") and text.get("multi_query"):
        return 1
    if model_type == "gpt_bigcode" and text.get("multi_query"):
        return 1
    inner = text.get("attn_config")
    if isinstance(inner, Mapping) and inner.get("kv_n_heads"):
        return _integer(inner["kv_n_heads"])
    blocks = text.get("block_configs")
    if isinstance(blocks, list):
        for block in blocks:
            if (attention := _attention(block)) and not attention.get("no_op") and (group := _integer(attention.get("n_heads_in_group"))):
                return heads // group
    for name in _KV_HEADS:
        value = text.get(name)
        if isinstance(value, list):
            value = max((_integer(item) for item in value), default=0)
        if found := _integer(value):
            return found
    return heads


def _attention(block: Any) -> Mapping[str, Any]:
    inner = block.get("attention") if isinstance(block, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _kinds(text: Mapping[str, Any], model_type: str, layers: int) -> tuple[str, ...]:
    """Return what each layer keeps, by whichever of the many keys says so."""
    window = _integer(text.get("sliding_window"))
    named = text.get("layer_types") or text.get("layers_block_type")
    if isinstance(named, list) and named:
        kinds = [_KINDS.get(str(name), FULL) for name in named[:layers]]
        kinds += [FULL] * (layers - len(kinds))
        return tuple(FULL if kind == SLIDING and not window else kind for kind in kinds)
    for read in (_hybrid_kinds, _window_kinds):
        if kinds_read := read(text, model_type, layers):
            return kinds_read
    return (FULL,) * layers


def _hybrid_kinds(text: Mapping[str, Any], model_type: str, layers: int) -> tuple[str, ...]:
    if isinstance(pattern := text.get("hybrid_override_pattern"), str):
        return tuple(_PATTERN.get(letter, NONE) for letter in pattern)[:layers]
    if period := _integer(text.get("attn_layer_period")):  # Jamba
        offset = _integer(text.get("attn_layer_offset"))
        return tuple(FULL if layer % period == offset else STATE for layer in range(layers))
    if interval := _integer(text.get("full_attention_interval")):  # Qwen3-Next
        return tuple(STATE if (layer + 1) % interval else FULL for layer in range(layers))
    if isinstance(indices := text.get("attn_layer_indices"), list):  # Bamba
        return tuple(FULL if layer in indices else STATE for layer in range(layers))
    if isinstance(types := text.get("attn_type_list"), list) and types:  # MiniMax
        return tuple(FULL if kind == 1 else STATE for kind in types[:layers])
    if isinstance(blocks := text.get("block_configs"), list) and blocks:  # Nemotron-NAS
        return tuple(NONE if _attention(block).get("no_op") else FULL for block in blocks[:layers])
    if model_type in ("mamba", "mamba2", "falcon_mamba"):
        return (STATE,) * layers
    return ()


def _window_kinds(text: Mapping[str, Any], model_type: str, layers: int) -> tuple[str, ...]:
    if model_type == "llama4_text" and _integer(text.get("attention_chunk_size")):
        return tuple(CHUNKED if (layer + 1) % 4 else FULL for layer in range(layers))
    if not _integer(text.get("sliding_window")):
        return ()
    if model_type == "gemma2":
        return tuple(FULL if layer % 2 else SLIDING for layer in range(layers))
    if pattern := _integer(text.get("sliding_window_pattern")) or (6 if model_type.startswith("gemma3") else 0):
        return tuple(SLIDING if (layer + 1) % pattern else FULL for layer in range(layers))
    if model_type == "gpt_oss":
        return tuple(FULL if layer % 2 else SLIDING for layer in range(layers))
    if "use_sliding_window" in text:  # Qwen2 and later: the window is mentioned but off
        if not text["use_sliding_window"]:
            return ()
        start = _integer(text.get("max_window_layers"))
        return tuple(SLIDING if layer >= start else FULL for layer in range(layers))
    return (SLIDING,) * layers


def _indexer_bytes(text: Mapping[str, Any]) -> int:
    """Bytes per token and layer of DeepSeek-V3.2's indexer cache: FP8 keys and a float32 scale per 128 (models/deepseek_v2.py)."""
    size = _integer(text.get("index_head_dim"))
    return size + size // 128 * 4


def _longest(text: Mapping[str, Any], config: Mapping[str, Any], model_type: str) -> int:
    lengths = [found for name in _LENGTHS if (found := _integer(text.get(name)))]
    if not lengths:
        return 2048
    longest = float(min(lengths))
    if only := _integer(text.get("model_max_length")):
        longest = only
    scaling = text.get("rope_scaling") or text.get("rope_parameters")
    if isinstance(scaling, Mapping) and "gemma3" not in model_type:
        kind = str(scaling.get("rope_type") or scaling.get("type") or "default")
        if kind not in _SCALED and isinstance(scaling.get("factor"), (int, float)):
            longest *= scaling["factor"]
        if kind == "longrope":
            longest = _integer(text.get("original_max_position_embeddings") or config.get("original_max_position_embeddings")) or longest
    return max(1, int(longest))
