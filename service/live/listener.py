"""Takes what the reading process tells, and brings it to the screen, to programs, and to whoever waits for the end."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...classifier.serving.clock import span
from .screen import write_all
from .shape import MEMORY

if TYPE_CHECKING:
    from .shape import Event

PIECE = 1 << 16
"""Bytes read at a time."""

OPINION = 130.0
"""Seconds for which an opinion is waited for, once the answer stands; the endpoint has less."""


class Listener(threading.Thread):
    """A thread that reads events until the process that sends them ends.

    Args:
        source: File descriptor to read them from.
        say: Shows a text for people.
        events: File descriptor for programs, a JSON object on a line for each event; -1 for none.
        noticed: Is called with each event besides.
    """

    def __init__(
        self, source: int, say: Callable[[str], None], events: int = -1, noticed: Callable[[Event], None] | None = None
    ) -> None:
        super().__init__(name="listener", daemon=True)
        self._source, self._say, self._events, self._noticed = source, say, events, noticed
        self.row = Row()
        self.end: Event | None = None
        """The last event; None where the process ended before it came to that."""
        self.problem = ""
        """Why there is no answer."""

    def await_opinion(self, came: Callable[[float], bool]) -> None:
        """Wait for what a model says besides, behind the answer; ``came`` waits a moment and says whether to stop."""
        until = time.monotonic() + OPINION
        while self.is_alive() and time.monotonic() < until and not came(0.05):
            pass

    def run(self) -> None:
        """Listen."""
        buffer = b""
        while True:
            data = os.read(self._source, PIECE)
            if not data:
                break
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                self._take(json.loads(line))
        os.close(self._source)
        if self.end is None and not self.problem:
            self.problem = "the reading process ended early"

    def _take(self, event: Event) -> None:
        text = event.pop("text", "")
        kind = event["event"]
        if kind == "problem":
            self.problem = event["problem"]
            return
        self.row.take(event)
        self._tell_programs(event)
        # The text of the end waits until all that passed through is on the screen.
        if kind == "end":
            self.end = {**event, "text": text}
        elif text:
            self._say(text)
        if self._noticed is not None:
            self._noticed(event)

    def _tell_programs(self, event: Event) -> None:
        if self._events < 0:
            return
        try:
            write_all(self._events, json.dumps({"time": time.time(), **event}, ensure_ascii=False).encode() + b"\n")
        except OSError:
            self._events = -1


class Row:
    """What the status row says."""

    def __init__(self) -> None:
        self._stage, self._since, self._usual = "launch", time.monotonic(), 0.0
        self._facts: dict[str, Any] = {}
        self._sample = ""
        self._verdict = ""

    def take(self, event: Event) -> None:
        """Take in an event."""
        kind = event["event"]
        if kind == "stage":
            if event["stage"] != self._stage:
                self._verdict = self._verdict if "✖" in self._verdict else ""
                self._sample = ""
            self._stage, self._since, self._usual = event["stage"], event["since"], event["usual"]
            self._facts.update(event.get("facts", {}))
        elif kind == "statistics":
            usage = f", KV cache {event['kv_cache_usage']:.0f} %" if "kv_cache_usage" in event else ""
            tokens = f"{event['generation']:.0f} tokens/s"
            self._sample = f"{event['running']} running, {event['waiting']} waiting, {tokens}{usage}"
        elif kind in ("cause", "corrected"):
            self._verdict = f"✖ {event['report']['cause']}"
        elif kind == "withdrawn":
            self._verdict = ""
        elif kind == "standstill":
            self._verdict = "" if event["verdict"] == "moving" else f"{event['verdict']}!"

    def text(self, now: float) -> str:
        """Return the row as of ``now`` (seconds, monotonic)."""
        usual = f" (usually up to {span(self._usual)})" if self._usual >= 1 and not self._sample else ""
        memory = [shape.format(self._facts[name]) for name, shape in MEMORY.items() if _number(self._facts.get(name))]
        parts = [f"{self._stage} {span(max(0.0, now - self._since))}{usual}", self._verdict, self._sample, *memory]
        return " vllm-triage · " + " · ".join(part for part in parts if part)


def open_events(path: str) -> int:
    """Return a file descriptor for events; ``-`` is standard error.

    Raises:
        OSError: It cannot be opened.
    """
    if path == "-":
        return 2
    file = Path(path)
    # A named pipe that nobody reads is told now; waiting for a reader would hold the server up.
    flags = os.O_NONBLOCK if file.is_fifo() else os.O_CREAT
    opened = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | flags, 0o600)
    os.set_blocking(opened, True)
    return opened


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
