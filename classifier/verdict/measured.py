"""How often each way of deciding is right: written by ``python benchmarks/calibrate.py --write``, not by hand (docs/lab/accuracy.md)."""

from __future__ import annotations

SURE: dict[str, float] = {
    "engine_dead": 0.74,
    "message": 0.97,
    "message_of_module": 0.65,
    "process_died": 0.68,
    "silence": 0.66,
    "strange_exception": 0.55,
    "wrapper": 0.91,
}
"""Confidence of an answer by its way."""

TRUST: dict[str, float] = {
    "model": 0.75,
    "model_with_stack": 0.94,
}
"""Share of the text model's probability above an even chance that is kept."""
