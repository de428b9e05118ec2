"""The rank of LoRA adapters that a server makes room for."""

from __future__ import annotations

from collections.abc import Mapping

from .worked import Worked, needs, release_at_least, whole

RANKS = (((0, 11, 1), 1), ((0, 0), 8), ((0, 0), 16), ((0, 0), 32), ((0, 0), 64), ((0, 5, 5), 128), ((0, 5, 5), 256), ((0, 8), 320),
         ((0, 8), 512))  # fmt: skip
"""What --max-lora-rank accepts, each with the first release that does: LoRAConfig in vllm/config.py, later vllm/config/lora.py."""


def fit_max_lora_rank(facts: Mapping[str, object]) -> Worked:
    """Return the smallest rank that the release accepts and that has room for the adapter's; none where there is none."""
    rank = whole(facts, "lora_rank")
    if rank is None:
        return needs("lora_rank")
    version = facts.get("vllm_version")
    accepted = [size for since, size in RANKS if release_at_least(version, *since) is not False]
    inputs = {"lora_rank": rank}
    fitting = next((size for size in accepted if size >= rank), None)
    listed = ", ".join(map(str, accepted))
    if fitting is None:
        return Worked("", f"rank {rank} is above what vLLM accepts ({listed})", inputs)
    return Worked(str(fitting), f"of the sizes accepted ({listed}) the first that holds rank {rank}", inputs)
