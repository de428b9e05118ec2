"""Phrases that several formats share: what ran where, how far it got, how sure the answer is."""

from __future__ import annotations

from collections.abc import Mapping

from ...classifier.report.model import Report
from ...corpus.stages import STAGES

STAGE_NAMES = {
    "launch": "launch", "config": "config", "engine_init": "engine", "distributed_init": "distributed",
    "weights": "weights", "compile": "compile", "profile": "profile", "kv_cache": "KV cache",
    "graph_capture": "graphs", "api_ready": "API up", "serving": "serving", "shutdown": "shutdown",
}  # fmt: skip


def headline(facts: Mapping[str, object]) -> str:
    """Return one line: vLLM, model, hardware, the settings that matter."""
    parts = []
    if version := facts.get("vllm_version"):
        parts.append(f"vLLM {version}" + (f" ({facts['engine']})" if facts.get("engine") else ""))
    elif facts.get("engine"):
        parts.append(f"vLLM {facts['engine']}")
    if model := facts.get("model"):
        parts.append(str(model).rstrip("/").rpartition("/")[2] or str(model))
    gpu = str(facts.get("gpu_name", "")).replace("NVIDIA ", "").replace("GeForce ", "")
    total = facts.get("gpu_memory_total_gib")
    if gpu or total:
        count = facts.get("gpu_count")
        parts.append(
            (f"{count} × " if count else "")
            + ", ".join(part for part in (gpu, f"{total:g} GiB" if total else "") if part)
        )
    for name, label in (("tensor_parallel_size", "TP"), ("pipeline_parallel_size", "PP"), ("data_parallel_size", "DP")):
        value = facts.get(name)
        if value and (name == "tensor_parallel_size" or value != 1):
            parts.append(f"{label} {value}")
    if length := facts.get("max_model_len"):
        parts.append(f"max_model_len {length}")
    if quantization := facts.get("quantization"):
        parts.append(str(quantization))
    return " · ".join(parts)


def timeline(report: Report) -> list[tuple[str, str]]:
    """Return the stages as (name, state): ``done``, ``last`` (where a failed start stopped) or ``open``."""
    if not report.startup.stages:
        return []
    seen = {span.stage for span in report.startup.stages}
    reached = STAGES.index(report.startup.reached) if report.startup.reached in STAGES else 0
    up = report.startup.reached in ("api_ready", "serving", "shutdown")
    shown = [stage for stage in STAGES if stage in seen or (stage in ("weights", "kv_cache", "api_ready") and not up)]
    states = []
    for stage in shown:
        index = STAGES.index(stage)
        if index == reached and report.failed and not up:
            states.append((STAGE_NAMES[stage], "last"))
        else:
            states.append((STAGE_NAMES[stage], "done" if index <= reached else "open"))
    return states


def seconds_between(report: Report) -> dict[str, float]:
    """Return the seconds spent in each stage that has them, by shown name."""
    return {STAGE_NAMES[span.stage]: span.seconds for span in report.startup.stages if span.seconds is not None}


def percent(confidence: float) -> str:
    """Return a probability as people read it."""
    return f"{round(confidence * 100)} %"


def verdict_mark(report: Report) -> str:
    """Return the sign before the verdict."""
    if report.filtered is not None:
        return "–"
    if report.bucket == "unknown":
        return "?"
    return "✖" if report.failed else "✔"


def left_out(report: Report) -> str:
    """Return why a failure that was found does not count; empty where it counts, or there is none."""
    if report.filtered is None:
        return ""
    by, ids = report.filtered.by, ", ".join(report.filtered.ids)
    return f"Ignored: {ids}" if by == "ignore" else f"Left out: only {ids} was asked for"
