"""Tiny models: what is written is what a loader finds, sound or broken as asked for."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.training.record.faults import Adapter, Catalogue, Model, Weights
from vllm_triage.training.record.models import make_adapter, make_model, tokenizer
from vllm_triage.training.record.weights import write_safetensors

SHAPES = st.dictionaries(
    st.text(st.characters(categories=["Ll"]), min_size=1), st.lists(st.integers(1, 5), max_size=3), max_size=6
)


def header_of(content: bytes) -> dict[str, dict[str, Any]]:
    """Return the header of a safetensors file, which says what lies where."""
    length = int.from_bytes(content[:8], "little")
    header: dict[str, dict[str, Any]] = json.loads(content[8 : 8 + length])
    return header


@given(SHAPES)
def test_a_checkpoint_holds_exactly_the_bytes_that_its_header_promises(shapes: dict[str, list[int]]):
    """Offsets follow each other without a hole, four bytes a number, to the end of the file."""
    content = write_safetensors(shapes)
    header = header_of(content)
    del header["__metadata__"]
    start = 0
    for name, shape in shapes.items():
        assert header[name] == {"dtype": "F32", "shape": shape, "data_offsets": [start, start + 4 * prod(shape)]}
        start += 4 * prod(shape)
    assert len(content) == 8 + int.from_bytes(content[:8], "little") + start
    assert int.from_bytes(content[:8], "little") % 8 == 0


def test_the_tokenizer_knows_every_byte_once():
    """512 different tokens with the numbers 0 to 511, and merges of tokens that are there."""
    model = tokenizer()["model"]
    assert list(range(512)) == sorted(model["vocab"].values())
    assert all({first, second, first + second} <= model["vocab"].keys() for first, second in model["merges"])


def test_weights_differ_from_the_config_only_where_asked(tmp_path: Path):
    """A changed shape, a dropped and an added tensor; all others as in a sound checkpoint."""
    changed = Weights(change={"model.norm.weight": [7]}, drop=["lm_head.weight"], add={"odd": [2, 2]})
    make_model(tmp_path / "sound", Model(id="sound", weights=Weights()))
    make_model(tmp_path / "broken", Model(id="broken", weights=changed))
    sound, broken = (
        {
            name: entry.get("shape")
            for name, entry in header_of((tmp_path / name / "model.safetensors").read_bytes()).items()
        }
        for name in ("sound", "broken")
    )
    expected = {**sound, "model.norm.weight": [7], "odd": [2, 2]}
    del expected["lm_head.weight"]
    assert expected == broken


def test_shards_share_the_tensors_and_the_index_names_all(tmp_path: Path):
    """Each tensor lies in the file that the index says."""
    make_model(tmp_path, Model(id="m", weights=Weights(shards=3)))
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]
    assert len(set(index.values())) == 3
    for file in set(index.values()):
        inside = set(header_of((tmp_path / file).read_bytes())) - {"__metadata__"}
        assert {name for name, home in index.items() if home == file} == inside


def test_files_are_written_then_cut_then_removed(tmp_path: Path):
    """What a model is broken with, and nothing of an earlier one is left."""
    (tmp_path / "left.txt").write_text("of an earlier recording")
    broken = Model(
        id="m", tokenizer="no-template", write={"a.txt": "x" * 100}, cut={"a.txt": 0.25}, remove=["config.json"]
    )
    make_model(tmp_path, broken)
    assert {"a.txt", "tokenizer.json", "tokenizer_config.json"} == {path.name for path in tmp_path.iterdir()}
    assert (tmp_path / "a.txt").read_text() == "x" * 25
    assert "chat_template" not in json.loads((tmp_path / "tokenizer_config.json").read_text())


def test_a_model_that_names_a_file_which_it_does_not_have_is_refused(tmp_path: Path):
    """A misspelt file would leave the model sound, and the fault unprovoked."""
    with pytest.raises(KeyError, match=r"weights\.bin"):
        make_model(tmp_path, Model(id="m", remove=["weights.bin"]))


def test_an_adapter_has_its_rank_in_config_and_matrices(tmp_path: Path):
    """The loader compares the two."""
    make_adapter(tmp_path, Adapter(id="a", rank=128, modules=["q_proj", "v_proj"]))
    assert json.loads((tmp_path / "adapter_config.json").read_text())["r"] == 128
    header = header_of((tmp_path / "adapter_model.safetensors").read_bytes())
    assert {(128, 128)} == {tuple(entry["shape"]) for name, entry in header.items() if "lora_A" in name}
    assert len(header) - 1 == 8


def test_a_model_that_reads_images_marks_them_by_a_token_of_its_tokenizer(tmp_path: Path):
    """The token's number is the one in the config and inside the vocabulary; all parts agree on the tokens an image takes."""
    make_model(tmp_path, Model(id="m", images=True))
    config, tokens, images, processor = (
        json.loads((tmp_path / name).read_text())
        for name in ("config.json", "tokenizer.json", "preprocessor_config.json", "processor_config.json")
    )
    mark = next(token["id"] for token in tokens["added_tokens"] if token["content"] == "<image>")
    assert config["image_token_index"] == mark
    assert mark not in tokens["model"]["vocab"].values()
    assert mark < config["text_config"]["vocab_size"]
    assert config["num_query_tokens"] == processor["num_query_tokens"]
    side = config["vision_config"]["image_size"]
    assert {"height": side, "width": side} == images["size"]


def test_every_model_of_the_catalogue_can_be_made(tmp_path: Path):
    """All but the big ones hold less than a few megabytes: they are made anew for every recording."""
    catalogue = Catalogue()
    for model in catalogue.models.values():
        if model.weights is None:
            make_model(tmp_path / model.id, model)
            assert (tmp_path / model.id / "tokenizer.json").exists() == (
                model.tokenizer != "none" and "tokenizer.json" not in model.remove
            )
