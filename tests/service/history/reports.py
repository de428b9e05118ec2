"""Reports to record."""

from __future__ import annotations

from typing import Any

from vllm_triage.classifier.report.model import Report
from vllm_triage.classifier.report.schema import report_of

PREFIX = "(EngineCore pid=4190) ERROR 11-02 09:15:01 [core.py:1108] "


def report(text: str = "ValueError: the cache holds 12 tokens", **other: Any) -> Report:
    """Return a report whose deciding line says ``text``; ``other`` are further fields, as they stand in JSON."""
    return report_of(values(text) | other)


def values(text: str = "ValueError: the cache holds 12 tokens") -> dict[str, Any]:
    """Return a report's JSON."""
    line = {"line": 40, "text": PREFIX + text, "process": "EngineCore", "count": 1}
    frame = {
        "line": 39,
        "text": PREFIX
        + '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/core/kv_cache_utils.py", line 7, in check',
        "process": "EngineCore",
    }
    return {
        "schema_version": "1.1", "bucket": "kv_cache_oom", "cause": "kv_cache_oom/context_exceeds_cache", "confidence": 0.97,
        "decided_by": "rule", "title": "The KV cache cannot hold one request of the full context", "summary": "It is too small.",
        "evidence": [line], "symptoms": [{"line": 51, "text": "RuntimeError: Engine core initialization failed.", "process": "APIServer", "count": 1}],
        "chain": [], "context": [frame, {name: line[name] for name in ("line", "text", "process")}], "alternatives": [],
        "startup": {"reached": "profile", "stages": []}, "facts": {"vllm_version": "0.32.0", "model": "acme/harbor-8b"},
        "fixes": [], "corrected_command": "", "corrected": None, "incidents": 1, "confirm": "", "refute": "", "notes": [],
        "input": {"lines": 60, "bytes": 9000},
    }  # fmt: skip
