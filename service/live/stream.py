"""A log that comes through a pipe, or that a file grows by: shown as it comes, and explained as soon as that is possible."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .analyser import Analyser, Task
from .feed import Feed
from .follow import Follower
from .kept import Kept, keep_unasked
from .listener import Listener
from .pump import Pump
from .screen import Screen, write_all
from .signals import Signals

if TYPE_CHECKING:
    from .shape import Event

TICK = 0.25
"""Seconds between two looks at the status row."""
GRACE = 5.0
"""Seconds that the log may go on after the first Ctrl-C: the server at the other end of the pipe is stopping too."""
ANSWER = 60.0
"""Seconds for the answer when the log has ended; a log that was read all the while needs none of them."""
HEIGHT = 30
"""Rows that a diagnosis takes on a terminal."""
PIPE_WAITS, FILE_WAITS = 5.0, 600.0
"""Seconds for which a pipe, and a file, are not read on where more waits to be analysed than is kept in memory. Behind a pipe a
server waits as well: what is then read all the same is left out of the analysis."""
SAID = "\nvllm-triage: reading on while the server stops (Ctrl-C answers at once)\n"


@dataclass(frozen=True, slots=True)
class Stream:
    """What is to be read, and what is to be done with it besides."""

    task: Task
    path: str = "-"
    """A file to follow; ``-``: standard input."""
    passes: bool = True
    """Whether the log is shown as it comes."""
    keep: bool = False
    """Whether it is kept in a file of our own."""
    lines: bool = False
    """Whether events are printed as JSON, one on a line, instead of text for people."""


def watch_stream(wanted: Stream) -> tuple[int, Event | None, str]:
    """Read the log to its end.

    Returns:
        The signal that broke reading off (0 for none), the last event (None where there is no answer), and why not.

    Raises:
        InputError: The file cannot be followed.
    """
    return _Watcher(wanted).run()


class _Watcher:
    def __init__(self, wanted: Stream) -> None:
        self._wanted = wanted
        terminal = os.isatty(1) and not wanted.lines
        self._screen = Screen(1) if terminal else None
        shape = wanted.task.shape
        if self._screen is not None:
            shape = replace(shape, width=self._screen.width, height=HEIGHT)
        self._follower = None if wanted.path == "-" else Follower(wanted.path, self._pass_on, self._hand_on)
        self._kept: Kept | None = keep_unasked() if wanted.keep else None
        self._analyser = Analyser(replace(wanted.task, shape=shape))
        self._signals = Signals((signal.SIGINT, signal.SIGTERM, signal.SIGWINCH))
        self._feed = Feed(self._analyser.feed)
        self._broken_off = 0
        self._room = PIPE_WAITS if self._follower is None else FILE_WAITS

    def run(self) -> tuple[int, Event | None, str]:
        listener = Listener(self._analyser.events, self._say, 1 if self._wanted.lines else -1)
        listener.start()
        source: Pump | Follower = self._follower or Pump(0, self._pass_on, self._hand_on)
        self._signals.start()
        if self._follower is not None and self._follower.waited:
            self._say(f"vllm-triage: waiting for {self._wanted.path}\n")
        source.start()
        self._wait(source, listener)
        source.ends()
        source.join(1.0)
        told = {"interrupted": bool(self._broken_off), "left_out": self._feed.left_out}
        self._feed.end(json.dumps(told).encode())
        self._answer(listener)
        self._close()
        end = listener.end
        if end is not None and end["text"] and not self._wanted.lines:
            self._say(end["text"])
        self._say_where()
        if self._wanted.task.questions is not None:
            listener.await_opinion(self._is_stopped)
        self._end_analyser(listener)
        self._signals.release()
        received = self._broken_off and not source.received
        return (self._broken_off if received else 0), end, listener.problem

    def _pass_on(self, data: bytes) -> None:
        if self._wanted.passes:
            if self._screen is not None:
                self._screen.pass_on(data)
            else:
                write_all(1, data)

    def _hand_on(self, data: bytes) -> None:
        if self._kept is not None:
            self._kept.write(data)
        self._feed.put(data, wait=self._room)

    def _wait(self, source: Pump | Follower, listener: Listener) -> None:
        until = float("inf")
        while source.is_alive() and time.monotonic() < until:
            came = self._signals.next(min(TICK, max(0.0, until - time.monotonic())))
            if came is None:
                if self._screen is not None:
                    self._screen.status(listener.row.text(time.monotonic()))
            elif came.number in (signal.SIGINT, signal.SIGTERM):
                if self._broken_off or self._follower is not None or not source.received:
                    self._broken_off = came.number
                    return
                self._broken_off = came.number
                self._feed.stop(signal.Signals(came.number).name)
                until = time.monotonic() + GRACE
                self._say(SAID)

    def _answer(self, listener: Listener) -> None:
        until = time.monotonic() + ANSWER
        asks = self._wanted.task.questions is not None
        while listener.is_alive() and not (asks and listener.end) and time.monotonic() < until:
            if self._is_stopped(0.02):
                listener.problem = "broken off"
                break
        if listener.is_alive() and listener.end is None and not listener.problem:
            listener.problem = f"no answer within {ANSWER:.0f} s"

    def _is_stopped(self, seconds: float) -> bool:
        came = self._signals.next(seconds)
        return came is not None and came.number in (signal.SIGINT, signal.SIGTERM)

    def _end_analyser(self, listener: Listener) -> None:
        self._analyser.kill()
        self._analyser.wait()
        listener.join(1.0)

    def _close(self) -> None:
        if self._screen is not None:
            self._screen.close()
        if self._kept is not None:
            self._kept.close()

    def _say_where(self) -> None:
        kept = self._kept
        if kept is not None:
            self._say(f"  log: {kept.path}\n" if not kept.problem else f"vllm-triage: {kept.problem}\n")

    def _say(self, text: str) -> None:
        if self._screen is not None:
            self._screen.say(text)
            return
        # Where the log itself goes to standard output, nothing of ours may stand in it.
        file = 2 if self._wanted.passes or self._wanted.lines else 1
        with contextlib.suppress(OSError):
            write_all(file, text.encode("utf-8", "replace"))


def supported() -> bool:
    """Return whether this system can do it; others read the log to its end."""
    return sys.platform != "win32"
