"""What each layer of a model keeps per sequence, by whichever of many config keys says so.

Sources: vllm/config/model.py (get_num_layers_by_block_type) and the layer patterns in vllm/model_executor/models.
"""

from __future__ import annotations

from collections.abc import Mapping

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
