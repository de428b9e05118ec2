"""Incidents at rest: what failed, how often, since when, and what people said about the answers (SQLite, PostgreSQL)."""

from .fingerprint import fingerprint
from .outbox import LaneFigures, Letter, Outbox, Taken
from .store import History
from .types import Filter, HistoryError

__all__ = ["Filter", "History", "HistoryError", "LaneFigures", "Letter", "Outbox", "Taken", "fingerprint"]
