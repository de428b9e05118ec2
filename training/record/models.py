"""Tiny models, tokenizers and adapters in the form of a hub's folders: sound ones and broken ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .faults import Adapter, Model, Weights
from .weights import adapter_tensors, model_tensors, write_safetensors

CONFIG: dict[str, Any] = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "vocab_size": 512,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "torch_dtype": "bfloat16",
    "initializer_range": 0.02,
    "use_cache": True,
}
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
IMAGE = "<image>"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
ENCODER: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
IMAGE_SIDE = 28
"""Pixels: two patches of 14."""
IMAGE_TOKENS = 4


def make_models(folder: Path, models: list[Model], adapters: list[Adapter]) -> None:
    """Write all models and adapters below ``folder``; what is there is made anew."""
    for model in models:
        make_model(folder / model.id, model)
    for adapter in adapters:
        make_adapter(folder / adapter.id, adapter)


def make_model(folder: Path, model: Model) -> None:
    """Write one model: first a sound one, then what is broken in it."""
    config = {name: value for name, value in {**CONFIG, **model.config}.items() if value != "absent"}
    files: dict[str, bytes] = {}
    if model.images:
        config = _with_encoder(config)
        files |= _processor()
    files["config.json"] = _json(config)
    if model.tokenizer != "none":
        settings = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": 100_000,
            "eos_token": SPECIAL[2],
            "pad_token": SPECIAL[0],
        }
        if model.tokenizer == "full":
            settings["chat_template"] = TEMPLATE
        files |= {
            "tokenizer.json": _json(tokenizer([IMAGE] if model.images else [])),
            "tokenizer_config.json": _json(settings),
        }
    if model.weights is not None:
        files |= _checkpoint(model.weights, config)
    files |= {name: text.encode() for name, text in model.write.items()}
    for name, share in model.cut.items():
        files[name] = files[name][: int(len(files[name]) * share)]
    for name in model.remove:
        del files[name]
    _write(folder, files)


def make_adapter(folder: Path, adapter: Adapter) -> None:
    """Write one LoRA adapter for the tiny model."""
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": "tiny",
        "r": adapter.rank,
        "lora_alpha": 16,
        "target_modules": adapter.modules,
        "bias": "none",
        "lora_dropout": 0.0,
    }
    tensors = adapter_tensors(adapter.rank, adapter.modules, CONFIG)
    files = {"adapter_config.json": _json(config), "adapter_model.safetensors": write_safetensors(tensors)}
    _write(folder, {name: content for name, content in files.items() if name not in adapter.remove})


def tokenizer(added_words: Sequence[str] = ()) -> dict[str, Any]:
    """Return a byte-level BPE tokenizer of 512 tokens, in the form of tokenizer.json.

    Every byte is a token; the rest of the vocabulary are pairs of letters, merged in alphabetical order. The special
    tokens ``added_words`` come behind those 512.
    """
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    room = 512 - len(SPECIAL) - 256
    merges = [[first, second] for first in letters for second in letters][:room]
    words = [*SPECIAL, *_byte_letters(), *("".join(pair) for pair in merges)]
    added = [
        {
            "id": number,
            "content": word,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for number, word in [*enumerate(SPECIAL), *enumerate(added_words, 512)]
    ]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {word: number for number, word in enumerate(words)},
            "merges": merges,
        },
    }


def _with_encoder(text: dict[str, Any]) -> dict[str, Any]:
    """Return the config of a BLIP-2 around the language model ``text``.

    Of the models that read images it is the one that every release runs without torchvision and without the code of
    Pixtral, which needs another transformers than some releases come with.
    """
    return {
        "architectures": ["Blip2ForConditionalGeneration"],
        "model_type": "blip-2",
        "torch_dtype": text["torch_dtype"],
        # One token more marks an image; the others fill up to a multiple of 64, as embeddings are padded.
        "text_config": {**text, "vocab_size": text["vocab_size"] + 64},
        "qformer_config": {**ENCODER, "encoder_hidden_size": ENCODER["hidden_size"]},
        "vision_config": {**ENCODER, "image_size": IMAGE_SIDE, "patch_size": 14},
        "num_query_tokens": IMAGE_TOKENS,
        "image_token_index": text["vocab_size"],
    }


def _processor() -> dict[str, bytes]:
    """Return the files of BLIP-2's processor, a class of transformers: how images are read, how many tokens they take."""
    images = {
        "processor_class": "Blip2Processor",
        "image_processor_type": "BlipImageProcessor",
        "size": {"height": IMAGE_SIDE, "width": IMAGE_SIDE},
    }
    whole = {"processor_class": "Blip2Processor", "num_query_tokens": IMAGE_TOKENS}
    return {"preprocessor_config.json": _json(images), "processor_config.json": _json(whole)}


def _byte_letters() -> list[str]:
    """Return the printable letter that stands for each byte in byte-level vocabularies."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spare = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(spare)) for byte in range(256)]


def _checkpoint(weights: Weights, config: dict[str, Any]) -> dict[str, bytes]:
    tensors = model_tensors(weights, config)
    if weights.shards == 1:
        return {"model.safetensors": write_safetensors(tensors)}
    count = weights.shards
    names = [f"model-{number + 1:05}-of-{count:05}.safetensors" for number in range(count)]
    home = {name: names[number * count // len(tensors)] for number, name in enumerate(tensors)}
    files = {
        file: write_safetensors({name: shape for name, shape in tensors.items() if home[name] == file})
        for file in names
    }
    return {**files, "model.safetensors.index.json": _json({"metadata": {"total_size": 1}, "weight_map": home})}


def _write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"
