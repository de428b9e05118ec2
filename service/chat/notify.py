"""Delivers messages about incidents: counted, once per window, tried again, never in the way of a request."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..letter import Letter
from .backoff import backoff
from .courier import AT_ONCE, Courier
from .deduplicate import Claim, Once
from .interface import BusyError, Event, Outgoing, RetryError, UndeliverableError, new_id, second_opinion
from .lanes import Lane
from .letters import pack_event, unpack_event
from .settings import NotifySettings
from .targets import Target
from .work_queue import Background

if TYPE_CHECKING:
    from ..history import Outbox

log = logging.getLogger("vllm_triage.chat")

_REMEMBERED = 10_000
"""Incidents whose message may still be brought up to date."""


@dataclass
class _Pending:
    """Events of one incident that are not counted yet; equal ones take no more room than one."""

    event: Event
    new: int = 0
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class _Counted:
    """The latest event of an incident, as far as its message may have to be brought up to date."""

    id: str
    recurrence: int
    received: int
    body: bytes
    """The event, packed, for there may be thousands; empty where it was told with others: there is no message of its own."""
    alone: bool = False
    """Whether a message of its own went out."""
    opinion: bool = False
    """Whether a second opinion came to it."""

    @classmethod
    def of(cls, event: Event, before: _Counted | None) -> _Counted:
        same = before is not None and before.id == event.id
        alone, opinion = (before.alone, before.opinion) if before is not None and same else (False, False)
        return cls(event.id, event.recurrence, event.received, pack_event(event), alone, opinion)


class Notifier:
    """Tells every target about an incident once per window, and how often it happened since.

    Messages go through the outbox of the history, where there is one; without, and while it is away, through a queue in
    memory. Every target has threads of its own: one that does not answer keeps no other waiting.

    Args:
        settings: How messages are delivered.
        once: Counts incidents in their windows.
        targets: Where messages go.
        outbox: Where letters wait; None without a history.
        counted: Told every outcome: target, outcome, number of messages.
        muted: Whether an incident is muted now; asked when a window begins.
    """

    def __init__(
        self,
        settings: NotifySettings,
        once: Once,
        targets: Iterable[Outgoing],
        outbox: Outbox | None = None,
        counted: Callable[[str, str, int], None] = lambda *_: None,
        muted: Callable[[Event], bool] = lambda _: False,
    ) -> None:
        self._settings = settings
        self._once = once
        self._told = counted
        self._muted = muted
        self._counting = Background("chat-count", settings.queue)
        self._lanes = [(target, Background(f"chat-{target.name}", settings.queue)) for target in targets]
        self._lock = threading.Lock()
        # One count at a time: a later one must not be overwritten by an earlier one.
        self._counts = threading.Lock()
        self._pending: dict[str, _Pending] = {}
        self._latest: OrderedDict[str, _Counted] = OrderedDict()
        self._updates: set[tuple[int, str]] = set()
        self.figures: Counter[tuple[str, str]] = Counter()
        """(target, outcome) to number: ``sent``, ``digest``, ``gathered``, ``updated``, ``retried``, ``dead``, ``refused``."""
        self._mail: list[Lane] = []
        if outbox is not None:
            for target, _ in self._lanes:
                courier = Courier(target, outbox, settings, once, self._counted, self._delivered, self._gathered)
                self._mail.append(Lane(outbox, target.name, courier.work, AT_ONCE))

    def start(self) -> None:
        """Begin to deliver what an earlier process has left."""
        for lane in self._mail:
            lane.start()

    def _counted(self, target: str, outcome: str, number: int = 1) -> None:
        self.figures[target, outcome] += number
        self._told(target, outcome, number)

    @property
    def active(self) -> bool:
        """Whether there is any target."""
        return bool(self._lanes)

    @property
    def waiting(self) -> int:
        """How many messages wait."""
        held = self._counting.waiting + sum(lane.waiting for _, lane in self._lanes)
        return held + sum(lane.busy for lane in self._mail)

    def notify(self, event: Event, *, repeated: bool = False) -> None:
        """Send messages about an event; returns at once.

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
                    self._refused()
                    return
                pending = self._pending[event.key] = _Pending(event)
                try:
                    self._counting.submit(lambda: self._count_pending(event.key))
                except BusyError:
                    del self._pending[event.key]
                    self._refused()
                    return
            pending.event = event
            pending.repeated += repeated
            pending.new += not repeated

    def fresh(self, event: Event) -> bool:
        """Return whether an event may be the first of its window, as far as this process knows."""
        with self._lock:
            return bool(self._lanes) and event.key not in self._latest

    def tell(self, event: Event, new: int = 1, repeated: int = 0) -> None:
        """Send messages about an event that happened ``new`` times, and was reported ``repeated`` times more.

        Returns when its messages are written down, where there is a history.
        """
        if self._lanes:
            with self._counts:
                self._count([_Pending(event, new, repeated)])

    def tell_each(self, events: Sequence[tuple[Event, int, int]]) -> None:
        """Send messages about several events, with one transaction for all of them.

        Raises:
            HistoryError: The history is away, and nothing was told: what came through the outbox waits there.
        """
        if self._lanes and events:
            with self._counts:
                self._count([_Pending(event, new, repeated) for event, new, repeated in events], strict=True)

    def _refused(self) -> None:
        self._counted("", "refused")
        log.error("a message is lost: more than %d wait for the history", self._settings.queue)

    def resolve(self, key: str) -> None:
        """Tell the targets that an incident is over: its window has ended, the next event is a new message."""
        if not self._lanes:
            return

        def end() -> None:
            with self._lock:
                latest = self._latest.pop(key, None)
            if latest is not None and latest.body:
                self._update(replace(unpack_event(latest.body), resolved=True))

        self._counting.submit(end, urgent=True)

    def consider(self, event: Event) -> None:
        """Send a second opinion whose fix stands first to targets whose messages cannot be changed; others show it in later messages."""
        with self._lock:
            latest = self._latest.get(event.key)
            if latest is None or not latest.body or latest.opinion:
                return
            told = replace(unpack_event(latest.body), report=event.report)
            self._latest[event.key] = replace(latest, body=pack_event(told), opinion=True)
        told = replace(told, id=new_id("msg"), note=second_opinion(event.report))
        for number, (target, lane) in enumerate(self._lanes):
            if told.note and isinstance(target, Target) and target.wants(told):
                self._submit(number, target, lane, told)

    def close(self) -> None:
        """Deliver what waits within the time that the settings give."""
        deadline = time.monotonic() + self._settings.drain_seconds
        undone = self._counting.close(self._settings.drain_seconds)
        for mail in self._mail:
            mail.close(max(0.1, deadline - time.monotonic()))
        for target, lane in self._lanes:
            left = lane.close(max(0.0, deadline - time.monotonic()))
            if left:
                self._counted(target.name, "dead", left)
            undone += left
        if undone:
            log.warning("stopped with %d messages undelivered", undone)

    def _count_pending(self, key: str) -> None:
        with self._lock:
            pending = self._pending.pop(key)
        with self._counts:
            self._count([pending])

    def _count(self, events: Sequence[_Pending], *, strict: bool = False) -> None:
        happened = [pending for pending in events if pending.new]
        told = [
            replace(pending.event, id=new_id("msg"), recurrence=pending.new, received=pending.new + pending.repeated)
            for pending in happened
        ]
        letters = (lambda at: self._letters(told[at])) if self._mail else None
        claimed = [(pending.event.key, pending.new) for pending in happened]
        window = self._settings.window_seconds
        claims = iter(self._once.claim_each(claimed, window, letters, strict=strict) if claimed else ())
        ids = iter(told)
        for pending in events:
            claim, event_id = (next(claims), next(ids).id) if pending.new else (None, "")
            self._counted_now(pending, claim, event_id)

    def _counted_now(self, pending: _Pending, claim: Claim | None, event_id: str) -> None:
        """Note the count of an event, and tell of it.

        Args:
            pending: The event.
            claim: What became of its claim; None where it only was reported again.
            event_id: Of its message, where it is the first of its window.
        """
        key = pending.event.key
        with self._lock:
            before = self._latest.get(key)
        claim = claim or Claim(first=False, count=before.recurrence if before else 1, kept=False)
        # Repetitions are counted by each process for itself: a number beside the one that matters.
        repeated = pending.repeated + (before.received - before.recurrence if before and not claim.first else 0)
        event = replace(pending.event, recurrence=claim.count, received=claim.count + repeated)
        if claim.first:
            event = replace(event, id=event_id)
        elif before:
            event = replace(event, id=before.id)
        gathered = before is not None and before.id == event.id and not before.body
        counted = _Counted(event.id, event.recurrence, event.received, b"") if gathered else _Counted.of(event, before)
        with self._lock:
            self._latest[key] = counted
            self._latest.move_to_end(key)
            while len(self._latest) > _REMEMBERED:
                self._latest.popitem(last=False)
        if gathered:
            return
        if not claim.first:
            self._update(event)
        elif claim.kept:
            for mail in self._mail:
                mail.wake()
        else:
            for number, (target, lane) in enumerate(self._lanes):
                if target.wants(event):
                    self._submit(number, target, lane, event)

    def _letters(self, event: Event) -> list[Letter]:
        if self._muted(event):
            self._counted("", "muted")
            return []
        body = pack_event(event)
        return [Letter(target.name, event.id, body) for target, _ in self._lanes if target.wants(event)]

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
            self._counted(target.name, "retried")
            delay = backoff(attempt, settings, error.after)
            lane.submit(lambda: self._deliver(number, target, lane, event, attempt + 1), delay, urgent=True)
        except UndeliverableError as error:
            self._dead(target, event, str(error), attempt)
        except Exception as error:  # noqa: BLE001 - a broken target must not go unnoticed, nor quote what it was sent
            self._dead(target, event, type(error).__name__, attempt)
        else:
            self._counted(target.name, "sent")
            self._delivered(event)

    def _delivered(self, event: Event) -> None:
        with self._lock:
            latest = self._latest.get(event.key)
            if latest is None or latest.id != event.id:
                return
            shown = replace(event, recurrence=latest.recurrence, received=latest.received)
            latest = self._latest[event.key] = replace(latest, body=latest.body or pack_event(shown), alone=True)
        # What was counted while the message was on its way.
        if latest.recurrence != event.recurrence:
            self._update(unpack_event(latest.body))

    def _gathered(self, keys: Sequence[str]) -> None:
        with self._lock:
            for key in keys:
                latest = self._latest.get(key)
                if latest is not None and not latest.alone:
                    self._latest[key] = replace(latest, body=b"")

    def _dead(self, target: Outgoing, event: Event, reason: str, attempts: int) -> None:
        self._counted(target.name, "dead")
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
            latest = None if event.resolved else self._latest.get(event.key)
        if latest is not None and latest.body:
            event = unpack_event(latest.body)
        try:
            target.again(event)
        except (RetryError, UndeliverableError) as error:
            # The next one shows the count as well.
            log.warning("counter of message %s at %s not updated: %s", event.id, target.name, error)
        else:
            self._counted(target.name, "updated")
