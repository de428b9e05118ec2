"""The arithmetic as people read it: each sentence whole, with its numbers, at and beyond every limit."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.values import WORKED
from vllm_triage.classifier.values.batch import default_max_num_batched_tokens, default_max_num_seqs
from vllm_triage.classifier.values.computed import Computed, gib, number, parse_bytes, release_at_least, short, whole
from vllm_triage.classifier.values.memory import default_utilization
from vllm_triage.classifier.values.parallel import divides, sizes_that_divide
from vllm_triage.classifier.values.sizes import bits_per_weight, parameters_by_name

GIB = 1 << 30


def said(name: str, /, **facts: object) -> tuple[str, str]:
    """Return the value and its formula."""
    found = WORKED[name](facts)
    return found.value, found.formula


def inputs(name: str, /, **facts: object) -> dict[str, object]:
    """Return what went into a value."""
    return WORKED[name](facts).inputs


@pytest.mark.parametrize(("version", "share"), [("0.19.9", 0.9), ("0.20.0", 0.92), ("", 0.92), ("banana", 0.92)])
def test_the_usual_share_of_memory(version: str, share: float) -> None:
    """It rose with 0.20; where the release is not known the newest counts."""
    assert default_utilization({"vllm_version": version}) == share


@pytest.mark.parametrize(
    ("free", "total", "expected"),
    [
        (20, 24, ("0.81", "free 20 GiB of 24 GiB, so at most 0.83; minus 0.02 margin → 0.81")),
        (24, 24, ("0.98", "free 24 GiB of 24 GiB, so at most 1.00; minus 0.02 margin → 0.98")),
        (7, 100, ("0.05", "free 7 GiB of 100 GiB, so at most 0.07; minus 0.02 margin → 0.05")),
        (6.9, 100, ("", "free 6.9 GiB of 100 GiB, so at most 0.06; minus 0.02 margin leaves nothing: free the GPU first")),
        (25, 24, ("", "free 25 GiB of 24 GiB cannot be")),
        (-1, 24, ("", "free -1 GiB of 24 GiB cannot be")),
        (0, 24, ("", "free 0 GiB of 24 GiB, so at most 0.00; minus 0.02 margin leaves nothing: free the GPU first")),
    ],
)  # fmt: skip
def test_the_share_that_is_free(free: float, total: float, expected: tuple[str, str]) -> None:
    """Down to whole hundredths."""
    facts = {"gpu_memory_free_gib": free, "gpu_memory_total_gib": total}
    assert said("fit_gpu_memory_utilization", **facts) == expected
    assert inputs("fit_gpu_memory_utilization", **facts) == facts


@pytest.mark.parametrize(
    ("total", "other", "expected"),
    [
        (44.5, "40.25 GiB", ("4.2", "44.5 GiB - 40.25 GiB of the other process = 4.2 GiB")),
        (80, "512.00 MiB", ("79.5", "80 GiB - 0.50 GiB of the other process = 79.5 GiB")),
        (24, "25.00 GiB", ("", "24 GiB - 25.00 GiB of the other process leave nothing")),
    ],
)
def test_what_another_process_leaves(total: float, other: str, expected: tuple[str, str]) -> None:
    assert said("room_beside_gib", gpu_memory_total_gib=total, other_process=other) == expected


def test_the_share_that_is_free_must_hold_the_weights() -> None:
    """As much as the weights take is too little."""
    facts = {"gpu_memory_free_gib": 12, "gpu_memory_total_gib": 20, "weights_gib": 11.6}
    assert said("fit_gpu_memory_utilization", **facts) == (
        "",
        (
            "free 12 GiB of 20 GiB, so at most 0.60; minus 0.02 margin → 0.58, which is 11.6 GiB, less than the weights "
            "(11.6 GiB): free the GPU first"
        ),
    )
    assert inputs("fit_gpu_memory_utilization", **facts) == facts
    assert said("fit_gpu_memory_utilization", **facts | {"weights_gib": 11.59})[0] == "0.58"


def test_a_total_that_cannot_be_is_asked_for() -> None:
    """Both numbers, where both are missing."""
    found = WORKED["fit_gpu_memory_utilization"]({"gpu_memory_free_gib": 3, "gpu_memory_total_gib": 0})
    assert (found.formula, found.missing) == ("not known: gpu_memory_total_gib", ("gpu_memory_total_gib",))
    assert WORKED["fit_gpu_memory_utilization"]({}).formula == "not known: gpu_memory_free_gib, gpu_memory_total_gib"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"gpu_memory_utilization": 0.9}, ("0.93", "0.9 + 0.03 → 0.93")),
        ({"gpu_memory_utilization": 0.85}, ("0.88", "0.85 + 0.03 → 0.88")),
        ({"gpu_memory_utilization": 0.84}, ("0.90", "0.84 is low; 0.9 is usual → 0.90")),
        ({"gpu_memory_utilization": 0.95}, ("0.97", "0.95 + 0.03; the driver keeps the rest, so at most 0.97")),
        ({"gpu_memory_utilization": 0.97}, ("", "0.97 is as high as it goes: the driver keeps the rest, so at most 0.97")),
        ({"gpu_memory_utilization": 0.966}, ("", "0.966 is as high as it goes: the driver keeps the rest, so at most 0.97")),
        ({}, ("0.95", "0.92 (vLLM's default) + 0.03 → 0.95")),
        ({"gpu_memory_utilization": 0.8, "kv_cache_needed_gib": 4, "kv_cache_available_gib": 2, "gpu_memory_total_gib": 40},
         ("0.86", "0.8 + (4 - 2) GiB missing ÷ 40 GiB, plus 0.01 margin → 0.86")),
        ({"gpu_memory_utilization": 0.9, "kv_cache_needed_gib": 9, "kv_cache_available_gib": 2, "gpu_memory_total_gib": 40},
         ("0.97", ("0.9 + (9 - 2) GiB missing ÷ 40 GiB, plus 0.01 margin → 1.09; the driver keeps the rest, so at most 0.97 "
          "(not enough alone) → 0.97"))),
        ({"gpu_memory_utilization": 0.9, "kv_cache_needed_gib": 2, "kv_cache_available_gib": 2, "gpu_memory_total_gib": 40},
         ("0.93", "0.9 + 0.03 → 0.93")),
        ({"gpu_memory_utilization": 0.9, "gpu_memory_free_gib": 37.6, "gpu_memory_total_gib": 40},
         ("0.92", "0.9 + 0.03; free 37.6 GiB of 40 GiB, so at most 0.94; minus 0.02 margin → 0.92")),
    ],
)  # fmt: skip
def test_a_higher_share(facts: dict[str, object], expected: tuple[str, str]) -> None:
    """By what is missing, else a step; never above what the driver or other programs leave."""
    assert said("raise_gpu_memory_utilization", **facts) == expected


def test_what_a_higher_share_was_worked_out_from() -> None:
    """Numbers of the log, and vLLM's default where the log has none."""
    facts = {"gpu_memory_utilization": 0.8, "kv_cache_needed_gib": 4.0, "kv_cache_available_gib": 2.0}
    assert inputs("raise_gpu_memory_utilization", **facts, gpu_memory_total_gib=40.0) == facts | {
        "gpu_memory_total_gib": 40.0
    }
    assert inputs("raise_gpu_memory_utilization") == {"gpu_memory_utilization": 0.92}
    free = {"gpu_memory_utilization": 0.8, "gpu_memory_free_gib": 30.0, "gpu_memory_total_gib": 40.0}
    assert inputs("raise_gpu_memory_utilization", **free) == free


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"gpu_memory_utilization": 0.9}, ("0.85", "0.9 - 0.05 → 0.85")),
        ({}, ("0.87", "0.92 (vLLM's default) - 0.05 → 0.87")),
        ({"gpu_memory_utilization": 0.12}, ("0.10", "0.12 - 0.05 → 0.10")),
        ({"gpu_memory_utilization": 0.1}, ("", "0.1 is as low as it goes")),
        ({"gpu_memory_utilization": 0.9, "oom_tried": "4.00 GiB", "oom_free": "1.00 GiB", "oom_total": "40.00 GiB"},
         ("0.80", "0.9 - 3.00 GiB that were lacking ÷ 40 GiB - 0.02 margin → 0.80")),
        ({"gpu_memory_utilization": 0.9, "oom_tried": "4.00 GiB", "oom_total": "40.00 GiB"},
         ("0.78", "0.9 - 4.00 GiB that were lacking ÷ 40 GiB - 0.02 margin → 0.78")),
        ({"gpu_memory_utilization": 0.9, "oom_tried": "1.20 GiB", "gpu_memory_total_gib": 40}, ("0.85", "0.9 - 0.05 → 0.85")),
        ({"gpu_memory_utilization": 0.9, "oom_tried": "20.00 MiB", "oom_free": "1.00 GiB", "oom_total": "40.00 GiB"},
         ("0.85", "0.9 - 0.05 → 0.85")),
        ({"gpu_memory_utilization": 0.9, "oom_tried": "4.00 GiB"}, ("0.85", "0.9 - 0.05 → 0.85")),
    ],
)  # fmt: skip
def test_a_lower_share(facts: dict[str, object], expected: tuple[str, str]) -> None:
    """By what an allocation lacked where that is more than the usual step."""
    assert said("lower_gpu_memory_utilization", **facts) == expected


def test_what_a_lower_share_was_worked_out_from() -> None:
    """The allocation as the log tells it."""
    facts = {"gpu_memory_utilization": 0.9, "oom_tried": "4.00 GiB"}
    assert inputs("lower_gpu_memory_utilization", **facts, oom_total="39.394 GiB") == facts | {
        "gpu_memory_total_gib": 39.39
    }


@pytest.mark.parametrize(
    ("total", "gpu", "version", "seqs"),
    [
        (69.9, "", "", 256), (70, "", "", 1024), (80, "", "0.8.4", 256), (80, "", "0.8.5", 1024), (None, "", "", 256),
        (80, "NVIDIA A100-SXM4-80GB", "0.9.1", 1024), (80, "NVIDIA A100-SXM4-80GB", "0.9.2", 256), (80, "NVIDIA A100", "", 256),
        (119, "NVIDIA GB10", "0.9.1", 256), (80, "NVIDIA H100", "0.33.0", 1024),
    ],
)  # fmt: skip
def test_the_usual_number_of_sequences(total: float | None, gpu: str, version: str, seqs: int) -> None:
    """By the GPU's memory, its name and the release."""
    facts = {"gpu_memory_total_gib": total, "gpu_name": gpu, "vllm_version": version}
    assert default_max_num_seqs(facts) == seqs


@pytest.mark.parametrize(
    ("facts", "tokens"),
    [
        ({"vllm_version": "0.7.3"}, 2048), ({"vllm_version": "0.7.3", "max_model_len": 8192}, 8192),
        ({"vllm_version": "0.7.3", "max_model_len": 1024}, 2048), ({"engine": "V0", "max_model_len": 4096}, 4096),
        ({"vllm_version": "0.8.0", "max_model_len": 8192}, 2048), ({"gpu_memory_total_gib": 80}, 8192),
        ({"gpu_memory_total_gib": 160}, 16384), ({"gpu_memory_total_gib": 159.9}, 8192),
        ({"gpu_memory_total_gib": 180, "vllm_version": "0.32.0"}, 8192), ({"gpu_memory_total_gib": 180, "vllm_version": "0.33.0"}, 16384),
        ({"gpu_memory_total_gib": 24}, 2048),
    ],
)  # fmt: skip
def test_the_usual_number_of_batched_tokens(facts: dict[str, object], tokens: int) -> None:
    """The context's length before chunked prefill, then by the GPU."""
    assert default_max_num_batched_tokens(facts) == tokens


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [
        ("halve_max_num_seqs", {"max_num_seqs": 64}, ("32", "half of 64")),
        ("halve_max_num_seqs", {"max_num_seqs": 3}, ("1", "half of 3")),
        ("halve_max_num_seqs", {}, ("128", "half of 256 (vLLM's default)")),
        ("halve_max_num_seqs", {"max_num_seqs": 1}, ("", "1 is the smallest number")),
        ("fit_max_num_seqs", {"max_concurrency": 3.64}, ("3", "maximum concurrency 3.64 at the full context → 3")),
        ("fit_max_num_seqs", {"max_concurrency": 1.0}, ("1", "maximum concurrency 1 at the full context → 1")),
        ("fit_max_num_seqs", {"max_concurrency": 0.99},
         ("", "maximum concurrency 0.99 at the full context: not one request of the full context fits")),
        ("fit_max_num_seqs", {"kv_cache_tokens": 5000, "max_model_len": 2000}, ("2", "5000 tokens of KV cache ÷ 2000 tokens → 2")),
        ("fit_max_num_seqs", {"kv_cache_tokens": 1999, "max_model_len": 2000},
         ("", "1999 tokens of KV cache ÷ 2000 tokens: not one request of the full context fits")),
        ("halve_max_num_batched_tokens", {"max_num_batched_tokens": 8192, "max_num_seqs": 256}, ("4096", "half of 8192 → 4096")),
        ("halve_max_num_batched_tokens", {"max_num_batched_tokens": 512, "max_num_seqs": 256}, ("256", "half of 512 → 256")),
        ("halve_max_num_batched_tokens", {"max_num_batched_tokens": 300, "max_num_seqs": 256},
         ("256", "half of 300, at least max_num_seqs 256 → 256")),
        ("halve_max_num_batched_tokens", {"max_num_batched_tokens": 256, "max_num_seqs": 256},
         ("", "256 cannot be halved: at least max_num_seqs 256")),
        ("halve_max_num_batched_tokens", {}, ("1024", "half of 2048 (vLLM's default) → 1024")),
        ("halve_max_num_batched_tokens", {"max_num_batched_tokens": 9000, "max_model_len": 6000, "vllm_version": "0.7.3"},
         ("6000", "half of 9000, at least max_model_len 6000 without chunked prefill → 6000")),
        ("halve_max_num_batched_tokens", {"max_num_batched_tokens": 9000, "max_model_len": 6000, "engine": "V0"},
         ("6000", "half of 9000, at least max_model_len 6000 without chunked prefill → 6000")),
        ("halve_max_num_batched_tokens", {"max_num_batched_tokens": 9000, "max_model_len": 6000, "engine": "V0",
                                          "arguments": {"enable_chunked_prefill": True}}, ("4500", "half of 9000 → 4500")),
        ("halve_max_num_batched_tokens", {"max_num_batched_tokens": 9000, "max_model_len": 6000, "vllm_version": "0.8.0"},
         ("4500", "half of 9000 → 4500")),
        ("halve_max_num_batched_tokens", {"max_num_batched_tokens": 9000, "max_model_len": 6000,
                                          "arguments": {"enable_chunked_prefill": False}},
         ("6000", "half of 9000, at least max_model_len 6000 without chunked prefill → 6000")),
        ("halve_max_num_batched_tokens", {"max_num_batched_tokens": 9000, "max_model_len": 6000, "arguments": {"x": 1}},
         ("4500", "half of 9000 → 4500")),
        ("halve_max_num_batched_tokens", {"max_num_batched_tokens": 9000, "max_model_len": 200, "engine": "V0"},
         ("4500", "half of 9000 → 4500")),
    ],
)  # fmt: skip
def test_smaller_batches(name: str, facts: dict[str, object], expected: tuple[str, str]) -> None:
    """Halves, and what the cache holds, each down to what vLLM accepts."""
    assert said(name, **facts) == expected


def test_what_smaller_batches_were_worked_out_from() -> None:
    """By the names of facts."""
    assert inputs("halve_max_num_seqs", max_num_seqs=64) == {"max_num_seqs": 64}
    assert inputs("halve_max_num_seqs", max_num_seqs=1) == {"max_num_seqs": 1}
    assert inputs("fit_max_num_seqs", max_concurrency=3.5) == {"max_concurrency": 3.5}
    assert inputs("fit_max_num_seqs", kv_cache_tokens=5000, max_model_len=2000) == {
        "kv_cache_tokens": 5000,
        "max_model_len": 2000,
    }
    given = {"max_num_batched_tokens": 9000, "max_num_seqs": 256}
    assert inputs("halve_max_num_batched_tokens", **given) == given
    assert inputs("halve_max_num_batched_tokens", **given, max_model_len=6000, engine="V0") == given | {
        "max_model_len": 6000
    }
    assert WORKED["fit_max_num_seqs"]({"max_model_len": 3}).missing == ("kv_cache_tokens",)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"max_model_len": 32000, "kv_cache_needed_gib": 8, "kv_cache_available_gib": 2},
         ("7968", "32000 tokens × 2 GiB left ÷ 8 GiB needed, down to whole blocks of 16 → 7968")),
        ({"max_model_len": 32000, "kv_cache_needed_gib": 8, "kv_cache_available_gib": 8},
         ("", "8 GiB are needed and 8 GiB are there: the full context fits")),
        ({"max_model_len": 3200, "kv_cache_needed_gib": 8, "kv_cache_available_gib": 0.04},
         ("", "3200 tokens × 0.04 GiB left ÷ 8 GiB needed, down to whole blocks of 16: not one block fits")),
        ({"max_model_len": 3200, "kv_cache_needed_gib": 8, "kv_cache_available_gib": 0.05},
         ("16", "3200 tokens × 0.05 GiB left ÷ 8 GiB needed, down to whole blocks of 16 → 16")),
        ({"kv_cache_tokens": 5010, "max_model_len": 8000}, ("5008", "the KV cache holds 5010 tokens → 5008")),
        ({"kv_cache_tokens": 8000, "max_model_len": 8000}, ("", "the KV cache holds 8000 tokens: the full context of 8000 fits")),
        ({"kv_cache_tokens": 15}, ("", "the KV cache holds 15 tokens: not one block")),
        ({"kv_cache_tokens": 16}, ("16", "the KV cache holds 16 tokens → 16")),
        ({"gpu_blocks": 10, "max_model_len": 8000}, ("160", "10 blocks × 16 tokens → 160")),
        ({"kv_cache_available_gib": 1.006, "kv_bytes_per_token": 1 << 20}, ("1024", "1.006 GiB ÷ 1024 KiB per token → 1024")),
        ({"kv_cache_available_gib": 1.006, "kv_bytes_per_token": 1 << 20, "max_model_len": 1024},
         ("", "1.006 GiB ÷ 1024 KiB per token = 1024 tokens: the full context of 1024 fits")),
        ({"kv_cache_available_gib": 0.01, "kv_bytes_per_token": 1 << 20}, ("", "0.01 GiB ÷ 1024 KiB per token: not one block")),
    ],
)  # fmt: skip
def test_the_context_that_fits(facts: dict[str, object], expected: tuple[str, str]) -> None:
    """In proportion, by tokens, by blocks, by bytes: down to whole blocks, nothing where all fits or nothing."""
    assert said("fit_max_model_len", **facts) == expected
    assert inputs("fit_max_model_len", **facts).items() <= facts.items()
    assert inputs("fit_max_model_len", **facts)


def test_numbers_that_a_context_needs_are_asked_for() -> None:
    """A size of zero bytes is none."""
    found = WORKED["fit_max_model_len"]({"kv_bytes_per_token": 0})
    assert found.missing == ("kv_cache_available_gib", "kv_bytes_per_token")
    assert inputs("fit_max_model_len", max_len_that_fits=512) == {"max_len_that_fits": 512}


@pytest.mark.parametrize(
    ("size", "heads", "kv_heads", "vocab", "possible"),
    [
        (0, None, None, None, False), (1, 7, 3, 5, True), (2, 7, None, None, False), (2, 8, 3, None, False), (4, 8, 2, None, True),
        (2, 8, 4, None, True), (64, None, None, 1, True), (128, None, None, 64, False), (128, None, None, 65, True),
    ],
)  # fmt: skip
def test_sizes_that_a_model_allows(
    size: int, heads: int | None, kv_heads: int | None, vocab: int | None, possible: bool
) -> None:
    """Heads divide, KV heads divide or are copied, the vocabulary is filled up to 64."""
    assert divides(size, heads, kv_heads, vocab) is possible


def test_sizes_up_to_a_limit() -> None:
    """Divisors where the heads are known, else powers of two; never more than 1024."""
    assert sizes_that_divide(12, {"num_attention_heads": 24}) == [1, 2, 4, 8]
    assert sizes_that_divide(12, {"num_attention_heads": 24, "num_key_value_heads": 24}) == [1, 2, 3, 4, 6, 8, 12]
    assert sizes_that_divide(12, {"num_heads": 24, "num_key_value_heads": 4}) == [1, 2, 4, 8, 12]
    assert sizes_that_divide(12, {}) == [1, 2, 4, 8]
    assert sizes_that_divide(5000, {})[-1] == 1024


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [
        ("raise", {"gpu_count": 4}, ("2", "the next size above 1 on 4 GPUs (heads not known: a power of two) → 2")),
        ("raise", {"gpu_count": 1}, ("", "no size above 1 fits 1 GPU (heads not known: a power of two)")),
        ("raise", {"gpu_count": 8, "tensor_parallel_size": 2, "num_attention_heads": 40, "num_key_value_heads": 8},
         ("4", "the next size above 2 on 8 GPUs that divides 40 heads, 8 KV heads → 4")),
        ("raise", {"gpu_count": 8, "tensor_parallel_size": 2, "num_heads": 40, "vocab_size": 640},
         ("4", "the next size above 2 on 8 GPUs that divides 40 heads, 640 tokens of vocabulary (KV heads not known: a power of two) → 4")),
        ("raise", {"gpu_count": 8, "data_parallel_size": 2, "tensor_parallel_size": 4},
         ("", "no size above 4 fits 4 GPUs (heads not known: a power of two)")),
        ("lower", {"tensor_parallel_size": 6, "num_heads": 32}, ("4", "the largest size below 6 that divides 32 heads (KV heads not known: a power of two) → 4")),
        ("lower", {"tensor_parallel_size": 8, "gpu_count": 3},
         ("2", "the largest size below 8, at most 3 GPUs (heads not known: a power of two) → 2")),
        ("lower", {"tensor_parallel_size": 1}, ("", "1 is the smallest size")),
        ("lower", {"world_size": 2}, ("1", "the largest size below 2 (heads not known: a power of two) → 1")),
        ("lower", {}, ("", "not known: tensor_parallel_size")),
        ("raise", {}, ("", "not known: gpu_count")),
        ("fit", {"tensor_parallel_size": 4, "gpu_count": 4, "num_heads": 32, "num_key_value_heads": 3},
         ("1", "the largest size below 4, at most 4 GPUs that divides 32 heads, 3 KV heads → 1")),
    ],
)  # fmt: skip
def test_sizes_of_tensor_parallelism(name: str, facts: dict[str, object], expected: tuple[str, str]) -> None:
    """The next one up on the GPUs seen, the next one down; what it divides is said."""
    assert said(f"{name}_tensor_parallel_size", **facts) == expected


def test_what_sizes_were_worked_out_from() -> None:
    """Heads and GPUs where the log tells them, and the size asked for."""
    model = {"num_attention_heads": 40, "num_heads": 40, "num_key_value_heads": 8, "vocab_size": 640}
    facts = {"gpu_count": 8, "tensor_parallel_size": 2} | model
    assert inputs("raise_tensor_parallel_size", **facts) == facts
    assert inputs("lower_tensor_parallel_size", **facts) == facts
    assert inputs("raise_tensor_parallel_size", gpu_count=1) == {"gpu_count": 1, "tensor_parallel_size": 1}
    assert inputs("lower_tensor_parallel_size", world_size=2) == {"tensor_parallel_size": 2}
    assert inputs("lower_tensor_parallel_size", world_size=1) == {"tensor_parallel_size": 1}


@pytest.mark.parametrize(
    ("facts", "bits"),
    [
        ({}, (16, "16-bit weights")), ({"dtype": "float32"}, (32, "float32")), ({"dtype": "torch.float32"}, (32, "float32")),
        ({"dtype": "fp32"}, (32, "fp32")), ({"dtype": "float"}, (32, "float")), ({"dtype": "half"}, (16, "half")),
        ({"dtype": "float16"}, (16, "float16")), ({"dtype": "fp16"}, (16, "fp16")), ({"dtype": "bfloat16"}, (16, "bfloat16")),
        ({"dtype": "bf16"}, (16, "bf16")), ({"dtype": "auto"}, (16, "16-bit weights")), ({"quantization": "None"}, (16, "16-bit weights")),
        *[({"quantization": name}, (8.0, name)) for name in
          ("fp8", "ptpc_fp8", "fbgemm_fp8", "modelopt", "experts_int8", "tpu_int8", "w8a8", "int8")],
        *[({"quantization": name}, (4.16, name)) for name in
          ("awq", "awq_marlin", "gptq", "gptq_marlin", "moe_wna16", "w4a16", "int4", "auto-round")],
        *[({"quantization": name}, (4.5, name)) for name in ("bitsandbytes", "bnb", "modelopt_fp4", "nvfp4", "fp4")],
        *[({"quantization": name}, (4.25, name)) for name in ("mxfp4", "gpt_oss_mxfp4")],
        *[({"quantization": name}, None) for name in
          ("gguf", "compressed-tensors", "quark", "hqq", "aqlm", "torchao", "exl2", "modelopt_mixed", "brand-new")],
        *[({"model": f"acme/m-{name}"}, (bits, name.upper())) for name, bits in
          (("gpt-oss-20b", 4.25), ("NVFP4", 4.5), ("mxfp4", 4.25), ("fp4", 4.5), ("w4a16", 4.16), ("int4", 4.16), ("AWQ", 4.16),
           ("gptq-int8", 8.0), ("gptq", 4.16), ("bnb-4bit", 4.5), ("4bit", 4.16), ("w8a8", 8.0), ("int8", 8.0), ("8bit", 8.0),
           ("fp8", 8.0)) if name != "gpt-oss-20b"],
        ({"model": "acme/gpt-oss-20b"}, (4.25, "GPT-OSS")), ({"model": "acme-awq/m"}, (16, "16-bit weights")),
        ({"model": "acme/m-GGUF"}, None), ({"model": "acme-gguf/m"}, None), ({"model": "a/m-awq", "quantization": "FP8"}, (8.0, "fp8")),
    ],
)  # fmt: skip
def test_bits_of_a_weight(facts: dict[str, object], bits: tuple[float, str] | None) -> None:
    """By the method, the name, the type; none where the format has many widths."""
    assert bits_per_weight(facts) == bits


@pytest.mark.parametrize(
    ("model", "billions"),
    [
        ("a/m-7b", 7), ("a/m_1.5B_x/", 1.5), ("70B/m", None), ("m-8x22B", 8 * 22 * 0.84), ("m-7B-13B", None), ("m-7B-7b", 7),
        ("m-17B-16E", None), ("m-30B-A3B", 30), ("m-v2b3", None), ("m-0.55b", 0.55), ("m-12345b", None), ("", None),
    ],
)  # fmt: skip
def test_a_size_in_a_name(model: str, billions: float | None) -> None:
    """One size, or none."""
    assert parameters_by_name(model) == (None if billions is None else pytest.approx(billions))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"weights_gib": 14.25}, ("14.2", "14.2 GiB were loaded")),
        ({"weights_gib": 14.25, "tensor_parallel_size": 2, "pipeline_parallel_size": 3}, ("85.5", "14.2 GiB on each of 6 ranks → 85.5 GiB")),
        ({"model": "a/m-7B"}, ("13", "7 billion parameters by the name × 2 bytes (16-bit weights) → about 13 GiB")),
        ({"model": "a/m-7B-AWQ"}, ("4.85", "7 billion parameters by the name × 0.52 bytes (AWQ), 1.1 of them (embeddings, lm_head) at 2 bytes → about 4.85 GiB")),
        ({"weights_gib": 0, "model": "a/m-7B"}, ("13", "7 billion parameters by the name × 2 bytes (16-bit weights) → about 13 GiB")),
        ({"model": "a/m"}, ("", "not known: weights_gib")), ({}, ("", "not known: weights_gib, model")),
    ],
)  # fmt: skip
def test_the_size_of_all_weights(facts: dict[str, object], expected: tuple[str, str]) -> None:
    """Measured on a rank, else by the name."""
    assert said("total_weights_gib", **facts) == expected


def test_what_the_size_of_weights_was_worked_out_from() -> None:
    """Numbers and names."""
    assert inputs("total_weights_gib", weights_gib=14.25) == {"weights_gib": 14.25}
    assert inputs("total_weights_gib", weights_gib=14.25, tensor_parallel_size=2) == {"weights_gib": 14.25, "ranks": 2}
    assert inputs("total_weights_gib", model="a/m-7B") == {
        "model": "a/m-7B",
        "parameters_billions": 7,
        "bits_per_weight": 16,
    }


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"weights_gib": 100, "gpu_memory_total_gib": 80, "gpu_count": 1},
         ("No flag fixes this: weights 100 GiB, one GPU of 80 GiB.", "100 GiB were loaded; 1 × 80 GiB = 80 GiB")),
        ({"weights_gib": 80, "gpu_memory_total_gib": 80},
         ("No flag fixes this: weights 80 GiB, one GPU of 80 GiB.", "80 GiB were loaded; 1 × 80 GiB = 80 GiB")),
        ({"weights_gib": 79.9, "gpu_memory_total_gib": 80}, ("", "79.9 GiB were loaded; one GPU of 80 GiB hold 80 GiB")),
        ({"weights_gib": 100, "gpu_memory_total_gib": 24, "gpu_count": 2},
         ("No flag fixes this: weights 100 GiB, 2 × 24 GiB of GPU memory.", "100 GiB were loaded; 2 × 24 GiB = 48 GiB")),
        ({"weights_gib": 30, "gpu_memory_total_gib": 24, "gpu_count": 2},
         ("", "30 GiB were loaded; 2 × 24 GiB of GPU memory hold 48 GiB")),
        ({"weights_gib": 30}, ("", "not known: gpu_memory_total_gib")),
    ],
)  # fmt: skip
def test_weights_larger_than_all_gpus(facts: dict[str, object], expected: tuple[str, str]) -> None:
    """As large is too large."""
    assert said("no_flag_fixes", **facts) == expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"weights_gib": 60, "gpu_memory_total_gib": 40, "gpu_count": 4},
         ("--tensor-parallel-size 2", "60 GiB were loaded; a GPU has 40 × 0.92 - 1.5 = 35.3 GiB for them; ÷ 2 = 30 GiB")),
        ({"weights_gib": 60, "gpu_memory_total_gib": 40, "gpu_count": 4, "gpu_memory_utilization": 0.5},
         ("--tensor-parallel-size 4", "60 GiB were loaded; a GPU has 40 × 0.5 - 1.5 = 18.5 GiB for them; ÷ 4 = 15 GiB")),
        ({"weights_gib": 30, "gpu_memory_total_gib": 40}, ("", "30 GiB were loaded; a GPU has 40 × 0.92 - 1.5 = 35.3 GiB for them: the weights fit")),
        ({"weights_gib": 30, "gpu_memory_total_gib": 1.5}, ("", "30 GiB were loaded; a GPU has 1.5 × 0.92 - 1.5 = -0.12 GiB for them: none")),
        ({"weights_gib": 60, "gpu_memory_total_gib": 40},
         ("an FP8 or 8-bit checkpoint of the same model", "60 GiB were loaded; a GPU has 40 × 0.92 - 1.5 = 35.3 GiB for them; at 8 bits it does")),
        ({"weights_gib": 110, "gpu_memory_total_gib": 40},
         ("a 4-bit checkpoint (AWQ, GPTQ, w4a16) of the same model",
          "110 GiB were loaded; a GPU has 40 × 0.92 - 1.5 = 35.3 GiB for them; at 4.16 bits it does")),
        ({"weights_gib": 120, "gpu_memory_total_gib": 40, "gpu_count": 2},
         ("an FP8 or 8-bit checkpoint of the same model with --tensor-parallel-size 2",
          "120 GiB were loaded; a GPU has 40 × 0.92 - 1.5 = 35.3 GiB for them; at 8 bits it does")),
        ({"weights_gib": 120, "gpu_memory_total_gib": 40, "quantization": "awq"},
         ("4 × 40 GiB of GPU memory and --tensor-parallel-size 4",
          "120 GiB were loaded; a GPU has 40 × 0.92 - 1.5 = 35.3 GiB for them; ÷ 4 = 30 GiB")),
        ({"weights_gib": 13, "gpu_memory_total_gib": 6, "gpu_memory_utilization": 0.8},
         ("a model of at most about 4 billion parameters in a 4-bit checkpoint (AWQ, GPTQ, w4a16)",
          "13 GiB were loaded; a GPU has 6 × 0.8 - 1.5 = 3.3 GiB for them; with 4 bits and embeddings at 16 that is 3.04 GiB")),
        ({"weights_gib": 52, "gpu_memory_total_gib": 24, "gpu_memory_utilization": 0.7},
         ("a 4-bit checkpoint (AWQ, GPTQ, w4a16) of the same model, and --gpu-memory-utilization 0.95",
          "52 GiB were loaded; a GPU has 24 × 0.7 - 1.5 = 15.3 GiB for them; at 4.16 bits and a share of 0.95 it does")),
        ({"weights_gib": 120, "gpu_memory_total_gib": 2, "quantization": "awq"},
         ("", "120 GiB were loaded; a GPU has 2 × 0.92 - 1.5 = 0.34 GiB for them; no model fits")),
    ],
)  # fmt: skip
def test_the_smallest_change_with_which_weights_fit(facts: dict[str, object], expected: tuple[str, str]) -> None:
    """More of the GPUs seen, fewer bits, more GPUs; what each leaves is said."""
    assert said("smallest_change_that_fits", **facts) == expected


def test_what_the_smallest_change_was_worked_out_from() -> None:
    """The share too, where it is the usual one."""
    assert inputs("smallest_change_that_fits", weights_gib=60.0, gpu_memory_total_gib=40.0) == {
        "weights_gib": 60.0,
        "gpu_memory_total_gib": 40.0,
        "gpu_count": 1,
        "gpu_memory_utilization": 0.92,
    }


@pytest.mark.parametrize("share", [0, 1.1, -1])
def test_a_share_that_cannot_be_is_not_counted_with(share: float) -> None:
    """The usual one goes for it; all of a GPU is possible."""
    facts = {"weights_gib": 60.0, "gpu_memory_total_gib": 40.0}
    assert inputs("no_flag_fixes", **facts, gpu_memory_utilization=share)["gpu_memory_utilization"] == 0.92
    assert inputs("no_flag_fixes", **facts, gpu_memory_utilization=1)["gpu_memory_utilization"] == 1


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [
        ("fit_kv_cache_memory_bytes", {"kv_cache_needed_gib": 2}, ("2159017984", "2 GiB needed, 0.01 for rounding → 2159017984 bytes")),
        ("fit_cpu_kvcache_space", {"kv_cache_needed_gib": 2}, ("3", "2 GiB needed, up to whole GiB → 3")),
        ("fit_cpu_kvcache_space", {"kv_cache_needed_gib": 1.98}, ("2", "1.98 GiB needed, up to whole GiB → 2")),
        ("fit_cpu_kvcache_space", {}, ("", "not known: kv_cache_needed_gib")),
        ("fit_kv_cache_memory_bytes", {"kv_cache_needed_gib": 1e6}, ("", "not known: kv_cache_needed_gib")),
        ("fit_max_lora_rank", {"lora_rank": 9, "vllm_version": "0.5.4"},
         ("16", "of the sizes accepted (8, 16, 32, 64) the first that holds rank 9")),
        ("fit_max_lora_rank", {"lora_rank": 999, "vllm_version": "0.7.0"},
         ("", "rank 999 is above what vLLM accepts (8, 16, 32, 64, 128, 256)")),
        ("fit_max_lora_rank", {"lora_rank": 400, "vllm_version": "0.11.1"},
         ("512", "of the sizes accepted (1, 8, 16, 32, 64, 128, 256, 320, 512) the first that holds rank 400")),
        ("fit_max_lora_rank", {}, ("", "not known: lora_rank")),
        ("free_port", {"port": 9000}, ("9001", "the next after 9000")), ("free_port", {"port": 65534}, ("65535", "the next after 65534")),
        ("free_port", {"port": 1}, ("2", "the next after 1")), ("free_port", {"port": 0}, ("8001", "the next after 8000")),
        ("http_port", {"port": 9000}, ("9000", "as given")), ("http_port", {}, ("8000, the default", "vLLM's own")),
        ("free_port", {"port": "x"}, ("", "'x' is no port")),
        ("hub_repository", {}, ("", "the log names no model")), ("hub_repository", {"model": "/m"}, ("", "'/m' is no repository's name")),
        ("model_folder", {}, ("", "the log names no model")), ("model_folder", {"model": "a/m"}, ("", "'a/m' is no folder")),
        ("model_folder", {"model": "../m"}, ("../m", "")),
        ("unified_memory", {"gpu_name": "NVIDIA GB10"}, ("NVIDIA GB10", "NVIDIA GB10 shares the CPU's memory")),
        ("unified_memory", {"gpu_name": "NVIDIA H100"}, ("", "NVIDIA H100 does not share the CPU's memory")),
        ("unified_memory", {"gpu_memory_total_gib": 118.01},
         ("a machine of 118 GiB (DGX Spark, Jetson Thor)", "118.01 GiB are what such machines report")),
        ("unified_memory", {"gpu_memory_total_gib": 118}, ("", "118 GiB tell no such machine")),
        ("unified_memory", {"gpu_memory_total_gib": 122.9},
         ("a machine of 122.9 GiB (DGX Spark, Jetson Thor)", "122.9 GiB are what such machines report")),
        ("unified_memory", {"gpu_memory_total_gib": 123}, ("", "123 GiB tell no such machine")),
        ("unified_memory", {}, ("", "not known: gpu_name")),
        ("part_of_vllm", {"package": "'vllm.x'"}, ("vllm.x", "")), ("part_of_vllm", {"package": "torch"}, ("", "the module is not one of vLLM's own")),
        ("part_of_vllm", {"package": "vllm"}, ("", "the module is not one of vLLM's own")),
        ("raise_max_num_seqs", {"running": 92.0}, ("", "92 run, and 256 might: max_num_seqs is not the limit")),
        ("raise_max_num_seqs", {"running": 250.0}, ("512", "twice 256 (vLLM's default)")),
        ("raise_max_num_seqs", {"running": 337.0}, ("", "337 run, and 1024 might: max_num_seqs is not the limit")),
        ("raise_max_num_batched_tokens", {"max_num_batched_tokens": 2048}, ("8192", "now 2048")),
        ("raise_max_num_batched_tokens", {"running": 337, "prompt_throughput": 11244.6, "generation_throughput": 267.6},
         ("16384", "11244.6 tokens/s of prompts beside 267.6 generated: the engine is busy with prompts; twice 8192 (vLLM's default)")),
        ("raise_max_num_batched_tokens", {"prompt_throughput": 900, "generation_throughput": 300},
         ("", "900 tokens/s of prompts beside 300 generated: not prompts alone")),
        ("raise_max_num_batched_tokens", {"max_num_batched_tokens": 32768, "prompt_throughput": 900, "generation_throughput": 3},
         ("", "32768 is much already")),
        ("raise_max_num_batched_tokens", {}, ("", "not known: prompt_throughput, generation_throughput")),
        ("enough_gpu_memory_utilization",
         {"kv_cache_available_gib": 37.81, "kv_cache_tokens": 275328, "max_num_seqs": 2, "max_model_len": 8192, "weights_gib": 15.27, "gpu_memory_utilization": 0.6},
         ("0.26", "2 requests of 8192 tokens need 2.2 of the 37.81 GiB of KV cache; 0.6 - 35.6 ÷ about 97 GiB + 0.02 margin → 0.26")),
        ("enough_gpu_memory_utilization", {"gpu_memory_utilization": 0.6}, ("0.55", "0.6 - 0.05 → 0.55")),
        ("raise_max_num_seqs", {"running": 60.0, "max_num_seqs": 64}, ("128", "twice 64")),
        ("raise_max_num_seqs", {}, ("", "not known: running")),
        ("usual_max_num_seqs", {"max_num_seqs": 768}, ("256", "768 → 256, the default of most GPUs")),
        ("usual_max_num_seqs", {"dummy_requests": "1024"}, ("256", "1024 → 256, the default of most GPUs")),
        ("usual_max_num_seqs", {"max_num_seqs": 256}, ("", "256 is no more than the default")),
        ("usual_max_num_seqs", {}, ("", "the log does not tell how many may run")),
        ("more_wait_than_run", {"waiting": 61, "running": 20, "kv_cache_usage_percent": 97.0}, ("3", "61 wait while 20 run")),
        ("more_wait_than_run", {"waiting": 59, "running": 20, "kv_cache_usage_percent": 97.0}, ("", "few wait, or the cache is not full")),
        ("more_wait_than_run", {"waiting": 61, "running": 20, "kv_cache_usage_percent": 60.0}, ("", "few wait, or the cache is not full")),
        ("raised_media_limit", {"limit": 2, "modality": "image", "arguments": {"limit_mm_per_prompt": {"image": 2, "video": 0}}},
         ('{"image": 4, "video": 0}', "2 was given for image → 4")),
        ("raised_media_limit", {"limit": 2, "items": 7, "modality": "image", "arguments": {"limit_mm_per_prompt": '{"image": 2}'}},
         ('{"image": 7}', "2 was given for image → 7")),
        ("raised_media_limit", {"limit": 1, "modality": "image", "arguments": {"limit_mm_per_prompt": {"image": 2}}},
         ("", "the limit that refused the prompt was not given by hand")),
        ("raised_media_limit", {"limit": 1, "modality": "image", "arguments": {"limit_mm_per_prompt": "image=1"}},
         ("", "the limit that refused the prompt was not given by hand")),
        ("offloaded_gib", {"cpu_offload_gb": 12.0, "tensor_parallel_size": 4}, ("48", "12 GiB × 4 GPUs")),
        ("offloaded_gib", {"arguments": {"cpu_offload_gb": 10}, "pipeline_parallel_size": 2}, ("20", "10 GiB × 2 GPUs")),
        ("offloaded_gib", {}, ("", "no weights are kept in host memory")),
        ("vllm_itself", {"package": "vllm"}, ("vllm", "")), ("vllm_itself", {"package": "vllm._C"}, ("", "something else is missing")),
        ("sdk_module", {"package": "amdsmi.x"}, ("amdsmi", "")),
        ("sdk_module", {"package": "torch"}, ("", "the module is not known to come with an SDK")),
        ("requirement", {"extra": "audio"}, ("vllm[audio]", "the message names the extra")),
        ("requirement", {"extra": "$(id)"}, ("", "the log names no module")),
        ("requirement", {"package": "tokenizers", "asked_versions": ">=0.21,"}, ("tokenizers>=0.21", "")),
        ("requirement", {"package": "tokenizers", "asked_versions": "; id"}, ("tokenizers", "")),
        ("requirement", {"package": "my_plugin", "asked_versions": ">=1"},
         ("none", "no list of packages that vLLM or its neighbours ask for has my_plugin")),
        ("distribution", {"package": "Torchvision"}, ("torchvision", "")),
        ("own_module", {"package": "`my_plugin.x`"}, ("my_plugin", "")),
        ("own_module", {"package": "torch"}, ("", "the module belongs to a known package, or to vLLM")),
        ("own_module", {"package": "vllm"}, ("", "the module belongs to a known package, or to vLLM")),
        ("own_module", {"package": "tl"}, ("", "the module belongs to a known package, or to vLLM")),
        ("own_module", {"package": "my plugin"}, ("", "the module belongs to a known package, or to vLLM")),
        ("distribution", {}, ("", "the log names no module")), ("distribution", {"package": "torch"}, ("torch", "")),
        ("distribution", {"package": "my_plugin"}, ("none", "no list of packages that vLLM or its neighbours ask for has my_plugin")),
        ("distribution", {"package": "flash_attn"}, ("flash-attn", "")),
        ("distribution", {"package": "cv2.dnn"}, ("opencv-python-headless", "the module cv2.dnn comes with opencv-python-headless")),
    ],
)  # fmt: skip
def test_other_values(name: str, facts: dict[str, object], expected: tuple[str, str]) -> None:
    """Caches, adapters, ports, names, machines, packages."""
    assert said(name, **facts) == expected


@pytest.mark.parametrize("gpu", ["DGX Spark", "NVIDIA GH200", "Jetson Thor", "Orin", "Xavier", "AGX", "AMD Strix Halo", "Radeon 8060S", "Radeon 8050S"])  # fmt: skip
def test_gpus_that_share_the_cpus_memory(gpu: str) -> None:
    """Also in small letters."""
    assert said("unified_memory", gpu_name=gpu.lower())[0] == gpu.lower()


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("PIL", "pillow"), ("attr", "attrs"), ("bs4", "beautifulsoup4"), ("cv2", "opencv-python-headless"), ("cupy", "cupy-cuda12x"),
        ("dateutil", "python-dateutil"), ("dotenv", "python-dotenv"), ("flash_attn", "flash-attn"), ("flash_attn_2_cuda", "flash-attn"),
        ("flash_attn_interface", "flash-attn"), ("flashinfer", "flashinfer-python"), ("git", "GitPython"), ("google", "protobuf"),
        ("jwt", "PyJWT"), ("mcp", "mcp"), ("multipart", "python-multipart"), ("opentelemetry", "opentelemetry-sdk"),
        ("pkg_resources", "setuptools"), ("pynvml", "nvidia-ml-py"), ("python_multipart", "python-multipart"), ("serial", "pyserial"),
        ("skimage", "scikit-image"), ("sklearn", "scikit-learn"), ("yaml", "PyYAML"), ("zmq", "pyzmq"), ("torch_xla", "torch-xla"),
        ("tvm_ffi", "apache-tvm-ffi"), ("bnb", "bitsandbytes"), ("Ray", "ray"),
        ("tl", "triton"), ("xops", "xformers"), ("init_empty_weights", "accelerate"), ("ipex", "intel-extension-for-pytorch"),
        ("ipex_ops", "intel-extension-for-pytorch"), ("PyTorch", "torch"), ("OpenCV", "opencv-python-headless"), ("Pillow", "pillow"),
    ],
)  # fmt: skip
def test_packages_of_other_names(module: str, package: str) -> None:
    """What is imported under one name and installed under another."""
    assert WORKED["distribution"]({"package": f"{module}.part"}).value == package


@pytest.mark.parametrize("module", ["amdsmi", "deep_gemm", "habana_frameworks", "transformers_modules", "vllm"])  # fmt: skip
def test_modules_that_no_package_index_has(module: str) -> None:
    """Whatever stands under their names there is something else; they are nobody's own either."""
    assert said("distribution", package=f"{module}.part") == ("none", "")
    assert said("own_module", package=f"{module}.part")[0] == ""


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1b", 1), ("1k", 1000), ("1kb", 1000), ("1m", 10**6), ("1g", 10**9), ("1t", 10**12), ("1KiB", 1024), ("1Ki", 1024),
        ("1MiB", 1 << 20), ("1TiB", 1 << 40), ("0", 0), ("999999999999999b", 10**15 - 1), ("1000000000000000b", None), ("1bb", None),
        ("1kib2", None), ("1 . 5 g", 1_500_000_000), ("1gbi", None),
    ],
)  # fmt: skip
def test_sizes_with_units(text: str, size: int | None) -> None:
    """Powers of ten and of two."""
    assert parse_bytes(text) == size


def test_numbers_among_facts() -> None:
    """The first that is one; commas within are read, switches, texts and what is endless are not."""
    facts = {"a": True, "b": "x", "c": "1,024", "d": 2, "e": "inf", "f": None, "g": 1e18, "h": 0.5, "i": -3}
    assert (number(facts, "a", "b", "c", "d"), number(facts, "d", "c")) == (1024, 2)
    assert (number(facts, "e", "f", "g"), number(facts), number(facts, "g", "i")) == (None, None, -3)
    assert (whole(facts, "h"), whole(facts, "i"), whole({"a": 1}, "a"), whole({"a": 2.9}, "a")) == (None, None, 1, 2)


@pytest.mark.parametrize(
    ("amount", "text"), [(GIB, "1.0 GiB"), (GIB * 0.999, "1.00 GiB"), (GIB / 2, "0.50 GiB"), (-GIB / 2, "-0.50 GiB"), (-2 * GIB, "-2.0 GiB")]
)  # fmt: skip
def test_bytes_in_words(amount: float, text: str) -> None:
    """Two decimals below one."""
    assert gib(amount) == text


def test_short_numbers() -> None:
    """Three digits, whole from a hundred on."""
    assert [short(amount) for amount in (99.94, 100, 100.4, -100.4, 0.1234)] == ["99.9", "100", "100", "-100", "0.123"]


def test_releases_are_compared_part_by_part() -> None:
    """None where there is none."""
    assert release_at_least("0.10.1", 0, 9, 2) is True
    assert release_at_least("0.9.1", 0, 9, 2) is False
    assert release_at_least("0.9.2", 0, 9, 2) is True
    assert release_at_least("0.9.2rc1", 0, 9) is True
    assert release_at_least(None, 0, 9) is None
    assert release_at_least("banana", 0, 9) is None


def test_a_value_says_what_it_is() -> None:
    """True where there is one."""
    value = Computed("3", "1 + 2", {"a": 1}, ("b",))
    assert repr(value) == "Computed('3', '1 + 2', {'a': 1}, ('b',))"
    assert (bool(value), bool(Computed("", "x"))) == (True, False)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"max_model_len": 16384, "prompt_tokens": "9127"}, "7257"),
        ({"max_model_len": 4096, "prompt_tokens": 4096}, ""),
        ({"max_model_len": 4096}, ""),
        ({"prompt_tokens": 7}, ""),
        ({"max_model_len": 8192, "prompt_tokens": 6193, "output_tokens": 2000}, ""),
        ({"max_model_len": 8192, "prompt_tokens": 6194, "output_tokens": 2000}, "1998"),
    ],
)
def test_what_a_prompt_leaves_for_the_answer(facts: dict[str, object], expected: str) -> None:
    """Both share the context; a prompt that fills it leaves nothing."""
    assert WORKED["fit_output_tokens"](facts).value == expected


def test_where_vllm_stopped_counting_a_prompt() -> None:
    """One token above what the answer leaves: the prompt is as long or longer."""
    cut = {"max_model_len": 8192, "prompt_tokens": 6193, "output_tokens": 2000}
    counted = {**cut, "prompt_tokens": 7000}
    assert [WORKED["prompt_tokens_at_least"](facts).value for facts in (cut, counted, {})] == ["6193", "", ""]
    assert [WORKED["prompt_tokens_counted"](facts).value for facts in (cut, counted, {})] == ["", "7000", ""]
    assert WORKED["output_share_percent"](cut).value == "24"
    assert WORKED["output_share_percent"]({"max_model_len": 8192}).missing == ("output_tokens",)
