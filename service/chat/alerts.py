"""Alerts on their way from the receiver to the work: through the outbox, or through memory where there is no history."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from ..letter import Letter
from .backoff import backoff
from .interface import ALERTS, BusyError, ChatContext
from .lanes import Lane
from .settings import NotifySettings

if TYPE_CHECKING:
    from ..history import Outbox
    from ..letter import Taken

log = logging.getLogger("vllm_triage.chat")

TRIES = 20
"""Attempts at a letter that ends with an error of our own."""


class Alerts:
    """Keeps alerts and has them worked off, in their order.

    Args:
        context: Has ``work_off_alerts``.
        outbox: None without a history: alerts then wait in memory, as many as fit.
        settings: For delays.
    """

    def __init__(self, context: ChatContext, outbox: Outbox | None, settings: NotifySettings) -> None:
        self._context = context
        self._outbox = outbox
        self._settings = settings
        self._lane = Lane(outbox, ALERTS, self._work, 1) if outbox is not None else None

    @property
    def busy(self) -> bool:
        """Whether alerts are worked on."""
        return self._lane is not None and self._lane.busy

    def start(self) -> None:
        """Begin to work off what an earlier process has left."""
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
        self._context.work_off_alerts(body)

    def _work(self, letters: list[Taken]) -> None:
        assert self._outbox is not None  # noqa: S101 - lanes are the outbox's
        for letter in letters:
            try:
                self._context.work_off_alerts(letter.body)
            except BusyError:
                self._later(letter)
            except Exception as error:  # noqa: BLE001 - what is wrong with one letter must not stop the others
                # The message of an error may quote what was sent.
                log.error("alerts %s failed: %s", letter.id, type(error).__name__)  # noqa: TRY400
                if letter.attempts < TRIES:
                    self._later(letter)
                else:
                    self._outbox.give_up([letter.number], type(error).__name__)
                    self._context.counted(ALERTS, "dead", 1)
            else:
                self._outbox.done([letter.number])

    def _later(self, letter: Taken) -> None:
        assert self._outbox is not None  # noqa: S101
        delay = timedelta(seconds=backoff(letter.attempts, self._settings, None))
        self._outbox.later([letter.number], datetime.now(UTC) + delay)
        self._context.counted(ALERTS, "retried", 1)
