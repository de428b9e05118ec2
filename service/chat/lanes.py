"""Works off the letters of a lane of the outbox: one thread for each lane, in every process that has the history."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...classifier.errors import TriageError
from ..letter import Leader

if TYPE_CHECKING:
    from ..history import Outbox
    from ..letter import Taken

log = logging.getLogger("vllm_triage.chat")

LOOK = 1.0
"""Seconds between two looks for letters: for those of other processes, and those that are due again."""
LENT = 60.0
"""Seconds for which a letter is lent to whoever works on it; after that it is anybody's."""

LED = 15.0
"""Seconds after which another process may lead a lane that one process handles alone."""

Work = Callable[["list[Taken]"], None]


class Lane:
    """A lane with its thread.

    Args:
        outbox: Where the letters are.
        name: Of the lane.
        work: Given some letters, in their order; says to the outbox what became of each.
        most: Letters that are taken at a time.
        alone: Whether one process at a time works the lane off, in the order of the letters.
    """

    def __init__(self, outbox: Outbox, name: str, work: Work, most: int, *, alone: bool = False) -> None:
        self.name = name
        self._outbox = outbox
        self._work = work
        self._most = most
        self._leader = Leader(secrets.randbits(62), LED) if alone else None
        self._changed = threading.Condition()
        self._awake = self._closing = False
        self._thread: threading.Thread | None = None
        self.busy = False
        """Whether letters are worked on."""

    def start(self) -> None:
        """Begin to look for letters."""
        with self._changed:
            if self._thread is None and not self._closing:
                self._thread = threading.Thread(target=self._run, name=f"lane-{self.name}", daemon=True)
                self._thread.start()

    def wake(self) -> None:
        """Have it look at once: there is a new letter."""
        self.start()
        with self._changed:
            self._awake = True
            self._changed.notify()

    def close(self, seconds: float) -> None:
        """End after what is worked on; what waits stays in the outbox."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        while not self._closing:
            if not self._some():
                with self._changed:
                    if not self._awake and not self._closing:
                        self._changed.wait(LOOK)
                    self._awake = False

    def _some(self) -> bool:
        """Work some letters off; return whether there were any."""
        self.busy = True
        try:
            letters = self._outbox.take(self.name, self._most, LENT, self._leader)
            if letters:
                self._work(letters)
                if self._leader is not None and len(letters) < self._most:
                    self._outbox.leave(self.name, self._leader)
        except TriageError as error:
            # The history is away: the letters are due again by themselves.
            log.warning("the outbox cannot be reached: %s", type(error).__name__)
            time.sleep(LOOK)
            return False
        except Exception as error:  # noqa: BLE001 - one letter must not end the lane; the message may quote it
            log.error("letters for %s failed: %s", self.name, type(error).__name__)  # noqa: TRY400
            return False
        finally:
            self.busy = False
        return bool(letters)
