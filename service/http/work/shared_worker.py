"""A worker process that follows several logs at a time, a thread for each: watchers wait more than they work.

Frames are those of worker_protocol.py, each behind the number of its log.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO

from ....classifier.api import Triage
from .worker import NICE, Task
from .worker_protocol import BEGIN, DATA, DROP, ENDED, NUMBER, TAKEN, message, read_frame

Frame = tuple[bytes, bytes]
OVER: Frame = (b"", b"")


def main() -> None:
    """Serve until standard input ends."""
    gc.set_threshold(200_000, 50, 50)
    if hasattr(os, "nice"):
        os.nice(NICE)
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    # Nothing else may write between the frames.
    sys.stdout = sys.stderr
    model, *rules = sys.argv[1:]
    _Shared(Triage(rules, model=model), incoming, outgoing).run()
    # Threads that are in the middle of a log are not waited for.
    os._exit(0)


class _Shared:
    """The logs of one process."""

    def __init__(self, triage: Triage, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._triage = triage
        self._incoming, self._outgoing = incoming, outgoing
        self._writing = threading.Lock()
        self._waiting: dict[int, SimpleQueue[Frame]] = {}

    def run(self) -> None:
        """Hand frames on to their threads until there are no more."""
        while len(head := self._incoming.read(NUMBER.size)) == NUMBER.size:
            (number,) = NUMBER.unpack(head)
            kind, data = read_frame(self._incoming)
            if kind == BEGIN:
                queue = self._waiting[number] = SimpleQueue()
                begin = json.loads(data)
                threading.Thread(target=self._follow, args=(number, begin, queue), daemon=True).start()
            elif kind == DROP:
                if (dropped := self._waiting.get(number)) is not None:
                    dropped.put(OVER)
            elif (queue_of := self._waiting.get(number)) is not None:
                queue_of.put((kind, data))

    def _follow(self, number: int, begin: dict[str, Any], queue: SimpleQueue[Frame]) -> None:
        def receive() -> Frame:
            kind, data = queue.get()
            if kind == DATA:
                # So that the service sends no faster than this is read.
                self._send(number, TAKEN, len(data))
            return kind, data

        try:
            Task(self._triage, begin, receive, lambda kind, value: self._send(number, kind, value)).run()
        finally:
            self._waiting.pop(number, None)
            self._send(number, ENDED, None)

    def _send(self, number: int, kind: bytes, value: Any) -> None:
        data = NUMBER.pack(number) + message(kind, value)
        # The service is gone, and so will this process be.
        with self._writing, suppress(BrokenPipeError):
            self._outgoing.write(data)
            self._outgoing.flush()


if __name__ == "__main__":
    main()
