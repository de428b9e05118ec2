"""Parameters of small models, counted by hand, for the keys and families that the published configs do not show."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.sizing.architecture import Architecture
from vllm_triage.classifier.sizing.parameters import Parameters, count_parameters, number_of_experts

HIDDEN, HEADS, LAYERS, VOCAB, WIDE = 64, 4, 2, 100, 256
PLAIN: dict[str, object] = {
    "model_type": "llama",
    "num_hidden_layers": LAYERS,
    "hidden_size": HIDDEN,
    "num_attention_heads": HEADS,
    "vocab_size": VOCAB,
    "intermediate_size": WIDE,
}


def counted(*absent: str, **keys: object) -> Parameters:
    """Return the parameters of the plain model with other keys."""
    return count_parameters(Architecture({key: value for key, value in PLAIN.items() if key not in absent} | keys))


def test_a_plain_model() -> None:
    """Embeddings and head, queries and outputs, keys and values, three matrices of the MLP, two norms a layer."""
    found = counted()
    assert (found.embedding, found.head) == (VOCAB * HIDDEN, VOCAB * HIDDEN)
    assert found.attention == LAYERS * 2 * HIDDEN * HIDDEN
    assert found.kv == LAYERS * 2 * HIDDEN * HIDDEN
    assert found.mlp == LAYERS * 3 * HIDDEN * WIDE
    assert found.other == LAYERS * 2 * HIDDEN
    assert (found.experts, found.vision) == (0, 0)
    assert found.layers == found.attention + found.kv + found.mlp + found.other
    assert found.total == found.layers + 2 * VOCAB * HIDDEN


@pytest.mark.parametrize(
    "family",
    [
        "falcon", "RefinedWeb", "RefinedWebModel", "gpt2", "gpt_bigcode", "gpt_neox", "gptj", "gpt_neo", "phi", "phi-msft", "opt",
        "bloom", "mpt", "starcoder2", "nemotron", "nemotron_h", "persimmon", "codegen", "stablelm_epoch",
    ],
)  # fmt: skip
def test_families_with_two_matrices(family: str) -> None:
    """Up and down, no gate."""
    assert counted(model_type=family).mlp == LAYERS * 2 * HIDDEN * WIDE


@pytest.mark.parametrize(
    "family",
    [
        "gemma", "gemma2", "gemma3", "gemma3_text", "gpt2", "gpt_bigcode", "falcon", "RefinedWeb", "RefinedWebModel", "bloom", "mpt",
        "opt",
    ],
)  # fmt: skip
def test_families_that_share_the_embeddings(family: str) -> None:
    """Their head is no matrix of its own, unless the config says so."""
    assert counted(model_type=family).head == 0
    assert counted(model_type=family, tie_word_embeddings=False).head == VOCAB * HIDDEN
    assert counted(tie_word_embeddings=True).head == 0


def test_whoever_says_that_embeddings_are_shared() -> None:
    """The whole config goes before its part about the language model."""
    whole = {"text_config": PLAIN | {"tie_word_embeddings": True}}
    assert count_parameters(Architecture(whole)).head == 0
    assert count_parameters(Architecture(whole | {"tie_word_embeddings": False})).head == VOCAB * HIDDEN


@pytest.mark.parametrize("key", ["intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim"])
def test_keys_for_the_width_of_the_mlp(key: str) -> None:
    """Four times the hidden size where there is none."""
    assert counted("intermediate_size", **{key: 128}).mlp == LAYERS * 3 * HIDDEN * 128
    assert counted("intermediate_size").mlp == LAYERS * 3 * HIDDEN * 4 * HIDDEN


def test_a_width_for_each_layer() -> None:
    """A list names them; the last one goes for those that are missing."""
    assert counted(intermediate_size=[128, 64]).mlp == 3 * HIDDEN * (128 + 64)
    assert counted(intermediate_size=[128], num_hidden_layers=3).mlp == 3 * HIDDEN * 128 * 3


@pytest.mark.parametrize(
    ("ffn", "width"),
    [
        ({"no_op": True}, 0),
        ({"intermediate_size": 32}, 32),
        ({"ffn_mult": 3.0}, 256),  # 2/3 x 3 x 64 = 128, up to a multiple of 256
        ({"ffn_mult": 6.1}, 512),  # 260
        ({"ffn_mult": 1000}, WIDE),
        ({"ffn_mult": 0}, WIDE),
        ({}, WIDE),
    ],
)
def test_blocks_of_nemotron_nas(ffn: dict[str, object], width: int) -> None:
    """Each has a width of its own, or no MLP; one that says nothing is plain."""
    assert counted(block_configs=[{"ffn": ffn}, {}]).mlp == 3 * HIDDEN * (width + WIDE)


@pytest.mark.parametrize("family", ["qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"])
def test_families_with_a_gate_on_attention(family: str) -> None:
    """As large as the queries."""
    assert counted(model_type=family).attention == LAYERS * 3 * HIDDEN * HIDDEN


def test_narrow_values_have_a_narrow_projection() -> None:
    """Keys of 16, values of 8 numbers a head."""
    found = counted(model_type="mimo_v2_flash", head_dim=16, v_head_dim=8)
    assert found.kv == LAYERS * HIDDEN * HEADS * (16 + 8)


LATENT = {
    "model_type": "deepseek_v2",
    "kv_lora_rank": 32,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 12,
}


def test_latent_attention() -> None:
    """Queries direct or through a rank, down to the latent, up to keys and values, the output."""
    rest = HIDDEN * (32 + 8) + 32 * HEADS * (16 + 12) + HEADS * 12 * HIDDEN
    assert counted(**LATENT).attention == LAYERS * (HIDDEN * HEADS * (16 + 8) + rest)
    ranked = HIDDEN * 24 + 24 * HEADS * (16 + 8)
    assert counted(**LATENT, q_lora_rank=24).attention == LAYERS * (ranked + rest)
    indexer = 24 * (2 * 10) + HIDDEN * (10 + 2)
    found = counted(**LATENT, q_lora_rank=24, index_n_heads=2, index_head_dim=10)
    assert found.attention == LAYERS * (ranked + rest + indexer)
    assert found.kv == 0


def test_gated_delta_net() -> None:
    """Projections for keys, values, gates, and the output; a convolution over keys and values."""
    found = counted(
        layer_types=["linear_attention"] * 2, linear_num_value_heads=6, linear_num_key_heads=2, linear_key_head_dim=8,
        linear_value_head_dim=10, linear_conv_kernel_dim=4,
    )  # fmt: skip
    assert found.attention == LAYERS * (HIDDEN * (2 * 16 + 2 * 60 + 2 * 6) + 60 * HIDDEN)
    assert found.other == LAYERS * (2 * HIDDEN + (2 * 16 + 60) * 4)


@pytest.mark.parametrize("heads", ["mamba_num_heads", "mamba_n_heads"])
@pytest.mark.parametrize("size", ["mamba_head_dim", "mamba_d_head", "head_dim"])
@pytest.mark.parametrize("state", ["ssm_state_size", "mamba_d_state", "state_size"])
@pytest.mark.parametrize("groups", ["n_groups", "mamba_n_groups", "mamba_ngroups", ""])
@pytest.mark.parametrize("kernel", ["conv_kernel", "mamba_d_conv", ""])
def test_mamba_2(heads: str, size: str, state: str, groups: str, kernel: str) -> None:
    """By the keys of Nemotron-H, Bamba, Zamba and Mamba 2 itself; one group and a kernel of 4 are usual."""
    keys = {heads: 6, size: 10, state: 16} | ({groups: 2} if groups else {}) | ({kernel: 3} if kernel else {})
    found = counted(model_type="mamba2", **keys)
    many, wide = (2 if groups else 1), (3 if kernel else 4)
    assert found.attention == LAYERS * (HIDDEN * (2 * 60 + 2 * many * 16 + 6) + 60 * HIDDEN)
    assert found.other == LAYERS * (2 * HIDDEN + (60 + 2 * many * 16) * wide)
    assert found.mlp == 0


@pytest.mark.parametrize("expand", ["mamba_expand", "expand", ""])
@pytest.mark.parametrize("rank", ["mamba_dt_rank", "time_step_rank", ""])
@pytest.mark.parametrize("kernel", ["conv_kernel", "mamba_d_conv", ""])
def test_mamba_1_in_a_hybrid(expand: str, rank: str, kernel: str) -> None:
    """Twice the hidden size, a rank of a sixteenth and a kernel of 4 are usual."""
    keys = {"mamba_d_state": 16} | {key: 3 for key in (expand, kernel) if key} | ({rank: 5} if rank else {})
    found = counted(layers_block_type=["mamba", "mamba"], **keys)
    inner, ranks, wide = (3 if expand else 2) * HIDDEN, (5 if rank else HIDDEN // 16), (3 if kernel else 4)
    assert found.attention == LAYERS * (2 * HIDDEN * inner + inner * (ranks + 2 * 16) + ranks * inner + inner * HIDDEN)
    assert found.other == LAYERS * (2 * HIDDEN + inner * (wide + 16))
    assert found.mlp == LAYERS * 3 * HIDDEN * WIDE


@pytest.mark.parametrize(("family", "inner"), [("mamba", WIDE), ("falcon_mamba", 2 * HIDDEN)])
def test_mamba_1_alone(family: str, inner: int) -> None:
    """Mamba itself names its width; neither has an MLP."""
    found = counted(model_type=family, state_size=16)
    assert found.attention == LAYERS * (2 * HIDDEN * inner + inner * (4 + 32) + 4 * inner + inner * HIDDEN)
    assert (found.mlp, found.kv) == (0, 0)


def test_zambas_states_have_no_mlp() -> None:
    """Its attention layers have."""
    keys = {"layers_block_type": ["mamba", "attention"], "mamba_d_state": 16}
    assert counted(model_type="zamba2", **keys).mlp == 3 * HIDDEN * WIDE


def test_nemotron_h_has_one_part_in_each_layer() -> None:
    """State, attention, MLP or experts by the letter."""
    found = counted(
        model_type="nemotron_h", num_hidden_layers=4, hybrid_override_pattern="M*-E", mamba_num_heads=6, mamba_head_dim=10,
        ssm_state_size=16, n_routed_experts=8, moe_intermediate_size=32,
    )  # fmt: skip
    assert found.mlp == 2 * HIDDEN * WIDE
    assert found.experts == 8 * 2 * HIDDEN * 32
    assert found.kv == 2 * HIDDEN * HIDDEN


@pytest.mark.parametrize("key", ["num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts"])
def test_keys_for_experts(key: str) -> None:
    """All layers are sparse where nothing else is said; the router is not part of the experts."""
    assert number_of_experts({key: 8}) == 8
    found = counted(**{key: 8}, moe_intermediate_size=32)
    assert found.experts == LAYERS * 8 * 3 * HIDDEN * 32
    assert found.other == LAYERS * (2 * HIDDEN + 8 * HIDDEN)
    assert found.mlp == 0


@pytest.mark.parametrize(("key", "absent"), [("intermediate_size", ()), ("ffn_hidden_size", ("intermediate_size",))])
def test_experts_as_wide_as_the_mlp(key: str, absent: tuple[str, ...]) -> None:
    """Where they have no width of their own."""
    assert counted(*absent, num_experts=8, **{key: 48}).experts == LAYERS * 8 * 3 * HIDDEN * 48


@pytest.mark.parametrize(
    ("keys", "width"),
    [
        ({"n_shared_experts": 2}, 64), ({"moe_num_shared_experts": 2}, 64), ({"num_shared_experts": 2}, 64),
        ({"shared_expert_intermediate_size": 40}, 40), ({"moe_shared_expert_intermediate_size": 40}, 40),
        ({"shared_expert_intermediate_size": 40, "n_shared_experts": 2}, 40),
    ],
)  # fmt: skip
def test_shared_experts(keys: dict[str, object], width: int) -> None:
    """So many of the others' width, or a width of their own."""
    assert counted(num_experts=8, moe_intermediate_size=32, **keys).mlp == LAYERS * 3 * HIDDEN * width


@pytest.mark.parametrize(
    ("keys", "sparse"),
    [
        ({}, [0, 1, 2, 3]),
        ({"first_k_dense_replace": 1}, [1, 2, 3]),
        ({"mlp_only_layers": [0, 2]}, [1, 3]),
        ({"expert_layer_period": 2, "expert_layer_offset": 1}, [1, 3]),
        ({"expert_layer_period": 3}, [0, 3]),
        ({"interleave_moe_layer_step": 2}, [1, 3]),
        ({"decoder_sparse_step": 2}, [1, 3]),
        ({"decoder_sparse_step": 3}, [2]),
        ({"moe_layer_freq": 2}, [0, 2]),
    ],
)
def test_which_layers_are_sparse(keys: dict[str, object], sparse: list[int]) -> None:
    """Widths tell which layers hold experts: each dense layer has another one."""
    widths = [16, 32, 64, 128]
    found = counted(
        num_hidden_layers=4, num_experts=2, moe_intermediate_size=8, **{**keys, "intermediate_size": widths}
    )
    assert found.mlp == 3 * HIDDEN * sum(width for place, width in enumerate(widths) if place not in sparse)
    assert found.experts == len(sparse) * 2 * 3 * HIDDEN * 8


@pytest.mark.parametrize("width", ["hidden_size", "embed_dim", "width"])
@pytest.mark.parametrize("depth", ["num_hidden_layers", "depth", "layers"])
def test_the_vision_encoder(width: str, depth: str) -> None:
    """Four matrices of attention and three of the MLP in each layer; it is four times as wide where nothing is said."""
    tower = {width: 8, depth: 3}
    assert counted(vision_config=tower).vision == 3 * (4 * 8 * 8 + 3 * 8 * 32)
    assert counted(vision_config=tower | {"intermediate_size": 20}).vision == 3 * (4 * 8 * 8 + 3 * 8 * 20)
    assert counted(vision_config="none").vision == 0
    assert counted(vision_config=tower).total == counted().total + counted(vision_config=tower).vision
