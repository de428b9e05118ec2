"""KV memory agrees with vLLM's definitions and with figures that vLLM printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.classifier.sizing.models import NAMES, model
from tests.classifier.sizing.reference import Attention, Mamba, block_bytes, groups_of, longest, request_bytes
from vllm_triage.classifier.sizing.kv_cache import UnknownDtypeError, layer_token_bytes, layout, state_bytes

GIB = 1 << 30


def repeated(*pattern, times):
    return {f"layer.{place}": spec for place, spec in enumerate(list(pattern) * times)}


GEMMA2 = (Attention(8, 256, window=4096), Attention(8, 256))
GEMMA3 = (*[Attention(8, 256, window=1024)] * 5, Attention(8, 256))
GPT_OSS = (Attention(8, 64, window=128), Attention(8, 64))
DELTA_NET = Mamba(((3, 8192), (32, 128, 128)), (2, 2))
QWEN_NEXT = (DELTA_NET, DELTA_NET, DELTA_NET, Attention(2, 256))
JAMBA_STATE = Mamba(((3, 8192), (8192, 16)), (2, 2))
JAMBA = (*[JAMBA_STATE] * 4, Attention(8, 128), *[JAMBA_STATE] * 3)
NEMOTRON_STATE = Mamba(((3, 10240), (128, 64, 128)), (2, 4))

SPECS = {
    "llama-3.1-8b": repeated(Attention(8, 128), times=32),
    "llama-3.1-70b": repeated(Attention(8, 128), times=80),
    "llama-2-13b": repeated(Attention(40, 128), times=40),
    "llama-3.2-1b": repeated(Attention(8, 64), times=16),
    "qwen2.5-7b": repeated(Attention(4, 128), times=28),
    "qwen2.5-32b": repeated(Attention(8, 128), times=64),
    "qwen3-32b": repeated(Attention(8, 128), times=64),
    "qwen3-30b-a3b": repeated(Attention(4, 128), times=48),
    "mistral-7b-v0.1": repeated(Attention(8, 128, window=4096), times=32),
    "mistral-7b-v0.3": repeated(Attention(8, 128), times=32),
    "mixtral-8x7b": repeated(Attention(8, 128), times=32),
    "gemma-2-9b": repeated(*GEMMA2, times=21),
    "gemma-3-12b": repeated(*GEMMA3, times=8),
    "phi-3-mini-4k": repeated(Attention(32, 96, window=2047), times=32),
    "phi-4": repeated(Attention(10, 128), times=40),
    "deepseek-v3": repeated(Attention(1, 576, joint=True), times=61),
    "falcon-7b": repeated(Attention(1, 64), times=32),
    "gpt-oss-20b": repeated(*GPT_OSS, times=12),
    "gpt-oss-120b": repeated(*GPT_OSS, times=18),
    "qwen3-next-80b-a3b": repeated(*QWEN_NEXT, times=12),
    "qwen3.5-27b": repeated(*[Mamba(((3, 10240), (48, 128, 128)), (2, 4))] * 3, Attention(4, 256), times=16),
    "nemotron-h-8b": {
        **repeated(NEMOTRON_STATE, times=24),
        **{f"attention.{place}": Attention(8, 128) for place in range(4)},
    },
    "jamba-v0.1": repeated(*JAMBA, times=4),
}
"""Each model's layers, from its published config, as vLLM's model classes build them."""

KIB_PER_TOKEN = {
    "llama-3.1-8b": 128,
    "llama-3.1-70b": 320,
    "llama-2-13b": 800,
    "llama-3.2-1b": 32,
    "qwen2.5-7b": 56,
    "qwen2.5-32b": 256,
    "qwen3-32b": 256,
    "qwen3-30b-a3b": 96,
    "mistral-7b-v0.1": 128,
    "mistral-7b-v0.3": 128,
    "mixtral-8x7b": 128,
    "gemma-2-9b": 336,
    "gemma-3-12b": 384,
    "phi-3-mini-4k": 384,
    "phi-4": 200,
    "deepseek-v3": 68.625,
    "falcon-7b": 8,
    "gpt-oss-20b": 48,
    "gpt-oss-120b": 72,
    "qwen3-next-80b-a3b": 24,
    "qwen3.5-27b": 64,
    "nemotron-h-8b": 16,
    "jamba-v0.1": 16,
}
"""KiB per token in all layers that keep tokens; one GPU, 16 bits."""


def test_every_config_has_its_layers_written_down():
    """A config added without its layers would be tested by nothing."""
    assert NAMES == sorted(SPECS) == sorted(KIB_PER_TOKEN)


@pytest.mark.parametrize("name", NAMES)
def test_bytes_per_token(name):
    """The sum over layers of a page divided by its tokens is what a token takes, and what is known of the model."""
    pages = [spec.page // spec.block for spec in SPECS[name].values() if isinstance(spec, Attention)]
    assert sum(pages) == layout(model(name)).token_bytes == KIB_PER_TOKEN[name] * 1024


@pytest.mark.parametrize("batched", [1, 2048, 2049])
@pytest.mark.parametrize("length", [1, 100, 4096, 31000, 131072])
@pytest.mark.parametrize("name", NAMES)
def test_memory_of_a_request(name, length, batched):
    """A request needs what vLLM's group arithmetic says, windows, states and padding included."""
    groups = groups_of(SPECS[name])
    assert layout(model(name), version="0.19.1").request_bytes(length, batched) == request_bytes(
        groups, length, batched
    )
    assert layout(model(name), version="0.19.1").block_bytes == block_bytes(groups)


@pytest.mark.parametrize(
    "name", ["llama-3.1-8b", "mistral-7b-v0.1", "gemma-3-12b", "deepseek-v3", "qwen3-next-80b-a3b"]
)
def test_longest_context(name):
    """The longest context is the one that trying every length from above finds."""
    groups = groups_of(SPECS[name])
    memory = request_bytes(groups, 9000, 2048)
    expected = longest(groups, memory, 12000, 2048)
    assert expected == layout(model(name), version="0.19.1").longest(memory, 12000, 2048)


PRINTED = [
    ("llama-3.1-8b", 1, "0.11.0", 4.75, 38944, 32000, 1.22, 2048),
    ("llama-2-13b", 1, "0.9.2", 10.32, 13520, 4096, 3.30, 8192),
    ("llama-3.2-1b", 1, "0.23.0", 41.01, 1343840, 4096, 328.09, 2048),
    ("qwen2.5-7b", 1, "0.17.0", 41.81, 782800, 4096, 191.11, 2048),
    ("qwen2.5-32b", 4, "0.18.1", 5.24, 85760, 32768, 2.62, 2048),
    ("qwen2.5-32b", 1, "0.13.0", 15.95, 65328, 16384, 3.99, 2048),
    ("qwen3-30b-a3b", 1, "0.12.0", 18.15, 198288, 4096, 48.41, 8192),
    ("phi-3-mini-4k", 1, "0.19.1", 13.06, 35648, 4096, 8.67, 2048),
    ("gpt-oss-120b", 2, "0.15.1", 77.93, 2269888, 131072, 32.56, 8192),
    ("gpt-oss-120b", 4, "0.10.1.1", 45.32, 2640144, 16384, 284.25, 2048),
    ("qwen3.5-27b", 4, "0.19.0", 7.47, 122304, 32768, 13.87, 8192),
    ("qwen3.5-27b", 4, "0.19.0", 7.0, 114464, 32768, 12.98, 8192),
    ("qwen3.5-27b", 4, "0.19.0", 52.15, 853776, 262144, 12.90, 8192),
]
"""Model, TP, release, available GiB, tokens, context, concurrency (as real servers logged them), batched tokens."""


@pytest.mark.parametrize(("name", "tensor", "version", "gib", "tokens", "length", "concurrency", "batched"), PRINTED)
def test_figures_that_servers_printed(name, tensor, version, gib, tokens, length, concurrency, batched):
    """'GPU KV cache size' and 'Maximum concurrency' come out as logged, within the rounding of the logged memory."""
    found = layout(model(name), tensor, version=version)
    low, high = (gib - 0.005) * GIB, (gib + 0.005) * GIB
    assert found.pool_tokens(low) <= tokens <= found.pool_tokens(high)
    assert (
        found.concurrency(low, length, batched) - 0.01 <= concurrency <= found.concurrency(high, length, batched) + 0.01
    )


def test_tensor_ranks_divide_kv_heads_and_keep_at_least_one():
    """GQA heads are divided among ranks; beyond their number each rank keeps one (replication)."""
    found = {size: layer_token_bytes(model("qwen2.5-7b"), size) for size in (1, 2, 4, 7, 14, 28)}
    assert found == {1: 2048, 2: 1024, 4: 512, 7: 512, 14: 512, 28: 512}


def test_mla_is_not_divided():
    """Every rank keeps the whole latent vector."""
    assert layer_token_bytes(model("deepseek-v3"), 1) == layer_token_bytes(model("deepseek-v3"), 16) == 576 * 2


def test_mla_can_be_kept_in_the_sparse_format():
    """fp8_ds_mla takes 656 bytes a token (flashmla_sparse.py): 512 FP8, 16 of scales, 64 × 2 of rotary part."""
    assert layer_token_bytes(model("deepseek-v3"), 1, "fp8_ds_mla") == 512 + 4 * 4 + 64 * 2


def test_the_indexer_of_sparse_attention_is_counted():
    """DeepSeek-V3.2 keeps 128 FP8 numbers and a float32 scale per layer beside the latent vector."""
    sparse = model("deepseek-v3", model_type="deepseek_v32", index_head_dim=128, index_n_heads=64)
    assert layout(sparse).token_bytes == 61 * (576 * 2 + 128 + 4)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("auto", 2 * 8 * 128 * 2),
        ("bfloat16", 2 * 8 * 128 * 2),
        ("fp8", 2 * 8 * 128),
        ("fp8_e5m2", 2 * 8 * 128),
        ("int8_per_token_head", 2 * 8 * (128 + 4)),
        ("nvfp4", 2 * 8 * (64 + 8)),
    ],
)
def test_kv_dtype(dtype, expected):
    """Eight heads of 128: the bytes per number, and scales where the format stores them with the token."""
    assert expected == layer_token_bytes(model("llama-3.1-8b"), 1, dtype)


def test_a_dtype_that_is_not_known_is_named():
    """No layout is invented."""
    with pytest.raises(UnknownDtypeError, match="turboquant_4bit_nc"):
        layout(model("llama-3.1-8b"), kv_dtype="turboquant_4bit_nc")


@pytest.mark.parametrize(
    ("name", "tensor", "expected"),
    [
        ("qwen3-next-80b-a3b", 1, 8192 * 3 * 2 + 32 * 128 * 128 * 2),
        ("qwen3-next-80b-a3b", 4, 2048 * 3 * 2 + 8 * 128 * 128 * 2),
        ("qwen3.5-27b", 4, 2560 * 3 * 2 + 12 * 128 * 128 * 4),
        ("nemotron-h-8b", 1, (128 * 64 + 2 * 8 * 128) * 3 * 2 + 128 * 64 * 128 * 4),
        ("nemotron-h-8b", 16, (128 * 64 + 2 * 16 * 128) // 16 * 3 * 2 + 8 * 64 * 128 * 4),
        ("jamba-v0.1", 2, 4096 * 3 * 2 + 4096 * 16 * 2),
    ],
)
def test_states(name, tensor, expected):
    """Convolution and recurrent state as mamba_utils.py shapes them; groups are extended where ranks outnumber them."""
    assert expected == state_bytes(model(name), tensor)


def test_windows_save_nothing_before_the_hybrid_manager():
    """Up to 0.9.0 a model that mixes windows and full attention caches every token in every layer."""
    old, new = (layout(model("gemma-3-12b"), version=version) for version in ("0.9.0", "0.9.2"))
    assert old.request_bytes(100000, 2048) == 100000 // 16 * 384 * 1024 * 16
    assert new.request_bytes(100000, 2048) < old.request_bytes(100000, 2048) / 4


def test_v0_keeps_windowed_models_whole():
    """The V0 engine counts all tokens also where all layers are windowed; V1 does not."""
    old, new = (layout(model("mistral-7b-v0.1"), version=version) for version in ("0.7.3", "0.8.5"))
    assert old.request_bytes(32768, 2048) == 32768 * 128 * 1024
    assert new.request_bytes(32768, 2048) == (-(-(4095 + 2048) // 16) + 1) * 16 * 128 * 1024


def test_prefix_caching_keeps_a_second_state():
    """From 0.26 on hybrids cache prefixes by default: two states per group and request instead of one."""
    hybrid = model("qwen3-next-80b-a3b")
    one, two = (layout(hybrid, version="0.26.0", prefix_caching=wanted) for wanted in (False, True))
    assert two.request_blocks(4096, 2048) - one.request_blocks(4096, 2048) == 3


def test_pipeline_stages_keep_their_own_layers():
    """Of 28 layers the fuller of three stages keeps ten (get_pp_indices: 9, 10, 9)."""
    assert layout(model("qwen2.5-7b"), pipeline=3).token_bytes == 10 * 2048


def test_a_model_of_states_alone_keeps_no_tokens():
    """A Mamba model's request takes one state per layer, however long it is."""
    mamba = model("jamba-v0.1", attn_layer_period=None, model_type="mamba", num_attention_heads=None)
    found = layout(mamba, version="0.19.1")
    assert (found.token_bytes, found.request_bytes(100000, 2048)) == (0, 32 * (8192 * 3 * 2 + 8192 * 16 * 2))


@given(
    name=st.sampled_from(NAMES),
    memory=st.integers(0, 400 * GIB),
    more=st.integers(0, 100 * GIB),
    batched=st.integers(1, 16384),
)
def test_more_memory_never_holds_less(name, memory, more, batched):
    """Longest context, tokens and concurrency grow with memory, and what is called the longest does fit."""
    found = layout(model(name))
    small, large = (found.longest(size, 131072, batched) for size in (memory, memory + more))
    assert 0 <= small <= large <= 131072
    assert 0 <= found.pool_tokens(memory) <= found.pool_tokens(memory + more)
    assert found.concurrency(memory, 4096, batched) <= found.concurrency(memory + more, 4096, batched)
    if small:
        assert found.request_bytes(small, batched) <= memory
        assert small == 131072 or found.request_bytes(small + 1, batched) > memory - found.block_bytes


@given(
    name=st.sampled_from(NAMES),
    tensor=st.sampled_from([1, 2, 4, 8]),
    length=st.integers(1, 200000),
    version=st.sampled_from(["0.6.6", "0.8.5", "0.9.2", "0.19.1", "0.33.0", ""]),
)
def test_more_ranks_never_need_more(name, tensor, length, version):
    """A rank among more needs no more than a rank among fewer, and always something."""
    few, many = (layout(model(name), size, version=version) for size in (tensor, tensor * 2))
    assert 0 < many.token_bytes <= few.token_bytes
    assert few.request_bytes(length, 2048) > 0
