"""The state of fixed size that Mamba, linear-attention and short-convolution layers keep per sequence.

Source: vllm/model_executor/layers/mamba/mamba_utils.py (MambaStateShapeCalculator, MambaStateDtypeCalculator).
"""

from __future__ import annotations

from .architecture import Architecture
from .layers import first_integer

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
