"""The table of GPUs: names as people and drivers write them, memory that a program sees, native kernels."""

from __future__ import annotations

import pytest

from vllm_triage.corpus.gpus import UnknownGpuError, find_gpu, gpus


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("H100", "H100"), ("h100", "H100"), ("NVIDIA H100 80GB HBM3", "H100"), ("A100-40GB", "A100-40GB"),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB"), ("Tesla T4", "T4"), ("L4", "L4"), ("rtx 4090", "RTX-4090"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "RTX-4070-Ti-SUPER"), ("AMD Instinct MI300X", "MI300X"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada"), ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000"),
    ],
)  # fmt: skip
def test_a_gpu_is_found_by_its_names(asked: str, name: str) -> None:
    assert find_gpu(asked).name == name


@pytest.mark.parametrize("name", sorted(gpus()))
def test_every_gpu_is_found_by_its_own_name(name: str) -> None:
    assert find_gpu(name).name == name


@pytest.mark.parametrize(
    ("asked", "told"),
    [("A100", "A100-40GB, A100-80GB"), ("A100-64GB", "A100-80GB"), ("xyzzy", "--gpu list"), ("H10O", "H100")],
)
def test_what_is_not_one_gpu_is_answered_with_what_is_near(asked: str, told: str) -> None:
    with pytest.raises(UnknownGpuError, match=told):
        find_gpu(asked)


@pytest.mark.parametrize(
    ("name", "seen"),
    [("A100-80GB", 79.1), ("A100-40GB", 39.38), ("A10G", 21.99), ("L40S", 44.5), ("GB200", 185.03), ("B300", 268.59)],
)
def test_no_more_memory_is_promised_than_a_program_sees(name: str, seen: float) -> None:
    """As PyTorch told it of such a device, or nvidia-smi, in GiB; and not less by more than a fortieth."""
    assert 0.975 * seen < find_gpu(name).bytes / (1 << 30) <= seen


@pytest.mark.parametrize(
    ("name", "kernels"),
    [
        ("T4", "float16 only, no FlashAttention"), ("A10G", "bfloat16, FlashAttention 2"), ("L4", "bfloat16, FP8, FlashAttention 2"),
        ("H100", "bfloat16, FP8, FlashAttention 3"), ("RTX-5090", "bfloat16, FP8, FP4, FlashAttention 2"), ("MI300X", ""),
    ],
)  # fmt: skip
def test_kernels_follow_the_compute_capability(name: str, kernels: str) -> None:
    assert find_gpu(name).kernels == kernels
