"""Where a GPU's memory goes, and what would make one request fit."""

import pytest

from vllm_triage.classifier.sizing.ledger import Ledger, ledger, told

V0 = {
    "vllm_version": "0.7.3", "gpu_memory_total_gib": 23.57, "gpu_memory_utilization": 0.9, "weights_gib": 14.99,
    "non_torch_gib": 0.10, "activation_gib": 1.20, "kv_cache_available_gib": 4.92,
}  # fmt: skip
V1 = {
    "vllm_version": "0.32.0", "gpu_memory_total_gib": 23.57, "gpu_memory_utilization": 0.9, "weights_gib": 14.25,
    "kv_cache_available_gib": 5.0, "kv_cache_needed_gib": 7.0, "max_model_len": 131072, "platform": "cuda",
}  # fmt: skip


def closed(facts: dict[str, object]) -> Ledger:
    book = ledger(facts)
    assert book is not None
    return book


def ways(**changed):
    return [(way.change, way.context) for way in closed({**V1, **changed}).ways]


def test_the_entries_add_up_to_the_budget():
    """All figures told: each is an entry; the line shows the sum."""
    book = closed(V0)
    assert (book.budget_gib, book.activations_gib, book.others_gib, book.rest_gib) == (21.21, 1.20, 0.10, None)
    assert told(book, V0) == "23.6 GiB × 0.9 = 21.2 = weights 15.0 + activations 1.2 + others 0.1 + KV cache 4.9"


def test_what_is_not_told_apart_is_the_rest():
    """Newer releases print weights and KV cache alone."""
    book = closed(V1)
    assert (book.rest_gib, book.missing) == (1.96, ("activation_gib", "graph_memory_gib"))
    assert told(book, V1).endswith(
        "activations and others 2.0 + KV cache 5.0; one request of the full context needs 7.0"
    )


def test_graphs_stand_beside_the_budget_before_0_20_and_in_it_from_then_on():
    """What vLLM counts."""
    older, newer = ({**V1, "graph_memory_gib": 0.5, "vllm_version": release} for release in ("0.15.0", "0.20.0"))
    assert "graphs 0.5 beside it" in told(closed(older), older)
    assert "activations, graphs and others 2.0" in told(closed(newer), newer)


@pytest.mark.parametrize(
    "changed",
    [{"weights_gib": 20.0}, {"weights_gib": None}, {"kv_cache_available_gib": None},
     {"gpu_memory_utilization": 1.5}],
)  # fmt: skip
def test_there_is_no_ledger_where_a_figure_is_missing_or_the_sum_does_not_close(changed):
    """Figures of several ranks, or of another start."""
    assert ledger({**V1, **changed}) is None
    assert ledger({**V0, "activation_gib": 3.0}) is None


def test_the_share_is_raised_by_what_is_missing_if_that_is_free():
    """2 GiB of 23.57 are 0.085 of it."""
    assert ways(gpu_memory_utilization=0.8, weights_gib=11.8, gpu_memory_free_gib=23.3)[0] == (
        "--gpu-memory-utilization 0.90", 131072,
    )  # fmt: skip


def test_where_a_larger_share_is_not_enough_the_context_gives_way_as_well():
    """0.96 is free: 1.41 GiB more than at 0.9."""
    found = ways(gpu_memory_free_gib=23.3)
    assert ("--gpu-memory-utilization 0.96 --max-model-len 119920", 119920) in found
    assert ("--max-model-len 93456", 93456) in found
    assert found[0] == ("--kv-cache-dtype fp8", 131072)
    assert [context for _, context in found] == sorted((context for _, context in found), reverse=True)


def test_a_cache_of_one_byte_is_not_made_smaller_and_not_on_a_cpu():
    """Only where keys and values take two bytes now."""
    assert not any("fp8" in change for change, _ in ways(kv_cache_dtype="fp8"))
    assert not any("fp8" in change for change, _ in ways(platform="cpu"))
    assert ("--kv-cache-dtype fp8 --max-model-len 109056", 109056) in ways(kv_cache_needed_gib=12.0)


def test_more_ranks_only_on_gpus_seen_and_with_kv_heads_to_split():
    """Copied KV heads save nothing."""
    seen = {"gpu_count": 2, "num_attention_heads": 32, "tensor_parallel_size": 1}
    assert ("--tensor-parallel-size 2", 131072) in ways(**seen, num_key_value_heads=8)
    assert not any("tensor" in change for change, _ in ways(**seen, num_key_value_heads=1))
    assert not any("tensor" in change for change, _ in ways(**seen))


def test_where_the_request_fits_there_is_nothing_to_change():
    """Needed below available."""
    assert ways(kv_cache_needed_gib=4.0) == []


def test_a_total_that_is_not_told_is_named_and_no_share_is_worked_out():
    """V1 seldom prints it; the context that fits follows from the cache alone."""
    facts = {**V1, "gpu_memory_total_gib": None}
    book = closed(facts)
    assert (book.budget_gib, book.missing[0]) == (None, "gpu_memory_total_gib")
    assert told(book, facts).startswith(
        "GiB: weights 14.2 + activations and others not told + KV cache 5.0; the GPU's total"
    )
    assert [way.change for way in book.ways] == ["--kv-cache-dtype fp8", "--max-model-len 93456"]


def test_where_no_change_alone_is_enough_several_are_made_together():
    """Each rank keeps half of 14.25 GiB of weights, and needs half of 60 GiB; half of that again fits."""
    seen = {"gpu_count": 8, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256}
    found = ways(kv_cache_needed_gib=45.0, **seen)
    assert found[0] == ("--tensor-parallel-size 2 --kv-cache-dtype fp8", 131072)
    assert ways(kv_cache_needed_gib=12.0, gpu_memory_utilization=0.85, weights_gib=13.0)[0] == (
        "--kv-cache-dtype fp8 --gpu-memory-utilization 0.91", 131072,
    )  # fmt: skip
    assert max(context for _, context in ways(kv_cache_needed_gib=90.0, **seen)) < 131072
