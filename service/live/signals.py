"""Signals as events: taken in order by the thread that waits for them, with who sent them."""

from __future__ import annotations

import queue
import signal
import threading
from typing import NamedTuple

PASSED_ON = tuple(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH", "SIGALRM")
    if hasattr(signal, name)
)
"""Signals that are passed on to the command."""


class Came(NamedTuple):
    """A signal."""

    number: int
    keyboard: bool
    """Whether the terminal sent it, to the whole foreground group."""


class Signals:
    """Blocks signals in this process and queues them. To be made before any thread is started.

    Args:
        numbers: Signals to take.
    """

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self._numbers = {signal.Signals(number) for number in (*numbers, signal.SIGCHLD)}
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, self._numbers)
        """The mask that children are to have."""
        self._queue: queue.SimpleQueue[Came] = queue.SimpleQueue()

    def start(self) -> None:
        """Begin to take signals; children are to be started before."""
        threading.Thread(target=self._take, name="signals", daemon=True).start()

    def next(self, seconds: float) -> Came | None:
        """Return the next signal; None where none comes in time."""
        try:
            return self._queue.get(timeout=seconds)
        except queue.Empty:
            return None

    def release(self) -> None:
        """Restore the mask as it was."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)

    def _take(self) -> None:
        if not hasattr(signal, "sigwaitinfo"):
            # macOS does not tell who sent a signal: Ctrl-C is what it is sent for there.
            while True:
                number = signal.sigwait(self._numbers)
                self._queue.put(Came(number, number == signal.SIGINT))
        while True:
            found = signal.sigwaitinfo(self._numbers)
            # The kernel's own codes are above zero, those of kill() and its like not.
            self._queue.put(Came(found.si_signo, found.si_code > 0))
