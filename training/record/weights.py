"""Checkpoints in the safetensors format, written without torch: only names and shapes matter to the faults."""

from __future__ import annotations

import array
import json
import random
from math import prod
from typing import Any

from .faults import Weights

Shapes = dict[str, list[int]]


def model_tensors(weights: Weights, config: dict[str, Any]) -> Shapes:
    """Return the tensors of a Qwen2 checkpoint that fits ``config``, then changed as the catalogue says."""
    hidden, inner, words, head = (
        config[name] for name in ("hidden_size", "intermediate_size", "vocab_size", "head_dim")
    )
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    shapes: Shapes = {
        "model.embed_tokens.weight": [words, hidden],
        "model.norm.weight": [hidden],
        "lm_head.weight": [words, hidden],
    }
    for number in range(config["num_hidden_layers"]):
        layer = {
            "self_attn.q_proj.weight": [queries, hidden],
            "self_attn.q_proj.bias": [queries],
            "self_attn.k_proj.weight": [keys, hidden],
            "self_attn.k_proj.bias": [keys],
            "self_attn.v_proj.weight": [keys, hidden],
            "self_attn.v_proj.bias": [keys],
            "self_attn.o_proj.weight": [hidden, queries],
            "mlp.gate_proj.weight": [inner, hidden],
            "mlp.up_proj.weight": [inner, hidden],
            "mlp.down_proj.weight": [hidden, inner],
            "input_layernorm.weight": [hidden],
            "post_attention_layernorm.weight": [hidden],
        }
        shapes |= {f"model.layers.{number}.{name}": shape for name, shape in layer.items()}
    shapes |= weights.change | weights.add
    return {name: shape for name, shape in shapes.items() if name not in weights.drop}


def adapter_tensors(rank: int, modules: list[str], config: dict[str, Any]) -> Shapes:
    """Return the two matrices of a LoRA adapter for each module in each layer."""
    hidden = config["hidden_size"]
    shapes: Shapes = {}
    for number in range(config["num_hidden_layers"]):
        for module in modules:
            name = f"base_model.model.model.layers.{number}.self_attn.{module}"
            shapes |= {f"{name}.lora_A.weight": [rank, hidden], f"{name}.lora_B.weight": [hidden, rank]}
    return shapes


def write_safetensors(shapes: Shapes, seed: int = 0) -> bytes:
    """Return a file in the safetensors format: length of the header, header as JSON, small random numbers."""
    dice = random.Random(seed)  # noqa: S311 - weights of a toy, no secrets
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = bytearray()
    for name, shape in shapes.items():
        start = len(data)
        values = (
            [1.0] * prod(shape)
            if name.endswith("norm.weight")
            else [dice.uniform(-0.04, 0.04) for _ in range(prod(shape))]
        )
        data += array.array("f", values).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + bytes(data)
