"""Alerts on their way from the receiver to the work: through the outbox, or through memory where there is no history."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from ..letter import Letter
from .backoff import backoff
from .interface import ALERTS, BusyError, ChatContext
from .lanes import LED, Lane
from .settings import NotifySettings

if TYPE_CHECKING:
    from ..history import Outbox
    from ..letter import Taken

log = logging.getLogger("vllm_triage.chat")

TRIES = 20
"""Attempts at a letter that ends with an error of our own."""
TAKEN = 64
"""Letters that are taken at a time. In a storm most hold one alert."""
TOGETHER = 128 << 10
"""Bytes of letters, packed, that are handled together: what is written for them is written once."""


class Alerts:
    """Keeps alerts and has them handled in order.

    Args:
        context: Has ``work_off_alerts``.
        outbox: None without a history: alerts then wait in memory, as many as fit.
        settings: For delays.
    """

    def __init__(self, context: ChatContext, outbox: Outbox | None, settings: NotifySettings) -> None:
        self._context = context
        self._outbox = outbox
        self._settings = settings
        self._lane = Lane(outbox, ALERTS, self._work, TAKEN, alone=True) if outbox is not None else None

    @property
    def busy(self) -> bool:
        """Whether alerts are worked on."""
        return self._lane is not None and self._lane.busy

    def start(self) -> None:
        """Begin with what an earlier process has left."""
        if self._lane is not None:
            self._lane.start()

    def take_in(self, letters: Sequence[Letter]) -> None:
        """Keep letters; they are durable when this returns, where there is a history.

        Raises:
            HistoryError: They could not be written.
            BusyError: There is no history, and too much waits.
        """
        if self._outbox is not None and self._lane is not None:
            self._outbox.put(letters)
            self._lane.wake()
            return
        for letter in letters:
            self._context.run_in_background(partial(self._work_off, letter.body))

    def close(self, seconds: float) -> None:
        """End after the letter that is worked on."""
        if self._lane is not None:
            self._lane.close(seconds)

    def _work_off(self, body: bytes) -> None:
        self._context.work_off_alerts([body])

    def _work(self, letters: list[Taken]) -> None:
        # What is not begun by then goes back: the lane is led for a time.
        end = time.monotonic() + LED * 2 / 3
        left = deque(letters)
        while left:
            some = [left.popleft()]
            size = len(some[0].body)
            while left and size + len(left[0].body) <= TOGETHER:
                some.append(left.popleft())
                size += len(some[-1].body)
            self._work_together(some)
            if left and time.monotonic() > end:
                self._put_off([letter.number for letter in left], timedelta(), untried=True)
                return

    def _work_together(self, letters: list[Taken]) -> None:
        try:
            self._context.work_off_alerts([letter.body for letter in letters])
        except BusyError:
            for letter in letters:
                self._later(letter)
        except Exception as error:
            if _away(error):
                # They are due again by themselves. Nothing is wrong with them.
                raise
            # What is wrong with one letter must not stop the others.
            if len(letters) > 1:
                for letter in letters:
                    self._work_together([letter])
                return
            self._failed(letters[0], type(error).__name__)
        else:
            self._kept.done([letter.number for letter in letters])

    def _failed(self, letter: Taken, kind: str) -> None:
        # The message of an error may quote what was sent.
        log.error("alerts %s failed: %s", letter.id, kind)
        if letter.attempts < TRIES:
            self._later(letter)
        else:
            self._kept.give_up([letter.number], kind)
            self._context.counted(ALERTS, "dead", 1)

    def _later(self, letter: Taken) -> None:
        self._put_off([letter.number], timedelta(seconds=backoff(letter.attempts, self._settings, None)))
        self._context.counted(ALERTS, "retried", 1)

    def _put_off(self, numbers: list[int], by: timedelta, *, untried: bool = False) -> None:
        self._kept.later(numbers, datetime.now(UTC) + by, untried=untried)

    @property
    def _kept(self) -> Outbox:
        assert self._outbox is not None  # noqa: S101 - lanes are the outbox's
        return self._outbox


def _away(error: Exception) -> bool:
    from ..history import HistoryError

    return isinstance(error, HistoryError)
