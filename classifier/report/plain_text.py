"""A report as plain text of some lines: what ``str`` and ``print`` show, and its flat row for tables."""

from __future__ import annotations

from collections.abc import Iterator

from .model import Report


def as_text(report: Report) -> str:
    """Return cause, proof, fixes and the corrected command. ``vllm-triage`` prints more, and in colours."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    sign = {"well": "✔", "unknown": "?", "failed": "✖"}[report.state]
    yield f"{sign} {report.title}  ({report.cause}, {round(report.confidence * 100)} %)"
    if report.summary:
        yield f"  {report.summary}"
    for item in report.evidence:
        yield f"  line {item.line}: {item.text}"
    for fix in report.fixes[:3]:
        yield f"  {fix.rank}. {fix.title}" + (f": {fix.change}" if fix.change not in ("", fix.title) else "")
    if report.corrected_command:
        yield f"  {report.corrected_command}"


def as_row(report: Report) -> dict[str, str | int | float | bool]:
    """Return the report as one flat row of plain values, as ``pandas.DataFrame`` takes it; "" and 0 for what is not known."""
    facts = report.facts
    first = report.fixes[0] if report.fixes else None
    proof = report.evidence[0] if report.evidence else None
    return {
        "bucket": report.bucket, "cause": report.cause, "confidence": round(report.confidence, 4),
        "decided_by": report.decided_by, "failed": report.failed, "title": report.title, "reached": report.startup.reached,
        "release": facts.get("vllm_version", ""), "engine": facts.get("engine", ""), "model": facts.get("model", ""),
        "gpu": facts.get("gpu_name", ""), "gpu_count": facts.get("gpu_count", 0),
        "line": proof.line if proof else 0, "evidence": proof.text if proof else "",
        "fix": first.title if first else "", "change": first.change if first else "",
        "corrected_command": report.corrected_command, "incidents": report.incidents,
        "lines": report.input.lines, "bytes": report.input.bytes,
    }  # fmt: skip
