"""The answer as everything shows it, with its secrets masked."""

from __future__ import annotations

from .model import Report

__all__ = ["Report", "to_json"]


def to_json(report: Report) -> str:
    """Return a report as JSON, on one line."""
    return report.to_json()
