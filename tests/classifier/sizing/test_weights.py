"""Parameters counted from configs agree with published counts, weights with what servers logged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.classifier.sizing.models import NAMES, config, model
from vllm_triage.classifier.sizing.architecture import Architecture, ConfigError
from vllm_triage.classifier.sizing.parameters import count_parameters, stage_layers, weight_bits, weights_per_rank
from vllm_triage.classifier.values.computed import Computed, number


def size(worked: Computed) -> float:
    """Return the bytes that were worked out."""
    return number(worked.inputs, "bytes") or 0


PUBLISHED = {
    "llama-3.1-8b": 8.03,
    "llama-3.1-70b": 70.55,
    "llama-2-13b": 13.02,
    "llama-3.2-1b": 1.24,
    "qwen2.5-7b": 7.62,
    "qwen2.5-32b": 32.76,
    "qwen3-32b": 32.76,
    "qwen3-30b-a3b": 30.53,
    "mistral-7b-v0.1": 7.24,
    "mistral-7b-v0.3": 7.25,
    "mixtral-8x7b": 46.7,
    "gemma-2-9b": 9.24,
    "gemma-3-12b": 12.2,
    "phi-3-mini-4k": 3.82,
    "phi-4": 14.66,
    "deepseek-v3": 671.0,
    "falcon-7b": 6.92,
    "gpt-oss-20b": 20.9,
    "gpt-oss-120b": 116.8,
    "qwen3-next-80b-a3b": 80.0,
    "qwen3.5-27b": 27.0,
    "nemotron-h-8b": 8.1,
    "jamba-v0.1": 51.6,
}
"""Billions of parameters, from the model cards."""


@pytest.mark.parametrize("name", NAMES)
def test_parameter_count(name):
    """Dense, mixture of experts, MLA, Mamba and delta-net models come within 2 % of what is published."""
    assert pytest.approx(PUBLISHED[name], rel=0.02) == count_parameters(model(name)).total / 1e9


def test_llama_counted_by_hand():
    """Llama-3.1-8B: embeddings, head, and in each layer attention, three MLP matrices and two norms."""
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096
    assert count_parameters(model("llama-3.1-8b")).total == 2 * 128256 * 4096 + 32 * layer


@pytest.mark.parametrize(
    ("name", "tensor", "logged"),
    [
        ("llama-3.1-8b", 1, 14.99),
        ("llama-3.2-1b", 1, 2.32),
        ("llama-2-13b", 1, 24.28),
        ("qwen2.5-7b", 1, 14.37),
        ("qwen2.5-32b", 4, 15.39),
        ("qwen3-30b-a3b", 1, 56.93),
        ("phi-3-mini-4k", 1, 7.12),
        ("gpt-oss-120b", 4, 17.22),
        ("gpt-oss-120b", 2, 32.98),
    ],
)
def test_weights_that_servers_logged(name, tensor, logged):
    """'Model loading took … GiB' on one rank, within 5 %."""
    assert pytest.approx(logged, rel=0.05) == float(weights_per_rank(model(name), tensor).value)


def test_awq_weights_that_a_server_logged():
    """Qwen2.5-32B at 4 bits in groups of 128 took 18.14 GiB: embeddings and head stay at 16 bits."""
    awq = model("qwen2.5-32b", quantization_config={"quant_method": "awq", "bits": 4, "group_size": 128})
    assert pytest.approx(18.14, rel=0.02) == float(weights_per_rank(awq).value)


@pytest.mark.parametrize(
    ("quantization", "bits"),
    [
        ({}, 16),
        ({"quant_method": "fp8"}, 8),
        ({"quant_method": "mxfp4"}, 4 + 8 / 32),
        ({"quant_method": "modelopt_fp4"}, 4 + 8 / 16),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, 4 + (16 + 4) / 128),
        ({"quant_method": "gptq", "bits": 8, "group_size": 32}, 8 + (16 + 8) / 32),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4 + 32 / 64),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"num_bits": 4, "group_size": 128}}},
            },
            4 + 16 / 128,
        ),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 8}}}}, 8),
    ],
)
def test_bits_of_a_weight(quantization, bits):
    """A weight's own bits, its share of the group's scale, and of the zero point where the format has one."""
    found = weight_bits(model("llama-3.1-8b", quantization_config=quantization))
    assert found is not None
    assert (bits, True) == (found[0], bool(found[1]))


def test_a_format_of_unknown_width_is_asked_for():
    """The size of the weights is named as missing, not guessed."""
    found = weights_per_rank(model("llama-3.1-8b", quantization_config={"quant_method": "quark"}))
    assert (found.value, found.missing) == ("", ("weights",))


def test_what_is_given_goes_before_the_checkpoint():
    """--quantization fp8 on a 16-bit checkpoint leaves half of it on the GPU."""
    plain, small = (float(weights_per_rank(model("llama-3.1-70b"), quantization=given).value) for given in ("", "fp8"))
    assert 0.5 < small / plain < 0.53


def test_key_and_value_projections_are_copied_beyond_their_heads():
    """Falcon-7B has one KV head: each of 71 ranks keeps the whole projection."""
    found = count_parameters(model("falcon-7b"))
    rest = found.total - found.kv - found.other
    assert weights_per_rank(model("falcon-7b"), 71).inputs["bytes"] == int(2 * (rest / 71 + found.kv + found.other))


@pytest.mark.parametrize(
    ("layers", "stages", "expected"),
    [
        (32, 1, [32]),
        (32, 2, [16, 16]),
        (28, 3, [9, 10, 9]),
        (62, 4, [15, 16, 16, 15]),
        (61, 8, [7, 7, 8, 8, 8, 8, 8, 7]),
    ],
)
def test_pipeline_stages(layers, stages, expected):
    """The rest goes to stages before the last, from behind (get_pp_indices)."""
    assert expected == stage_layers(layers, stages)


@given(layers=st.integers(1, 200), stages=st.integers(1, 32))
def test_stages_hold_every_layer_once(layers, stages):
    """No layer is lost or doubled, and no stage differs from another by more than one."""
    found = stage_layers(layers, stages)
    assert (sum(found), len(found)) == (layers, stages)
    assert max(found) - min(found) <= 1


@given(name=st.sampled_from(NAMES), tensor=st.integers(1, 16), pipeline=st.integers(1, 8))
def test_more_gpus_never_hold_more(name, tensor, pipeline):
    """A GPU's share is positive and shrinks with tensor ranks and stages; all shares together hold the model."""
    shares = [
        size(weights_per_rank(model(name), *ranks))
        for ranks in ((tensor, pipeline), (tensor * 2, pipeline), (tensor, pipeline + 1))
    ]
    padded = 1.5 if "gpt-oss" in name else 1.0
    assert 0 < shares[1] <= shares[0] * padded
    assert 0 < shares[2] <= shares[0]
    assert shares[0] * tensor * pipeline >= size(weights_per_rank(model(name))) * 0.99


@pytest.mark.parametrize("missing", ["num_hidden_layers", "hidden_size"])
def test_a_config_without_shape_is_refused(missing):
    """The key that is not there is named."""
    shape = {key: value for key, value in config("llama-3.1-8b").items() if key != missing}
    with pytest.raises(ConfigError, match=missing):
        Architecture(shape)


@pytest.mark.parametrize(
    ("name", "version", "changes", "expected"),
    [
        ("llama-3.1-8b", "", {}, 131072),
        ("falcon-7b", "", {}, 2048),
        ("gemma-3-12b", "", {}, 131072),
        ("deepseek-v3", "0.19.1", {}, 163840),
        ("llama-2-13b", "", {"rope_scaling": {"type": "linear", "factor": 4.0}}, 16384),
        (
            "qwen2.5-7b",
            "0.19.1",
            {"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}},
            131072,
        ),
        (
            "qwen2.5-7b",
            "0.33.0",
            {"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}},
            32768,
        ),
        ("phi-3-mini-4k", "0.11.0", {"max_position_embeddings": 131072, "rope_scaling": {"type": "longrope"}}, 131072),
        ("phi-3-mini-4k", "0.12.0", {"max_position_embeddings": 131072, "rope_scaling": {"type": "longrope"}}, 4096),
    ],
)
def test_context_of_a_model(name, version, changes, expected):
    """What vLLM takes without --max-model-len, rotary scaling by release included."""
    assert expected == model(name, **changes).longest(version)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**9) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(name=st.sampled_from(NAMES), key=st.data(), value=JUNK)
def test_a_damaged_config_is_refused_or_read(name, key, value):
    """Whatever one key holds: an answer that is not negative, or our own error."""
    shape = config(name)
    shape[key.draw(st.sampled_from(sorted(shape)))] = value
    try:
        found = weights_per_rank(Architecture(shape))
    except ConfigError:
        return
    assert size(found) >= 0
