"""The shape of a model by whichever of many keys its config.json uses, and what each of its layers keeps."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.sizing.architecture import (
    CHUNKED,
    FULL,
    NONE,
    SLIDING,
    STATE,
    Architecture,
    ConfigError,
    first_integer,
    integer,
)

PLAIN = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 64,
    "num_attention_heads": 8,
    "vocab_size": 100,
}


def shaped(*absent: str, **keys: object) -> Architecture:
    """Return the plain model with other keys, some of its own left out."""
    return Architecture({name: value for name, value in PLAIN.items() if name not in absent} | keys)


@pytest.mark.parametrize("key", ["num_hidden_layers", "n_layer", "n_layers", "num_layers"])
def test_keys_for_the_number_of_layers(key: str) -> None:
    """As the families of models call it."""
    assert shaped("num_hidden_layers", **{key: 7}).layers == 7


@pytest.mark.parametrize("key", ["hidden_size", "n_embd", "d_model"])
def test_keys_for_the_hidden_size(key: str) -> None:
    """Without a head size the heads share it."""
    found = shaped("hidden_size", **{key: 96})
    assert (found.hidden, found.head_dim, found.head_dim_v) == (96, 12, 12)


@pytest.mark.parametrize("key", ["num_attention_heads", "n_head", "n_heads"])
def test_keys_for_attention_heads(key: str) -> None:
    """KV heads are as many where nothing else is said."""
    found = shaped("num_attention_heads", **{key: 16})
    assert (found.heads, found.kv_heads) == (16, 16)


def test_a_model_without_heads_has_none() -> None:
    """Mamba models have no attention; a missing vocabulary is none either."""
    found = shaped("num_attention_heads", "vocab_size")
    assert (found.heads, found.kv_heads, found.head_dim, found.vocab) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    "key", ["n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups"]
)
def test_keys_for_kv_heads(key: str) -> None:
    """A list counts by its largest."""
    assert shaped(**{key: 2}).kv_heads == 2
    assert shaped(**{key: [1, 4, 2]}).kv_heads == 4
    assert shaped(**{key: []}).kv_heads == 8


@pytest.mark.parametrize(
    ("model_type", "keys", "kv_heads"),
    [
        ("falcon", {"multi_query": True}, 1), ("RefinedWeb", {"multi_query": True}, 1), ("RefinedWebModel", {"multi_query": True}, 1),
        ("falcon", {"multi_query": True, "new_decoder_architecture": True}, 8), ("falcon", {}, 8),
        ("gpt_bigcode", {"multi_query": True}, 1), ("gpt_bigcode", {"multi_query": False}, 8), ("llama", {"multi_query": True}, 8),
        ("mpt", {"attn_config": {"kv_n_heads": 2}}, 2), ("mpt", {"attn_config": {}}, 8),
        ("nemotron-nas", {"block_configs": [{"attention": {"no_op": True, "n_heads_in_group": 8}},
                                            {"attention": {"n_heads_in_group": 4}}]}, 2),
        ("nemotron-nas", {"block_configs": [{"attention": {}}, {}]}, 8),
    ],
)  # fmt: skip
def test_kv_heads_told_in_other_words(model_type: str, keys: dict[str, object], kv_heads: int) -> None:
    """Multi-query models have one; MPT and Nemotron-NAS say it in a part of their config."""
    assert shaped(model_type=model_type, **keys).kv_heads == kv_heads


@pytest.mark.parametrize("key", ["head_dim", "hidden_size_per_head", "attention_head_dim"])
def test_keys_for_the_size_of_a_head(key: str) -> None:
    """It need not be the hidden size by the heads."""
    found = shaped(**{key: 32})
    assert (found.head_dim, found.head_dim_v) == (32, 32)


def test_values_narrower_than_keys() -> None:
    """MiMo-V2-Flash alone has values of a size of their own."""
    assert shaped(model_type="mimo_v2_flash", head_dim=24, v_head_dim=16).head_dim_v == 16
    assert shaped(head_dim=24, v_head_dim=16).head_dim_v == 24


@pytest.mark.parametrize(
    "model_type",
    [
        "axk1", "deepseek_v2", "deepseek_v3", "deepseek_v32", "deepseek_mtp", "glm_moe_dsa", "glm4_moe_lite", "kimi_k2",
        "kimi_linear", "longcat_flash", "pangu_ultra_moe", "bailing_hybrid",
    ],
)  # fmt: skip
def test_models_with_latent_attention(model_type: str) -> None:
    """One vector of the latent and the rotary part stands for keys and values; without a rank there is none."""
    found = shaped(model_type=model_type, kv_lora_rank=512, qk_rope_head_dim=64, index_head_dim=128)
    assert (found.mla, found.head_dim, found.head_dim_v, found.indexer_bytes) == (True, 576, 0, 128 + 4)
    assert not shaped(model_type=model_type).mla


def test_other_models_with_such_keys_have_no_latent() -> None:
    """The type decides."""
    found = shaped(kv_lora_rank=512, qk_rope_head_dim=64, index_head_dim=128)
    assert (found.mla, found.head_dim, found.indexer_bytes) == (False, 8, 0)


@pytest.mark.parametrize("part", ["text_config", "llm_config", "language_config"])
def test_the_language_model_of_a_multimodal_one(part: str) -> None:
    """Its part of the config is read; the type may stand outside."""
    inner = {key: value for key, value in PLAIN.items() if key != "model_type"}
    found = Architecture({part: inner, "model_type": "outer", "vision_config": {}})
    assert (found.layers, found.model_type) == (4, "outer")
    assert Architecture({part: PLAIN, "model_type": "outer"}).model_type == "llama"


def test_the_language_model_within_a_thinker() -> None:
    """Omni models hold it two levels down."""
    assert Architecture({"thinker_config": {"text_config": PLAIN}}).layers == 4


@pytest.mark.parametrize(("layers", "accepted"), [(4096, True), (4097, False)])
def test_a_number_of_layers_that_cannot_be_is_refused(layers: int, accepted: bool) -> None:
    """The number is named."""
    if accepted:
        assert shaped(num_hidden_layers=layers).layers == layers
    else:
        with pytest.raises(ConfigError, match=r"^the model config says 4097 layers$"):
            shaped(num_hidden_layers=layers)


def test_what_is_missing_is_named() -> None:
    """By the key that is most common."""
    with pytest.raises(ConfigError, match=r"^the model config has no hidden_size$"):
        shaped("hidden_size")


@pytest.mark.parametrize("place", ["quantization_config", "compression_config"])
def test_where_a_checkpoint_says_how_it_is_quantised(place: str) -> None:
    """At the top, or with the language model; anything but an object says nothing."""
    assert shaped(**{place: {"quant_method": "awq"}}).quantization == {"quant_method": "awq"}
    assert shaped(**{place: "awq"}).quantization == {}
    inner = Architecture({"text_config": PLAIN | {"quantization_config": {"bits": 4}}})
    assert inner.quantization == {"bits": 4}


@pytest.mark.parametrize(
    "key",
    [
        "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_target_positions",
        "max_sequence_length", "max_seq_length", "seq_len",
    ],
)  # fmt: skip
def test_keys_for_the_context(key: str) -> None:
    """Of several the smallest; where there is none, vLLM takes 2048."""
    assert shaped(**{key: 777}).longest() == 777
    assert shaped().longest() == 2048
    assert shaped(n_positions=4096, max_seq_len=1024).longest() == 1024
    assert shaped(n_positions=4096, model_max_length=8192).longest() == 8192


@pytest.mark.parametrize(
    ("scaling", "version", "longest"),
    [
        ({"rope_type": "linear", "factor": 2.0}, "", 2000), ({"type": "dynamic", "factor": 4}, "", 4000),
        ({"factor": 4}, "", 4000), ({"rope_type": "linear"}, "", 1000),
        ({"rope_type": "su", "factor": 4}, "", 1000), ({"rope_type": "llama3", "factor": 4}, "", 1000),
        ({"rope_type": "deepseek_yarn", "factor": 4}, "", 1000), ({"rope_type": "deepseek_llama_scaling", "factor": 4}, "", 1000),
        ({"rope_type": "yarn", "factor": 4}, "0.9.0", 1000), ({"rope_type": "yarn", "factor": 4}, "", 1000),
        ({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 500}, "0.9.0", 2000),
        ({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 500}, "0.27.9", 2000),
        ({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 500}, "0.28.0", 1000),
        ({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 500}, "", 1000),
        ("linear", "", 1000),
    ],
)  # fmt: skip
def test_rotary_scaling(scaling: object, version: str, longest: int) -> None:
    """By its type and the release; some types say the scaled length already."""
    assert shaped(max_position_embeddings=1000, rope_scaling=scaling).longest(version) == longest
    assert shaped(max_position_embeddings=1000, rope_parameters=scaling).longest(version) == longest


def test_gemma3_scales_nothing() -> None:
    """Its config holds the scaled length."""
    keys = {"max_position_embeddings": 1000, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    assert shaped(model_type="gemma3_text", **keys).longest() == 1000


def test_longrope_starts_with_the_original_context_from_0_12_on() -> None:
    """Wherever the config says it."""
    keys = {"max_position_embeddings": 1000, "rope_scaling": {"type": "longrope", "factor": 4}}
    assert shaped(**keys, original_max_position_embeddings=250).longest("0.12.0") == 250
    assert shaped(**keys, original_max_position_embeddings=250).longest("0.11.9") == 1000
    assert shaped(**keys).longest("0.12.0") == 1000
    assert Architecture({"text_config": PLAIN | keys, "original_max_position_embeddings": 250}).longest() == 250


WINDOWED = {"sliding_window": 128}
NAS = [{"attention": {"no_op": True}}, {"attention": {}}, {"attention": None}, None]


@pytest.mark.parametrize(
    ("model_type", "keys", "kinds"),
    [
        ("llama", {}, [FULL] * 4),
        ("x", {"layer_types": ["full_attention", "attention", "global", "hybrid"]}, [FULL] * 4),
        ("x", {"layer_types": ["sliding_attention", "chunked_attention"]} | WINDOWED, [SLIDING, CHUNKED, FULL, FULL]),
        ("x", {"layer_types": ["sliding_attention", "chunked_attention"]}, [FULL, CHUNKED, FULL, FULL]),
        ("x", {"layer_types": ["linear_attention", "mamba", "mamba2", "conv"]}, [STATE] * 4),
        ("x", {"layer_types": ["recurrent", "mlp", "moe", "no_op"]}, [STATE, NONE, NONE, NONE]),
        ("x", {"layers_block_type": ["attention", "mamba", "unheard_of", "mlp", "mamba"]}, [FULL, STATE, FULL, NONE]),
        ("nemotron_h", {"hybrid_override_pattern": "M*-E"}, [STATE, FULL, NONE, NONE]),
        ("bamba", {"attn_layer_indices": [1, 3]}, [STATE, FULL, STATE, FULL]),
        ("minimax", {"attn_type_list": [0, 1, 0, 1, 1]}, [STATE, FULL, STATE, FULL]),
        ("nemotron-nas", {"block_configs": NAS}, [NONE, FULL, FULL, FULL]),
        ("mamba", {}, [STATE] * 4),
        ("mamba2", {}, [STATE] * 4),
        ("falcon_mamba", {}, [STATE] * 4),
        ("jamba", {"attn_layer_period": 2, "attn_layer_offset": 1}, [STATE, FULL, STATE, FULL]),
        ("qwen3_next", {"full_attention_interval": 4}, [STATE, STATE, STATE, FULL]),
        ("llama4_text", {"attention_chunk_size": 8192}, [CHUNKED, CHUNKED, CHUNKED, FULL]),
        ("llama4_text", {}, [FULL] * 4),
        ("llama", {"attention_chunk_size": 8192}, [FULL] * 4),
        ("gemma2", WINDOWED, [SLIDING, FULL, SLIDING, FULL]),
        ("gpt_oss", WINDOWED, [SLIDING, FULL, SLIDING, FULL]),
        ("cohere2", {"sliding_window_pattern": 4} | WINDOWED, [SLIDING, SLIDING, SLIDING, FULL]),
        ("cohere2", {"sliding_window_pattern": 4}, [FULL] * 4),
        ("mistral", WINDOWED, [SLIDING] * 4),
        ("qwen2", {"use_sliding_window": False, "max_window_layers": 2} | WINDOWED, [FULL] * 4),
        ("qwen2", {"use_sliding_window": True, "max_window_layers": 2} | WINDOWED, [FULL, FULL, SLIDING, SLIDING]),
        ("mistral", {"max_window_layers": 2} | WINDOWED, [SLIDING] * 4),
    ],
)
def test_what_each_layer_keeps(model_type: str, keys: dict[str, object], kinds: list[str]) -> None:
    """All tokens, a window, a chunk, a state or nothing, by the keys of each family."""
    assert list(shaped(model_type=model_type, **keys).kinds) == kinds


def test_gemma3_attends_to_everything_in_every_sixth_layer() -> None:
    """Also where its config names no pattern."""
    found = shaped(model_type="gemma3_text", num_hidden_layers=12, **WINDOWED).kinds
    assert [place for place, kind in enumerate(found) if kind == FULL] == [5, 11]


def test_the_window_of_a_model() -> None:
    """Of attention, else of its chunks."""
    assert shaped(**WINDOWED).window == 128
    assert shaped(model_type="llama4_text", attention_chunk_size=8192).window == 8192
    assert shaped().window == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, 1), (0, 0), (-1, 0), (2.7, 2), (True, 0), ("3", 0), (None, 0), (1e12, 0), (1e12 - 1, 10**12 - 1), (float("nan"), 0)],
)  # fmt: skip
def test_numbers_of_a_config(value: object, expected: int) -> None:
    """Positive ones of possible size; switches and texts are none."""
    assert integer(value) == expected


def test_the_first_key_that_holds_a_number() -> None:
    """Of a list its first item; empty lists and zeros are passed over."""
    config = {"a": 0, "b": [], "c": [5, 6], "d": 7}
    assert first_integer(config, "absent", "a", "b", "c", "d") == 5
    assert first_integer(config, "d", "c") == 7
    assert first_integer(config, "a", "b") == 0
