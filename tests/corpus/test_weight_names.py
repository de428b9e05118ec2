"""Which release's files of models name a part of a weight's name, as vLLM's own sources have it."""

from __future__ import annotations

import pytest

from vllm_triage.corpus.weight_names import first_naming, parts_of


@pytest.mark.parametrize(
    ("file", "weight", "after", "expected"),
    [
        # models/roberta.py and bert.py: mapped with jina-embeddings-v3 in 0.8.3, 0.8.5
        ("roberta", "emb_ln.weight", "0.7.3", ("0.8.3", "emb_ln")),
        ("bert", "emb_ln.weight", "", ("0.8.5", "emb_ln")),
        # models/deepseek_v2.py: the indexer of DeepSeek V3.2
        ("deepseek_v2", "model.layers.61.self_attn.indexer.wk.weight", "0.10.2", ("0.11.0", "indexer")),
        ("deepseek_v2", "model.layers.61.self_attn.indexer.wk.weight", "0.11.0", None),
        ("deepseek_v2", "model.layers.61.self_attn.o_proj.weight", "0.10.2", None),
        ("acme", "emb_ln.weight", "0.7.3", None),
    ],
)
def test_first_naming(file: str, weight: str, after: str, expected: tuple[str, str] | None) -> None:
    """Only releases after the one that failed count, and only parts that came after the file's first release."""
    assert first_naming(file, weight, after) == expected


def test_parts_that_say_nothing_are_left_out() -> None:
    """Numbers of layers, and what every weight is called."""
    assert list(parts_of("model.layers.12.self_attn.q_norm.weight")) == ["self_attn", "q_norm"]
