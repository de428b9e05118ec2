"""The stages of a server's life, in the order in which a healthy one reaches them."""

from __future__ import annotations

STAGES: tuple[str, ...] = (
    "launch", "config", "engine_init", "distributed_init", "weights", "compile",
    "profile", "kv_cache", "graph_capture", "api_ready", "serving", "shutdown",
)  # fmt: skip
"""The stages, first to last."""
STAGE_ORDER: dict[str, int] = {stage: index for index, stage in enumerate(STAGES)}
"""Position of each stage."""
