"""The output contract as plain dictionaries: what JSON, HTTP, MCP and chat-ops carry (typed: report.py)."""

from __future__ import annotations

from typing import Any

from ...corpus.stages import STAGES
from ..advice.start_command import corrected
from .mask import mask, mask_lines, mask_value
from .types import Diagnosis, Evidence

TEXT = 2000
"""Characters of a log line that an answer shows."""

FIX = (
    "rank", "title", "kind", "option", "value", "change", "why", "cost", "safety", "restart", "root", "verify", "versions", "fixed_in", "source",
)  # fmt: skip
"""What an answer tells of a fix."""

SCHEMA_VERSION = "1.1"
"""Raised in its second number when fields are added, in its first when one changes or goes."""


def as_dict(answer: Diagnosis) -> dict[str, Any]:
    """Return the diagnosis by the output contract (docs/output.md), ready for JSON."""
    commands = corrected(answer)
    answer = without_secrets(answer)
    return {
        "schema_version": SCHEMA_VERSION,
        "bucket": answer.bucket,
        "cause": answer.cause,
        "confidence": answer.confidence,
        "decided_by": answer.decided_by,
        "title": answer.title,
        "summary": answer.summary,
        "evidence": [_evidence(item) for item in answer.evidence],
        "symptoms": [_evidence(item) for item in answer.symptoms],
        "chain": [_evidence(item) for item in answer.chain],
        "context": _context(answer.context),
        "alternatives": [{"bucket": bucket, "confidence": confidence} for bucket, confidence in answer.alternatives],
        "startup": {"reached": answer.reached, "stages": _stages(answer)},
        "facts": {name: value for name, value in answer.facts.items() if name != "command"},
        "fixes": [{name: getattr(fix, name) for name in FIX} for fix in answer.fixes],
        "corrected_command": answer.corrected_command,
        "corrected": commands,
        "incidents": len(answer.incidents),
        "confirm": answer.confirm,
        "refute": answer.refute,
        "notes": answer.notes,
        "input": {"lines": answer.lines, "bytes": answer.bytes},
    }


def without_secrets(answer: Diagnosis) -> Diagnosis:
    """Return a copy of an answer whose texts hold no secrets and no control characters (log lines: ``shown``)."""
    from dataclasses import replace

    facts = {name: mask_value(name, value) for name, value in answer.facts.items()}
    secrets = _secrets(answer.facts, facts)

    def ours(text: str) -> str:
        # Our own advice names variables for tokens; only what came from the log may be masked in it.
        for secret in secrets:
            text = text.replace(secret, "<secret>")
        return _printable(text)

    texts: dict[str, Any] = {
        name: _printable(mask(getattr(answer, name))) for name in ("title", "summary", "confirm", "refute")
    }
    # Line by line: in YAML the name of a secret may end one line, and the next begin with a key.
    texts["corrected_command"] = "\n".join(_printable(mask(line)) for line in answer.corrected_command.split("\n"))
    words = ("title", "value", "change", "why", "cost", "verify")
    told: list[dict[str, Any]] = [{name: ours(getattr(fix, name)) for name in words} for fix in answer.fixes]
    fixes = [replace(fix, **changed) for fix, changed in zip(answer.fixes, told, strict=True)]
    notes = [_printable(mask(note)) for note in answer.notes]
    return replace(answer, **texts, fixes=fixes, facts=facts, notes=notes)


def shown(text: str) -> str:
    """Return a log line as answers show it: no secrets, no control characters, not endless."""
    # Masked before it is cut: half a token is no longer told as one.
    return _cut(mask(_one_line(text)))


def _one_line(text: str) -> str:
    return _printable(text[: 2 * TEXT].replace("\n", " "))


def _cut(text: str) -> str:
    return (text if len(text) <= TEXT else text[:TEXT] + " …").rstrip()


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)


def _secrets(plain: Any, masked: Any) -> set[str]:
    """Return the values that masking took out of facts, tables walked."""
    if isinstance(plain, dict) and isinstance(masked, dict):
        return {secret for name, value in plain.items() for secret in _secrets(value, masked.get(name))}
    if isinstance(plain, (list, tuple)) and isinstance(masked, list):
        return {secret for value, other in zip(plain, masked, strict=False) for secret in _secrets(value, other)}
    # A command line is masked in parts; and a short value stands in many words.
    return {plain} if isinstance(plain, str) and plain != masked and 6 <= len(plain) <= 300 else set()


def _context(lines: list[Evidence]) -> list[dict[str, Any]]:
    texts = mask_lines(_one_line(item.text) for item in lines)
    return [
        {"line": item.line, "text": _cut(text), "process": item.process}
        for item, text in zip(lines, texts, strict=True)
    ]


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
