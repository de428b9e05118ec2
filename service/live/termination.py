"""The verdict in short, for the file that Kubernetes shows as a container's termination message."""

from __future__ import annotations

import os
from typing import Any

SIZE = 4096
"""Bytes that Kubernetes takes."""


def leave(path: str, report: dict[str, Any]) -> str:
    """Write the verdict; return what went wrong, "" where nothing did."""
    try:
        # Kubernetes makes the file; it may be a mount that cannot be replaced.
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(file, short(report))
        finally:
            os.close(file)
    except OSError as error:
        return f"{path}: the termination message cannot be written ({error.strerror})"
    return ""


def short(report: dict[str, Any]) -> bytes:
    """Return title, cause, the line that proves it, the best fix and the corrected command, in ``SIZE`` bytes at most."""
    lines = [f"{report['title']}  [{report['cause']}, {report['confidence']:.0%}]"]
    lines += [f"line {item['line']}: {item['text'][:600]}" for item in report.get("evidence", [])[:1]]
    if summary := report.get("summary"):
        lines.append(str(summary)[:1200])
    if fixes := report.get("fixes"):
        lines.append(f"fix: {fixes[0]['title']}: {fixes[0]['change'][:600]}")
    if command := report.get("corrected_command"):
        lines.append(f"corrected: {command[:1000]}")
    return "\n".join(lines).encode()[:SIZE].decode("utf-8", "ignore").encode()
