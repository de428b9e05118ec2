"""The output contract as plain dictionaries: what JSON, HTTP, MCP and chat-ops carry (typed: report.py)."""

from __future__ import annotations

from typing import Any

from .command import corrected
from .mask import mask, mask_value
from .model import STAGES, Diagnosis, Evidence

TEXT = 2000
"""Characters of a log line that an answer shows."""

SCHEMA_VERSION = "1.0"
"""Raised in its second number when fields are added, in its first when one changes or goes."""


def as_dict(answer: Diagnosis) -> dict[str, Any]:
    """Return the diagnosis by the output contract (docs/output.md), ready for JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "bucket": answer.bucket,
        "cause": answer.cause,
        "confidence": answer.confidence,
        "decided_by": answer.decided_by,
        "title": mask(answer.title),
        "summary": mask(answer.summary),
        "evidence": [_evidence(item) for item in answer.evidence],
        "symptoms": [_evidence(item) for item in answer.symptoms],
        "chain": [_evidence(item) for item in answer.chain],
        "alternatives": [{"bucket": bucket, "confidence": confidence} for bucket, confidence in answer.alternatives],
        "startup": {"reached": answer.reached, "stages": _stages(answer)},
        "facts": {name: mask_value(name, value) for name, value in answer.facts.items() if name != "command"},
        "fixes": [
            {
                "rank": fix.rank, "title": mask(fix.title), "kind": fix.kind, "option": fix.option,
                "value": mask(fix.value), "change": mask(fix.change), "why": mask(fix.why), "cost": mask(fix.cost),
                "safety": fix.safety, "verify": mask(fix.verify), "versions": fix.versions, "source": fix.source,
            }
            for fix in answer.fixes
        ],
        "corrected_command": mask(answer.corrected_command),
        "corrected": corrected(answer),
        "incidents": len(answer.incidents),
        "confirm": mask(answer.confirm),
        "refute": mask(answer.refute),
        "notes": [mask(note) for note in answer.notes],
        "input": {"lines": answer.lines, "bytes": answer.bytes},
    }  # fmt: skip


def without_secrets(answer: Diagnosis) -> Diagnosis:
    """Return a copy of an answer, masked where it holds the log's own words (log lines: ``shown``)."""
    from dataclasses import replace

    texts = {name: mask(getattr(answer, name)) for name in ("title", "summary", "confirm", "refute")}
    # Line by line: in YAML the name of a secret may end one line, and the next begin with a key.
    texts["corrected_command"] = "\n".join(mask(line) for line in answer.corrected_command.split("\n"))
    words = ("title", "value", "change", "why", "cost", "verify")
    fixes = [replace(fix, **{name: mask(getattr(fix, name)) for name in words}) for fix in answer.fixes]
    facts = {name: mask_value(name, value) for name, value in answer.facts.items()}
    return replace(answer, **texts, fixes=fixes, facts=facts, notes=[mask(note) for note in answer.notes])


def shown(text: str) -> str:
    """Return a log line as answers show it: no secrets, no control characters, not endless."""
    # Masked before it is cut: half a token is no longer told as one.
    text = mask("".join(character if character.isprintable() else " " for character in text[: 2 * TEXT]))
    return (text if len(text) <= TEXT else text[:TEXT] + " …").rstrip()


def _evidence(item: Evidence) -> dict[str, Any]:
    return {"line": item.line, "text": shown(item.text), "process": item.process, "count": item.count}


def _stages(answer: Diagnosis) -> list[dict[str, Any]]:
    spans = sorted(answer.stages, key=lambda span: (span.line, STAGES.index(span.stage)))
    return [
        {
            "stage": span.stage,
            "line": span.line,
            **({"time": span.time} if span.time else {}),
            **({"seconds": span.seconds} if span.seconds is not None else {}),
        }
        for span in spans
    ]
