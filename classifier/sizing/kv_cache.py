"""The KV cache: bytes per token, what one request needs, what a memory holds. As vLLM's V1 engine lays it out.

Sources: vllm/v1/kv_cache_interface.py (page sizes and max_memory_usage_bytes of each kind of layer),
vllm/v1/core/kv_cache_utils.py, from 0.22 on kv_cache_planning.py (groups of layers, estimate_max_model_len),
vllm/config/model.py (get_num_kv_heads), vllm/platforms/interface.py (_align_hybrid_block_size); for the state of fixed size of Mamba,
linear attention and short convolutions vllm/model_executor/layers/mamba/mamba_utils.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..values.computed import release_at_least
from .architecture import CHUNKED, FULL, NONE, SLIDING, STATE, Architecture, first_integer
from .parameters import stage_layers

BLOCK = 16
"""Tokens of a block where nothing asks for more (vllm/config/cache.py)."""
_NUMBER_BYTES = {
    "auto": 2.0,
    "bfloat16": 2.0,
    "float16": 2.0,
    "fp8": 1.0,
    "fp8_e4m3": 1.0,
    "fp8_e5m2": 1.0,
    "fp8_inc": 1.0,
}
_DS_MLA = 656
"""Bytes of a token in the fp8_ds_mla format (backends/mla/flashmla_sparse.py)."""

Kind = tuple[str, int, int]
"""A kind of layer: what it keeps, bytes per token (or of the whole state), window."""


class UnknownDtypeError(ValueError):
    """A KV-cache dtype whose layout is not known here."""


class Group:
    """Layers that share a block table: one block of ``page`` bytes holds ``block`` tokens of each layer."""

    __slots__ = ("block", "keeps", "states", "window")

    def __init__(self, keeps: str, block: int, window: int = 0, states: int = 1) -> None:
        self.keeps = keeps
        self.block = block
        self.window = window
        self.states = states
        """States kept per request: two with prefix caching (MambaSpec, cache mode 'align')."""

    def blocks(self, length: int, batched_tokens: int) -> int:
        """Return the blocks that a request of ``length`` tokens holds at most (max_memory_usage_bytes of each spec)."""
        if self.keeps == STATE:
            return self.states
        if self.keeps == FULL:
            return -(-length // self.block)
        if self.keeps == CHUNKED:
            return -(-min(self.window + batched_tokens, length) // self.block)
        # One more: a window need not begin where a block begins.
        return -(-min(self.window - 1 + batched_tokens, length) // self.block) + 1


class Layout:
    """How the layers of one rank share KV memory."""

    __slots__ = ("block_bytes", "groups", "reserved_blocks", "token_bytes")

    def __init__(self, groups: list[Group], block_bytes: int, token_bytes: int, reserved_blocks: int) -> None:
        self.groups = groups
        self.block_bytes = block_bytes
        """Bytes of a block in the pool that all groups draw from."""
        self.token_bytes = token_bytes
        """Bytes of a token in all layers that keep tokens, windowed ones included."""
        self.reserved_blocks = reserved_blocks

    def request_blocks(self, length: int, batched_tokens: int) -> int:
        """Return the blocks that one request of ``length`` tokens needs."""
        return sum(group.blocks(length, batched_tokens) for group in self.groups)

    def request_bytes(self, length: int, batched_tokens: int) -> int:
        """Return the memory that one request of ``length`` tokens needs (_max_memory_usage_bytes_from_groups)."""
        return self.request_blocks(length, batched_tokens) * self.block_bytes

    def pool_blocks(self, memory: float) -> int:
        """Return the blocks that ``memory`` bytes hold (get_num_blocks)."""
        return max(0, int(memory // self.block_bytes)) if self.block_bytes else 0

    def pool_tokens(self, memory: float) -> int:
        """Return the tokens that vLLM says the cache holds ('GPU KV cache size: … tokens', up to 0.25)."""
        tokens = [group.block for group in self.groups if group.keeps != STATE]
        return self.pool_blocks(memory) // len(self.groups) * min(tokens) if tokens else 0

    def concurrency(self, memory: float, length: int, batched_tokens: int) -> float:
        """Return how many requests of ``length`` tokens fit ('Maximum concurrency … x')."""
        need = self.request_blocks(length, batched_tokens)
        return self.pool_blocks(memory) / need if need else 0.0

    def longest(self, memory: float, most: int, batched_tokens: int) -> int:
        """Return the longest context up to ``most`` of which a request fits, or 0 (estimate_max_model_len)."""
        usable = memory - self.reserved_blocks * self.block_bytes
        if not self.groups:
            return most
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            if self.request_bytes(middle, batched_tokens) <= usable:
                low = middle
            else:
                high = middle - 1
        return low


def kv_heads_per_rank(model: Architecture, tensor: int) -> int:
    """Return the KV heads that a rank keeps: divided, at least one; MLA keeps one latent (get_num_kv_heads)."""
    return 1 if model.mla else max(1, model.kv_heads // tensor)


def layer_token_bytes(model: Architecture, tensor: int = 1, kv_dtype: str = "auto") -> int:
    """Return the bytes of one token in one attention layer of one rank.

    Keys and values: KV heads × (head size of keys + of values) × bytes of a number (AttentionSpec); MLA: one vector of
    kv_lora_rank + qk_rope_head_dim numbers (MLAAttentionSpec). Per-head quantisation adds a float32 scale per head for
    keys and for values; NVFP4 an FP8 scale per 16 numbers (utils/torch_utils.py).
    """
    heads, key, value = kv_heads_per_rank(model, tensor), model.head_dim, model.head_dim_v
    if kv_dtype == "fp8_ds_mla" and model.mla:
        return _DS_MLA
    if kv_dtype in ("int8_per_token_head", "fp8_per_token_head"):
        return heads * (key + value + 8)
    if kv_dtype.startswith("nvfp4") and not model.mla:
        return heads * (key // 2 + key // 16 + value // 2 + value // 16)
    if kv_dtype not in _NUMBER_BYTES:
        raise UnknownDtypeError(kv_dtype)
    return int(heads * (key + value) * _NUMBER_BYTES[kv_dtype])


def layout(
    model: Architecture,
    tensor: int = 1,
    pipeline: int = 1,
    kv_dtype: str = "auto",
    version: str = "",
    prefix_caching: bool = True,
) -> Layout:
    """Return how ``version`` lays the KV cache of the fullest rank out.

    Up to 0.9.0 a model that mixes full and windowed layers caches every token in all of them
    (unify_hybrid_kv_cache_specs), and the V0 engine (before 0.8) in windowed models too; later releases keep the window
    alone. Chunked local attention (Llama 4) is treated as full in every release unless a variable says otherwise
    (vllm/config/vllm.py).
    """
    token = layer_token_bytes(model, tensor, kv_dtype)
    stages, start = [], 0
    for count in stage_layers(model.layers, pipeline):
        stages.append(_stage(model, model.kinds[start : start + count], token, tensor))
        start += count
    kinds = max(stages, key=lambda stage: sum(size for keeps, size, _ in stage if keeps != STATE))
    # From about 0.30 on the pool's null block is kept out of the reckoning; from 0.26 on models with states cache
    # prefixes unless told otherwise.
    reserved = 0 if release_at_least(version, 0, 30) is False else 1
    states = 1 if not prefix_caching or release_at_least(version, 0, 26) is False else 2
    return _grouped(_as_released(kinds, version), reserved, states)


def _stage(model: Architecture, names: Sequence[str], token: int, tensor: int) -> list[Kind]:
    """Return what the layers of one pipeline stage keep on one rank."""
    kinds: list[Kind] = []
    for name in names:
        if name == STATE:
            kinds.append((STATE, state_bytes(model, tensor), 0))
        elif name != NONE and token:
            kinds.append((name, token, model.window if name in (SLIDING, CHUNKED) else 0))
            if model.indexer_bytes:
                kinds.append((FULL, model.indexer_bytes, 0))
    return kinds


def _as_released(kinds: list[Kind], version: str) -> list[Kind]:
    mixed = len({kind[0] for kind in kinds} - {STATE}) > 1
    old = release_at_least(version, 0, 9, 1) is False
    engine0 = release_at_least(version, 0, 8) is False
    widened = []
    for keeps, size, window in kinds:
        widen = (keeps == CHUNKED and mixed) or (keeps == SLIDING and (engine0 or (old and mixed)))
        widened.append((FULL, size, 0) if widen else (keeps, size, window))
    return widened


def _grouped(kinds: Sequence[Kind], reserved: int, states: int) -> Layout:
    """Form groups of equally many layers with equal pages (get_kv_cache_groups)."""
    if not kinds:
        return Layout([], 0, 0, 0)
    tokens = [size for keeps, size, _ in kinds if keeps != STATE]
    per_token = sum(tokens)
    shapes = {(keeps, window) for keeps, _, window in kinds}
    if len(shapes) == 1:
        # One group whatever the layers' sizes (UniformTypeKVCacheSpecs).
        ((keeps, window),) = shapes
        block = 1 if keeps == STATE else BLOCK
        return Layout(
            [Group(keeps, block, window, states)], sum(size for _, size, _ in kinds) * block, per_token, reserved
        )
    state_sizes = [size for keeps, size, _ in kinds if keeps == STATE]
    # An attention page must be as large as a state; the state's page is padded to it (_align_hybrid_block_size).
    block = BLOCK * max(1, -(-max(state_sizes, default=0) // (BLOCK * max(tokens)))) if tokens else 1
    page = max(tokens, default=0) * block or max(state_sizes)
    members: dict[Kind, int] = {}
    for kind in kinds:
        key = (STATE, 0, 0) if kind[0] == STATE else kind
        members[key] = members.get(key, 0) + 1
    smallest, largest = min(members.values()), max(members.values())
    size = largest if largest < smallest * 1.5 else smallest
    groups = []
    for (keeps, each, window), count in members.items():
        # A smaller page takes more tokens where that comes out even (unify_kv_cache_spec_page_size).
        tokens_per_block = page // each if each and page % each == 0 else block
        groups += [Group(keeps, tokens_per_block, window, states) for _ in range(-(-count // size))]
    return Layout(groups, page * size, per_token, reserved)


_CONVOLUTION = 2
"""Bytes of a number of the convolution's state: 16 bits."""


def state_bytes(model: Architecture, tensor: int = 1) -> int:
    """Return the bytes of one layer's state on one of ``tensor`` ranks."""
    config = model.config
    if first_integer(config, "linear_num_value_heads"):
        return _gated_delta_net(model, tensor)
    if first_integer(config, "mamba_num_heads", "mamba_n_heads", "n_mamba_heads"):
        return _mamba2(model, tensor)
    kernel = first_integer(config, "conv_kernel", "mamba_d_conv") or 4
    if size := first_integer(config, "ssm_state_size", "mamba_d_state", "state_size"):  # mamba1_state_shape
        wide = first_integer(config, "mamba_expand", "expand") * model.hidden
        wide = (wide or first_integer(config, "intermediate_size")) // tensor
        return wide * (kernel - 1) * _CONVOLUTION + wide * size * _recurrent(model)
    if length := first_integer(config, "conv_L_cache"):  # short_conv_state_shape
        return model.hidden // tensor * max(1, length - 1) * _CONVOLUTION
    # linear_attention_state_shape
    return max(1, model.heads // tensor) * model.head_dim * model.head_dim * _recurrent(model)


def _gated_delta_net(model: Architecture, tensor: int) -> int:
    """Return gated_delta_net_state_shape in bytes (Qwen3-Next)."""
    config = model.config
    keys, key = first_integer(config, "linear_num_key_heads"), first_integer(config, "linear_key_head_dim")
    values, value = first_integer(config, "linear_num_value_heads"), first_integer(config, "linear_value_head_dim")
    wide = (2 * keys * key + values * value) // tensor
    kernel = first_integer(config, "linear_conv_kernel_dim") or 4
    return wide * (kernel - 1) * _CONVOLUTION + values // tensor * value * key * _recurrent(model)


def _mamba2(model: Architecture, tensor: int) -> int:
    """Return mamba2_state_shape in bytes: heads are divided, groups extended until they divide."""
    config = model.config
    heads = first_integer(config, "mamba_num_heads", "mamba_n_heads", "n_mamba_heads")
    size = first_integer(config, "mamba_head_dim", "mamba_d_head", "mamba_headdim")
    state = first_integer(config, "ssm_state_size", "mamba_d_state", "state_size")
    groups = first_integer(config, "n_groups", "mamba_n_groups", "mamba_ngroups") or 1
    if groups % tensor:
        groups = tensor
    wide = (heads * size + 2 * groups * state) // tensor
    kernel = first_integer(config, "conv_kernel", "mamba_d_conv") or 4
    return wide * (kernel - 1) * _CONVOLUTION + heads // tensor * size * state * _recurrent(model)


def _recurrent(model: Architecture) -> int:
    """Return the bytes of a number of the recurrent state: what the config says, else the model class's default."""
    config = model.config
    said = config.get("mamba_ssm_dtype") or config.get("mamba_ssm_cache_dtype")
    if not said and model.model_type in ("nemotron_h", "kimi_linear"):
        return 4
    return 4 if "32" in str(said) else 2
