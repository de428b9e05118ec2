"""What a reader beside the log would call misleading is not shown: a list goes with the message, not with the bucket."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.values import COMPUTED


@pytest.mark.parametrize(
    ("facts", "ranks", "factor"),
    [
        ({"tensor_parallel_size": 4, "size": "7392", "multiple": "128"}, "1", "4"),
        ({"tensor_parallel_size": 8, "size": "1376", "multiple": "64"}, "4", "2"),
        ({"tensor_parallel_size": 2, "size": "1368", "multiple": "128"}, "", ""),
        ({"tensor_parallel_size": 2, "size": "7392", "multiple": "128"}, "", "4"),
        ({"tensor_parallel_size": 4}, "2", "2"),
    ],
)
def test_ranks_with_which_a_quantised_layer_can_be_cut(facts: dict[str, object], ranks: str, factor: str) -> None:
    """By the numbers of the message; without them the next smaller number of ranks."""
    assert COMPUTED["aligned_tensor_parallel_size"](facts) == ranks
    assert COMPUTED["alignment_factor"](facts) == factor
