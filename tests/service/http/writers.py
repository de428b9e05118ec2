"""Clients that keep posting logs and remember what was acknowledged, to see whether it is there after a kill."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import httpx2


@dataclass(slots=True)
class Writers:
    """Threads that post until the service is gone. Every third log is one more occurrence of an incident before."""

    url: str
    log: bytes
    tag: str
    count: int = 4
    acknowledged: dict[str, int] = field(default_factory=dict)
    """Incidents that were answered with, and how many occurrences the service said there are."""
    answered: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin."""
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(self.count)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Wait until all have noticed that the service is gone."""
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        turn = 0
        with httpx2.Client(base_url=self.url, timeout=60) as client:
            while True:
                label = f"{self.tag}-{number}-{turn - turn % 3}"
                turn += 1
                try:
                    answer = client.post("/v1/triage", content=self.log, params={"service": label})
                except httpx2.TransportError:
                    return
                if answer.status_code != 200:
                    return
                incident: dict[str, Any] = answer.json()["incident"]
                self.acknowledged[incident["id"]] = incident["occurrences"]
                if len(self.acknowledged) >= 3 * self.count:
                    self.answered.set()


def lost(url: str, acknowledged: dict[str, int]) -> list[str]:
    """Return the incidents that the service does not know, or counts too few occurrences of."""
    found = []
    with httpx2.Client(base_url=url, timeout=60) as client:
        for name, occurrences in acknowledged.items():
            answer = client.get(f"/v1/incidents/{name}")
            if answer.status_code != 200 or answer.json()["incident"]["occurrences"] < occurrences:
                found.append(name)
    return found
