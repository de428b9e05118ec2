"""Incidents at rest: what failed, how often, since when, and what people said about the answers (SQLite, PostgreSQL)."""

from ..fingerprint import fingerprint
from .handling import Change
from .outbox import LaneFigures, Outbox
from .store import History
from .types import Filter, HistoryError

__all__ = ["Change", "Filter", "History", "HistoryError", "LaneFigures", "Outbox", "fingerprint"]
