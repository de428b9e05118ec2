"""Delivers messages about incidents: counted, once per window, tried again, never in the way of a request."""

from __future__ import annotations

import logging
import random
import threading
import time
import uuid
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from .deduplicate import Once
from .interface import BusyError, Event, Outgoing, RetryError, UndeliverableError
from .settings import NotifySettings
from .work_queue import Background

log = logging.getLogger("vllm_triage.chat")

_REMEMBERED = 10_000


@dataclass
class _Pending:
    """Events of one incident that are not counted yet; equal ones take no more room than one."""

    event: Event
    new: int = 0
    repeated: int = 0


class Notifier:
    """Tells every target about an incident once per window, and how often it happened since.

    Every target has a queue and a thread of its own: one that does not answer keeps no other waiting.
    """

    def __init__(self, settings: NotifySettings, once: Once, targets: Iterable[Outgoing]) -> None:
        self._settings = settings
        self._once = once
        self._counting = Background("chat-count", settings.queue)
        self._lanes = [(target, Background(f"chat-{target.name}", settings.queue)) for target in targets]
        self._lock = threading.Lock()
        self._pending: dict[str, _Pending] = {}
        self._latest: OrderedDict[str, Event] = OrderedDict()
        self._updates: set[tuple[int, str]] = set()
        self.figures: Counter[tuple[str, str]] = Counter()
        """(target, outcome) to number: ``sent``, ``updated``, ``retried``, ``dead``, ``refused``."""

    @property
    def active(self) -> bool:
        """Whether there is any target."""
        return bool(self._lanes)

    @property
    def waiting(self) -> int:
        """How many messages wait."""
        return self._counting.waiting + sum(lane.waiting for _, lane in self._lanes)

    def notify(self, event: Event, *, repeated: bool = False) -> None:
        """Tell of an event; returns at once.

        Args:
            event: What happened; ``key`` says what it is counted by.
            repeated: The same report of the same event came again: it does not make a new occurrence.
        """
        if not self._lanes:
            return
        with self._lock:
            pending = self._pending.get(event.key)
            if pending is None:
                if len(self._pending) >= self._settings.queue:
                    self.figures["", "refused"] += 1
                    return
                pending = self._pending[event.key] = _Pending(event)
                try:
                    self._counting.submit(lambda: self._count(event.key))
                except BusyError:
                    del self._pending[event.key]
                    self.figures["", "refused"] += 1
                    return
            pending.event = event
            pending.repeated += repeated
            pending.new += not repeated

    def resolve(self, key: str) -> None:
        """End the window of an incident: targets are told, and the next event is a new message."""
        if not self._lanes:
            return

        def end() -> None:
            self._once.forget(key)
            with self._lock:
                event = self._latest.pop(key, None)
            if event is not None:
                self._update(replace(event, resolved=True))

        self._counting.submit(end, urgent=True)

    def close(self) -> None:
        """Deliver what waits within the time that the settings give."""
        deadline = time.monotonic() + self._settings.drain_seconds
        undone = self._counting.close(self._settings.drain_seconds)
        for target, lane in self._lanes:
            left = lane.close(max(0.0, deadline - time.monotonic()))
            self.figures[target.name, "dead"] += left
            undone += left
        if undone:
            log.warning("stopped with %d messages undelivered", undone)

    def _count(self, key: str) -> None:
        with self._lock:
            pending = self._pending.pop(key)
            before = self._latest.get(key)
        window = self._settings.window_seconds
        first, count = False, before.recurrence if before else 1
        if pending.new:
            first, count = self._once(key, window, pending.new)
        # Repetitions are counted by each process for itself: a number beside the one that matters.
        repeated = pending.repeated + (before.received - before.recurrence if before and not first else 0)
        received = count + repeated
        event = replace(pending.event, recurrence=count, received=received)
        if first:
            event = replace(event, id=f"msg_{uuid.uuid4().hex}")
        elif before:
            event = replace(event, id=before.id)
        with self._lock:
            self._latest[key] = event
            self._latest.move_to_end(key)
            while len(self._latest) > _REMEMBERED:
                self._latest.popitem(last=False)
        if first:
            for number, (target, lane) in enumerate(self._lanes):
                if target.wants(event):
                    self._submit(number, target, lane, event)
        else:
            self._update(event)

    def _submit(self, number: int, target: Outgoing, lane: Background, event: Event) -> None:
        try:
            lane.submit(lambda: self._deliver(number, target, lane, event, 1))
        except BusyError:
            self._dead(target, event, "queue_full", 0)

    def _deliver(self, number: int, target: Outgoing, lane: Background, event: Event, attempt: int) -> None:
        settings = self._settings
        try:
            target.send(event)
        except RetryError as error:
            if attempt >= settings.attempts or lane.closing:
                self._dead(target, event, str(error), attempt)
                return
            self.figures[target.name, "retried"] += 1
            delay = backoff(attempt, settings, error.after)
            lane.submit(lambda: self._deliver(number, target, lane, event, attempt + 1), delay, urgent=True)
        except UndeliverableError as error:
            self._dead(target, event, str(error), attempt)
        except Exception as error:  # noqa: BLE001 - a broken target must not go unnoticed, nor quote what it was sent
            self._dead(target, event, type(error).__name__, attempt)
        else:
            self.figures[target.name, "sent"] += 1
            with self._lock:
                latest = self._latest.get(event.key)
            # What was counted while the message was on its way.
            if latest and latest.id == event.id and latest.recurrence != event.recurrence:
                self._update(latest)

    def _dead(self, target: Outgoing, event: Event, reason: str, attempts: int) -> None:
        self.figures[target.name, "dead"] += 1
        log.error("message %s to %s is undeliverable after %d attempts: %s", event.id, target.name, attempts, reason)

    def _update(self, event: Event) -> None:
        for number, (target, lane) in enumerate(self._lanes):
            with self._lock:
                if (number, event.key) in self._updates and not event.resolved:
                    continue
                self._updates.add((number, event.key))
            delay = 0 if event.resolved else self._settings.update_seconds
            try:
                lane.submit(lambda n=number, t=target: self._show(n, t, event), delay, urgent=event.resolved)  # type: ignore[misc]
            except BusyError:
                with self._lock:
                    self._updates.discard((number, event.key))

    def _show(self, number: int, target: Outgoing, event: Event) -> None:
        with self._lock:
            self._updates.discard((number, event.key))
            if not event.resolved:
                event = self._latest.get(event.key, event)
        try:
            target.again(event)
        except (RetryError, UndeliverableError) as error:
            # The next one shows the count as well.
            log.warning("counter of message %s at %s not updated: %s", event.id, target.name, error)
        else:
            self.figures[target.name, "updated"] += 1


def backoff(attempt: int, settings: NotifySettings, asked: float | None) -> float:
    """Return the seconds until the next try: doubled every time, with jitter, and no sooner than the receiver asked."""
    limit: float = min(settings.backoff_limit_seconds, settings.backoff_seconds * 2 ** (attempt - 1))
    # Half of it fixed: many messages that failed at one time do not come back at one time, nor at once.
    delay: float = limit / 2 + random.uniform(0, limit / 2)  # noqa: S311 - no secret
    return max(delay, min(asked or 0.0, settings.backoff_limit_seconds))
