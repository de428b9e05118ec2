"""Incidents at rest: what failed, how often, since when, and what people said about the answers (SQLite, PostgreSQL)."""

from .fingerprint import fingerprint
from .store import History
from .types import Count, Counts, Feedback, Filter, HistoryError, Incident, Occurrence, Page, Stored

__all__ = [
    "Count",
    "Counts",
    "Feedback",
    "Filter",
    "History",
    "HistoryError",
    "Incident",
    "Occurrence",
    "Page",
    "Stored",
    "fingerprint",
]
