"""GPUs by name: memory, and what kernels of vLLM each has."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).parent / "gpus.toml"
KEPT = 0.98
"""Share of the memory that a program sees at least: driver and ECC keep the rest. (Seen in PyTorch's own messages: 79.1 GiB of an
80 GB HBM device, 39.4 of 40; 22.0 GiB of a 24 GB GDDR device with ECC, 44.5 of 48, which are less than 24 and 48 × 10⁹ bytes.)"""
KERNELS = ((8.0, "bfloat16"), (8.9, "FP8"), (10.0, "FP4"))
"""Compute capability from which a number format is native (vllm/platforms/cuda.py, has_device_capability; csrc, nvfp4_scaled_mm_entry.cu)."""
_MAKER = re.compile(
    r"nvidia|geforce|tesla|quadro|amd|radeon|instinct|[\s_-]|pcie|sxm\d?|hbm\d?e?|generation|blackwell|workstation|server|edition"
)
_SIZE = re.compile(r"(?<![a-z\d])(\d+) ?gi?b")


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU."""

    name: str
    gb: int
    """as its maker states it"""
    hbm: bool
    capability: str
    """compute capability; "" where there is none (AMD)"""

    @property
    def bytes(self) -> int:
        """What a program sees at least: makers count HBM in GiB, other memory (with ECC) comes to as many 10⁹ bytes."""
        return int(self.gb * (1 << 30 if self.hbm else 10**9) * KEPT)

    @property
    def kernels(self) -> str:
        """What is native on it, in words; "" where its table does not tell."""
        if not self.capability:
            return ""
        level = float(self.capability)
        # vllm/v1/attention/backends/fa_utils.py: 3 on 9.x, 4 on 10.x, else 2 from 8.0 on.
        version = {9: " 3", 10: " 4"}.get(int(level), " 2")
        found = [name for least, name in KERNELS if level >= least]
        return ", ".join([*found, f"FlashAttention{version}"]) if found else "float16 only, no FlashAttention"


class UnknownGpuError(Exception):
    """There is no such GPU in the table; the text says which are near."""


@cache
def gpus() -> dict[str, Gpu]:
    """Return all GPUs by name."""
    with TABLE.open("rb") as file:
        rows = tomllib.load(file)["gpus"]
    return {name: Gpu(name, gb, kind == "HBM", capability) for name, (gb, kind, capability) in rows.items()}


def find_gpu(name: str) -> Gpu:
    """Return a GPU by what people and drivers call it: H100, A100-40GB, NVIDIA A100-SXM4-80GB, rtx 4090.

    Raises:
        UnknownGpuError: There is none, or several of different memory.
    """
    asked, size = _parts(name)
    found = [gpu for gpu in gpus().values() if _parts(gpu.name)[0] == asked]
    found = [gpu for gpu in found if not size or gpu.gb == size]
    if len(found) == 1:
        return found[0]
    near = [gpu.name for gpu in found] or sorted(_near(asked))
    hint = f"which one: {', '.join(near)}?" if near else "--gpu list shows those that are known"
    raise UnknownGpuError(f"{name!r} is no GPU with a single entry; {hint} (or give the memory that nvidia-smi shows)")


def _near(asked: str) -> Iterator[str]:
    from difflib import get_close_matches

    names = {_parts(name)[0]: name for name in gpus()}
    yield from (names[near] for near in get_close_matches(asked, names, 4, 0.6))


def _parts(name: str) -> tuple[str, int]:
    size = _SIZE.search(name.lower())
    return _MAKER.sub("", _SIZE.sub("", name.lower())), int(size[1]) if size else 0
