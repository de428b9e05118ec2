"""What counts as a part of a weight's name, and what the table keeps of it."""

from __future__ import annotations

import json

from vllm_triage.training.options.source import Tree
from vllm_triage.training.options.weight_names import FOLDER, pack, text, words_of

OLD = b"""
class Acme:
    def __init__(self):
        self.norm = RMSNorm(8)
        self.size = 8
"""
NEW = b'''
class Acme:
    hf_to_vllm_mapper = WeightsMapper(orig_to_new_prefix={"tower.": "vision."})
    note = "no part of a name"

    def __init__(self):
        self.norm = RMSNorm(8)
        self.gate = Linear(8, 8)
        self.limit = 8

    def load_weights(self, weights):
        """Loads what the checkpoint has."""
        if "rotary_emb.inv_freq" in weights:
            return "a text with blanks"

    def forward(self, x):
        return x["attention_mask"]
'''


def words(source: bytes) -> dict[str, set[str]]:
    """Return what a release with one model file knows."""
    return words_of(Tree({f"{FOLDER}acme.py": source, "vllm/other.py": NEW}))


def test_words_of_a_model_file() -> None:
    """Modules that a class makes, and strings by which weights are loaded or mapped; other strings and numbers are none."""
    assert words(OLD) == {"acme": {"norm"}}
    assert words(NEW) == {"acme": {"norm", "gate", "tower", "vision", "rotary_emb", "inv_freq"}}


def test_table_keeps_what_came_later() -> None:
    """With the first release that has it; what the file had from the beginning says nothing."""
    table = pack({"1.0": words(OLD), "1.1": words(NEW), "1.2": words(OLD)})
    assert table["files"] == {"acme": {"gate": 1, "inv_freq": 1, "rotary_emb": 1, "tower": 1, "vision": 1}}
    assert json.loads(text(table)) == {"format": 1, **table}
