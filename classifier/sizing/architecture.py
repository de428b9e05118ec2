"""What a model's config.json says about its shape, and about what each layer keeps per sequence, read as vLLM reads it.

Sources: vllm/transformers_utils/model_arch_config_convertor.py (heads, head size, MLA), config.py there
(CONFIG_FIELD_ALIASES), vllm/config/model.py (_get_and_verify_max_len, get_num_layers_by_block_type), and the layer patterns in
vllm/model_executor/models.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..values.computed import release_at_least

FULL, SLIDING, CHUNKED, STATE, NONE = "full", "sliding", "chunked", "state", "none"
"""All tokens, those of a window, those of a chunk, a state of fixed size, or nothing."""

_KINDS = {
    "sliding_attention": SLIDING,
    "chunked_attention": CHUNKED,
    "linear_attention": STATE,
    "mamba": STATE,
    "mamba2": STATE,
    "conv": STATE,
    "recurrent": STATE,
    "mlp": NONE,
    "moe": NONE,
    "no_op": NONE,
}
"""Names of layers in a config; every other name is that of full attention."""
_PATTERN = {"M": STATE, "*": FULL, "-": NONE, "E": NONE}
"""Letters of Nemotron-H's hybrid_override_pattern."""


def layer_kinds(text: Mapping[str, object], model_type: str, layers: int) -> tuple[str, ...]:
    """Return what each of ``layers`` layers keeps; plain full attention where the config names no pattern."""
    named = text.get("layer_types") or text.get("layers_block_type")
    if isinstance(named, list) and named:
        kinds = [_KINDS.get(str(name), FULL) for name in named[:layers]]
        kinds += [FULL] * (layers - len(kinds))
        windowed = integer(text.get("sliding_window")) > 0
        return tuple(FULL if kind == SLIDING and not windowed else kind for kind in kinds)
    for read in (_listed, _periodic, _windowed):
        if found := read(text, model_type, layers):
            return found
    return (FULL,) * layers


def _listed(text: Mapping[str, object], model_type: str, layers: int) -> tuple[str, ...]:
    """Read patterns that name every layer."""
    found: list[str] = []
    if isinstance(pattern := text.get("hybrid_override_pattern"), str):
        found = [_PATTERN.get(letter, NONE) for letter in pattern]
    elif isinstance(indices := text.get("attn_layer_indices"), list):  # Bamba
        found = [FULL if layer in indices else STATE for layer in range(layers)]
    elif isinstance(types := text.get("attn_type_list"), list):  # MiniMax
        found = [FULL if kind == 1 else STATE for kind in types]
    elif isinstance(blocks := text.get("block_configs"), list):  # Nemotron-NAS
        found = [NONE if attention_of(block).get("no_op") else FULL for block in blocks]
    elif model_type in ("mamba", "mamba2", "falcon_mamba"):
        found = [STATE] * layers
    return tuple(found[:layers])


def _periodic(text: Mapping[str, object], model_type: str, layers: int) -> tuple[str, ...]:
    """Read patterns in which every so many layers attend to everything."""
    every, place, others = 0, -1, STATE
    if every := integer(text.get("attn_layer_period")):  # Jamba
        place = integer(text.get("attn_layer_offset"))
    elif every := integer(text.get("full_attention_interval")):  # Qwen3-Next
        place = every - 1
    elif model_type == "llama4_text" and text.get("attention_chunk_size"):
        every, place, others = 4, 3, CHUNKED
    elif integer(text.get("sliding_window")):
        if model_type in ("gemma2", "gpt_oss"):
            every, place, others = 2, 1, SLIDING
        elif every := integer(text.get("sliding_window_pattern")) or 6 * model_type.startswith("gemma3"):
            place, others = every - 1, SLIDING
    return tuple(FULL if layer % every == place else others for layer in range(layers)) if every else ()


def _windowed(text: Mapping[str, object], _model_type: str, layers: int) -> tuple[str, ...]:
    """Read models whose layers are all windowed, or from one layer on; Qwen2 names a window and leaves it off."""
    if not integer(text.get("sliding_window")) or text.get("use_sliding_window") is False:
        return ()
    first = integer(text.get("max_window_layers")) if text.get("use_sliding_window") else 0
    return tuple(SLIDING if layer >= first else FULL for layer in range(layers))


def attention_of(block: object) -> Mapping[str, object]:
    """Return the attention part of one of Nemotron-NAS's block_configs."""
    inner = block.get("attention") if isinstance(block, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def integer(value: object) -> int:
    """Return a positive number of a config as a whole one; 0 where there is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 < value < 1e12 else 0


def first_integer(config: Mapping[str, object], *names: str) -> int:
    """Return the first of the keys ``names`` that holds a positive number (of a list, its first item); else 0."""
    for name in names:
        value = config.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if found := integer(value):
            return found
    return 0


_KV_HEADS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
_LENGTHS = (
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_target_positions",
    "max_sequence_length", "max_seq_length", "seq_len",
)  # fmt: skip
_MLA_TYPES = frozenset(
    [
        "axk1",
        "deepseek_v2",
        "deepseek_v3",
        "deepseek_v32",
        "deepseek_mtp",
        "glm_moe_dsa",
        "glm4_moe_lite",
        "kimi_k2",
        "kimi_linear",
        "longcat_flash",
        "pangu_ultra_moe",
        "bailing_hybrid",
    ]
)
# Rotary scalings whose max_position_embeddings is the scaled length already (_get_and_verify_max_len).
_SCALED = frozenset({"su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling"})
_MOST_LAYERS = 4096


class ConfigError(ValueError):
    """A config.json without what the arithmetic needs; the message names it."""


class Architecture:
    """The numbers of a model's config.json that decide memory."""

    __slots__ = (
        "config", "head_dim", "head_dim_v", "heads", "hidden", "indexer_bytes", "kinds", "kv_heads", "layers", "mla",
        "model_type", "vocab", "whole", "window",
    )  # fmt: skip

    def __init__(self, config: Mapping[str, object]) -> None:
        self.whole = config
        text = _text_config(config)
        self.config = text
        self.model_type = str(text.get("model_type") or config.get("model_type") or "")
        self.layers = _count(text, "num_hidden_layers", "n_layer", "n_layers", "num_layers")
        if self.layers > _MOST_LAYERS:
            raise ConfigError(f"the model config says {self.layers} layers")
        self.hidden = _count(text, "hidden_size", "n_embd", "d_model")
        self.heads = _count(text, "num_attention_heads", "n_head", "n_heads", least=0) if _has_heads(text) else 0
        self.vocab = _count(text, "vocab_size", least=0)
        self.mla = self.model_type in _MLA_TYPES and bool(text.get("kv_lora_rank"))
        self.kv_heads = _kv_heads(text, self.model_type, self.heads)
        self.head_dim, self.head_dim_v = self._head_sizes()
        self.window = integer(text.get("sliding_window")) or integer(text.get("attention_chunk_size"))
        self.kinds = layer_kinds(text, self.model_type, self.layers)
        self.indexer_bytes = _indexer_bytes(text) if self.mla else 0

    def _head_sizes(self) -> tuple[int, int]:
        """Return the sizes of a cached key and value; with MLA one latent vector stands for both."""
        text = self.config
        if self.mla:
            return integer(text.get("kv_lora_rank")) + integer(text.get("qk_rope_head_dim")), 0
        size = (
            integer(text.get("head_dim"))
            or integer(text.get("hidden_size_per_head"))
            or integer(text.get("attention_head_dim"))
        )
        if not size and self.heads:
            size = self.hidden // self.heads
        return size, integer(text.get("v_head_dim")) if self.model_type == "mimo_v2_flash" else size

    def longest(self, version: str = "") -> int:
        """Return the context that vLLM takes where --max-model-len is not given (_get_and_verify_max_len).

        From 0.12 on LongRoPE models start with their original context; up to 0.26 YaRN's factor is applied to the
        original context, later max_position_embeddings is taken as scaled already.
        """
        return _longest(self.config, self.whole, self.model_type, version)

    @property
    def quantization(self) -> Mapping[str, object]:
        """The checkpoint's quantization_config, or an empty one."""
        found = (
            self.whole.get("quantization_config")
            or self.config.get("quantization_config")
            or self.whole.get("compression_config")
        )
        return found if isinstance(found, Mapping) else {}


def _text_config(config: Mapping[str, object]) -> Mapping[str, object]:
    """Return the part about the language model of a multimodal config."""
    for name in ("text_config", "llm_config", "language_config", "thinker_config"):
        inner = config.get(name)
        if isinstance(inner, Mapping):
            return _text_config(inner) if name == "thinker_config" else inner
    return config


def _has_heads(text: Mapping[str, object]) -> bool:
    return any(text.get(name) for name in ("num_attention_heads", "n_head", "n_heads"))


def _count(text: Mapping[str, object], *names: str, least: int = 1) -> int:
    for name in names:
        if found := integer(text.get(name)):
            return found
    if least:
        raise ConfigError(f"the model config has no {names[0]}")
    return 0


def _kv_heads(text: Mapping[str, object], model_type: str, heads: int) -> int:
    if (
        model_type in ("falcon", "RefinedWeb", "RefinedWebModel")
        and not text.get("new_decoder_architecture")
        and text.get("multi_query")
    ):
        return 1
    if model_type == "gpt_bigcode" and text.get("multi_query"):
        return 1
    inner = text.get("attn_config")
    if isinstance(inner, Mapping) and inner.get("kv_n_heads"):
        return integer(inner["kv_n_heads"])
    blocks = text.get("block_configs")
    if isinstance(blocks, list):
        for block in blocks:
            if (
                (attention := attention_of(block))
                and not attention.get("no_op")
                and (group := integer(attention.get("n_heads_in_group")))
            ):
                return heads // group
    for name in _KV_HEADS:
        value = text.get(name)
        if isinstance(value, list):
            value = max((integer(item) for item in value), default=0)
        if found := integer(value):
            return found
    return heads


def _indexer_bytes(text: Mapping[str, object]) -> int:
    """Bytes per token and layer of DeepSeek-V3.2's indexer: FP8 keys, a float32 scale per 128 (deepseek_v2.py)."""
    size = integer(text.get("index_head_dim"))
    return size + size // 128 * 4


def _longest(text: Mapping[str, object], config: Mapping[str, object], model_type: str, version: str) -> int:
    lengths = [found for name in _LENGTHS if (found := integer(text.get(name)))]
    if not lengths:
        return 2048
    longest = float(integer(text.get("model_max_length")) or min(lengths))
    scaling = text.get("rope_scaling") or text.get("rope_parameters")
    if not isinstance(scaling, Mapping) or "gemma3" in model_type:
        return max(1, int(longest))
    kind = str(scaling.get("rope_type") or scaling.get("type") or "default")
    factor, original = scaling.get("factor"), integer(scaling.get("original_max_position_embeddings"))
    if kind == "yarn" and original and factor and release_at_least(version, 0, 28) is False:
        longest = original * factor
    elif kind not in _SCALED and isinstance(factor, (int, float)):
        longest *= factor
    if kind == "longrope" and release_at_least(version, 0, 12) is not False:
        longest = (
            integer(text.get("original_max_position_embeddings") or config.get("original_max_position_embeddings"))
            or longest
        )
    return max(1, int(longest))
