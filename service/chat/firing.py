"""Which alerts fire, and which incidents they are about: in the history, or, for a service without one, in this process."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..history import History

LIMIT = 100_000
"""Alerts that one process remembers; those counted longest ago are forgotten first."""


class Firing:
    """Alerts that fire. Methods raise ``HistoryError`` where the history is away: alerts wait in the outbox then, and come again.

    Args:
        history: None without one.
        window_seconds: An alert that is reported again within so long is no new occurrence.
        forget: Ends the window of an incident.
        clock: Seconds, for tests.
    """

    def __init__(
        self,
        history: History | None,
        window_seconds: float,
        forget: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._history = history
        self._window = window_seconds
        self._forget = forget
        self._clock = clock
        self._lock = threading.Lock()
        self._alerts: OrderedDict[str, _Alert] = OrderedDict()
        self._numbers: dict[str, int] = {}

    def known(self, alerts: Sequence[str]) -> set[str]:
        """Return those alerts that fire, and were counted within a window."""
        if self._history is not None:
            return self._history.alerts_known(alerts, self._window)
        after = self._clock() - self._window
        with self._lock:
            return {alert for alert in alerts if (own := self._alerts.get(alert)) and own.counted > after}

    def note(self, alerts: dict[str, tuple[str, bool]]) -> None:
        """Note alerts that fire: each with the incident that it is about, and whether it was counted just now."""
        if self._history is not None:
            self._history.alerts_fire(alerts)
            return
        with self._lock:
            for alert, (incident, counted) in alerts.items():
                if counted:
                    self._remove(alert)
                    self._alerts[alert] = _Alert(incident, self._clock())
                    self._numbers[incident] = self._numbers.get(incident, 0) + 1
            while len(self._alerts) > LIMIT:
                self._remove(next(iter(self._alerts)))

    def end(self, alert: str) -> str | None:
        """Note the end of an alert; with the last one of an incident, the window ends in which it is told once.

        Returns:
            The incident, where this was its last alert; empty where others still fire; None where the alert is not known.
        """
        if self._history is not None:
            return self._history.alert_ends(alert)
        with self._lock:
            incident = self._remove(alert)
            if incident is None or incident in self._numbers:
                return None if incident is None else ""
        self._forget(incident)
        return incident

    def _remove(self, alert: str) -> str | None:
        own = self._alerts.pop(alert, None)
        if own is None:
            return None
        self._numbers[own.incident] -= 1
        if not self._numbers[own.incident]:
            del self._numbers[own.incident]
        return own.incident


@dataclass(frozen=True, slots=True)
class _Alert:
    incident: str
    counted: float
