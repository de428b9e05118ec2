"""Delivers the letters of one target: one by one up to a number a minute, what is beyond together, as a digest."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from .backoff import backoff
from .interface import ALERTS, Brief, Event, Gathering, Outgoing, RetryError, UndeliverableError
from .letters import unpack_event
from .settings import NotifySettings

if TYPE_CHECKING:
    from ..history import Outbox
    from ..letter import Taken
    from .deduplicate import Once

log = logging.getLogger("vllm_triage.chat")

AT_ONCE = 2000
"""Letters that are taken at a time: what one digest tells."""
FLOOD = 5
"""For so many times ``digest_seconds`` at most a digest waits for the alerts that are still being read."""


class Courier:
    """Delivers to one target.

    Args:
        target: Where messages go.
        outbox: Where letters wait.
        settings: How messages are delivered.
        once: Counts, of all processes together.
        counted: Told every outcome, and of how many messages.
        delivered: Told every event that went out as a message of its own.
        gathered: Told the keys of those that a digest told.
    """

    def __init__(  # noqa: PLR0913 - what it works with, and whom it tells
        self,
        target: Outgoing,
        outbox: Outbox,
        settings: NotifySettings,
        once: Once,
        counted: Callable[[str, str, int], None],
        delivered: Callable[[Event], None],
        gathered: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> None:
        self._target = target
        self._outbox = outbox
        self._settings = settings
        self._once = once
        self._counted = counted
        self._delivered = delivered
        self._gathered = gathered

    def work(self, letters: list[Taken]) -> None:
        """Deliver letters, the oldest first; where the target does not answer, all that are left wait."""
        together = [letter for letter in letters if letter.gathered]
        alone = [letter for letter in letters if not letter.gathered]
        if together and self._more_is_coming(together):
            self._put_off(together, self._settings.digest_seconds / 4)
        elif together and not self._deliver(together):
            self._wait(alone)
            return
        alone = self._join(alone)
        for at, letter in enumerate(alone):
            if letter.attempts == 1 and not self._room():
                # Those that were tried before may go on their own: they were counted then.
                self._gather([other for other in alone[at:] if other.attempts == 1])
                self._wait([other for other in alone[at:] if other.attempts > 1])
                return
            if not self._deliver([letter]):
                self._wait(alone[at + 1 :])
                return

    def _more_is_coming(self, letters: list[Taken]) -> bool:
        """Return whether a digest waits a while: alerts are still being read, and people want one message about all of them."""
        begun = min(letter.at for letter in letters)
        longest = timedelta(seconds=FLOOD * self._settings.digest_seconds)
        return datetime.now(UTC) - begun < longest and self._outbox.waits(ALERTS)

    def _join(self, letters: list[Taken]) -> list[Taken]:
        """Have new letters told with those that are kept back already; return the others."""
        if not letters or not isinstance(self._target, Gathering):
            return letters
        kept = self._outbox.gathering(self._target.name)
        joining = [letter for letter in letters if letter.attempts == 1]
        if kept is None or not joining:
            return letters
        self._gather(joining, kept[1])
        return [letter for letter in letters if letter.attempts > 1]

    def _room(self) -> bool:
        """Return whether one more message may go to the target in this period; programs take all there are."""
        if not isinstance(self._target, Gathering):
            return True
        period = self._settings.digest_seconds
        key = f"sent:{self._target.name}:{int(time.time() // period)}"
        return self._once(key, 2 * period)[1] <= self._settings.digest_after

    def _gather(self, letters: list[Taken], end: datetime | None = None) -> None:
        period = self._settings.digest_seconds
        end = end or datetime.fromtimestamp((time.time() // period + 1) * period, UTC)
        self._outbox.later([letter.number for letter in letters], end, untried=True, gathered=True)
        self._counted(self._target.name, "gathered", len(letters))

    def _wait(self, letters: list[Taken]) -> None:
        """Leave letters for later, untried."""
        if letters:
            self._put_off(letters, self._settings.backoff_seconds)

    def _put_off(self, letters: list[Taken], seconds: float) -> None:
        due = datetime.now(UTC) + timedelta(seconds=seconds)
        self._outbox.later([letter.number for letter in letters], due, untried=True)

    def _deliver(self, letters: list[Taken]) -> bool:
        """Deliver letters as one message; return whether the target is there for more."""
        numbers = [letter.number for letter in letters]
        attempts = max(letter.attempts for letter in letters)
        told: list[Brief] = []
        keys: list[str] = []
        sent: list[Event] = []
        try:
            if len(letters) > 1 and isinstance(self._target, Gathering):
                for letter in letters:
                    # One at a time: thousands of reports are tens of megabytes.
                    event = unpack_event(letter.body)
                    told.append(Brief.of(event))
                    keys.append(event.key)
                self._target.digest(told)
            else:
                sent = [unpack_event(letter.body) for letter in letters]
                for event in sent:
                    self._target.send(event)
        except RetryError as error:
            if attempts >= self._settings.attempts:
                self._give_up(letters, str(error), attempts)
                return True
            delay = backoff(attempts, self._settings, error.after)
            self._outbox.later(numbers, datetime.now(UTC) + timedelta(seconds=delay))
            self._counted(self._target.name, "retried", 1)
            return False
        except UndeliverableError as error:
            self._give_up(letters, str(error), attempts)
        except Exception as error:  # noqa: BLE001 - a broken target must not go unnoticed, nor quote what it was sent
            self._give_up(letters, type(error).__name__, attempts)
        else:
            self._outbox.done(numbers)
            if told:
                self._counted(self._target.name, "digest", 1)
                self._gathered(keys)
            else:
                self._counted(self._target.name, "sent", len(sent))
                for event in sent:
                    self._delivered(event)
        return True

    def _give_up(self, letters: list[Taken], reason: str, attempts: int) -> None:
        self._outbox.give_up([letter.number for letter in letters], reason)
        self._counted(self._target.name, "dead", len(letters))
        for letter in letters:
            log.error(
                "message %s to %s is undeliverable after %d attempts: %s",
                letter.id,
                self._target.name,
                attempts,
                reason,
            )
