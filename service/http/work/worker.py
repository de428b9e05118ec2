"""A worker process: reads logs from standard input, as frames, and answers on standard output; each log in a thread of its own.

It holds nothing but the engine, so that it is small, and can be killed at any time.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO

from ....classifier.api import Triage
from ....classifier.input.read import Chunks
from ....classifier.question import Question
from ....classifier.report.pack.schema import with_pack
from .jobs import Answer, Job, Limits, RefusedError, conclude, examine, peek
from .worker_protocol import (
    ANSWER,
    BEGIN,
    DATA,
    DROP,
    END,
    ENDED,
    FLUSH,
    NUMBER,
    PROGRESS,
    REFUSED,
    TAKEN,
    VERDICT,
    message,
    read_frame,
)

if TYPE_CHECKING:
    from ....classifier.incidents.session import Session

NICE = 10
"""Requests that are answered by the service itself go first."""
PAUSE = 0.25
"""Seconds between two events of progress, and two looks at the answer so far."""
SHARE = 10
"""A look at the answer so far takes at most one part in so many of the time."""
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
    Logs(Triage(rules, model=model), incoming, outgoing).run()
    # Threads that are in the middle of a log are not waited for.
    os._exit(0)


class Logs:
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


class Task:
    """One log.

    Args:
        triage: The engine.
        begin: What the log's first frame holds.
        receive: Returns the next frame.
        send: Given the kind and the value of a frame that goes out.
    """

    def __init__(
        self,
        triage: Triage,
        begin: dict[str, Any],
        receive: Callable[[], Frame],
        send: Callable[[bytes, Any], None],
    ) -> None:
        self._triage = triage
        self._job = _job(begin["job"])
        self._limits = Limits(**begin["limits"])
        self._live = bool(begin["live"])
        self._receive, self._send = receive, send
        self._ended = False
        self._unseen: Callable[[], None] | None = None
        self._told = ""
        self._next_progress = self._next_look = 0.0

    def run(self) -> None:
        """Read the log and answer."""
        try:
            answer = self._work()
        except RefusedError as refused:
            self._send(REFUSED, {"name": refused.name, "detail": refused.detail})
        else:
            self._send(ANSWER, {"report": with_pack(answer.report), "text": answer.text})

    def _work(self) -> Answer:
        def seen(session: Session) -> None:
            if self._live:
                self._unseen = partial(self._look, session)
                self._unseen()

        session = examine(self._triage, self._job.question, Chunks(self._pieces()), self._limits, seen)
        return conclude(self._triage, session, self._job)

    def _pieces(self) -> Iterator[bytes]:
        while not self._ended:
            kind, data = self._receive()
            if kind == DATA:
                yield data
            elif kind == FLUSH:
                yield b""
                if self._unseen is not None:
                    self._unseen()
            elif kind == END:
                self._ended = True
                self._job = _job(json.loads(data))
            else:
                # The service is gone, or has given the log up.
                sys.exit(0)

    def _look(self, session: Session) -> None:
        now = time.monotonic()
        if now >= self._next_progress:
            self._next_progress = now + PAUSE
            reached = session.incident.reached or "launch"
            self._send(PROGRESS, {"lines": session.lines, "bytes": session.bytes, "reached": reached})
        if now < self._next_look:
            return
        self._unseen = None
        report = peek(self._triage, session, self._job.question)
        took = time.monotonic() - now
        self._next_look = now + max(PAUSE, SHARE * took)
        if report is not None and report.cause != self._told:
            self._told = report.cause
            self._send(VERDICT, report.to_dict())


def _job(values: dict[str, Any]) -> Job:
    return Job(**{**values, "question": Question(**values["question"])})


if __name__ == "__main__":
    main()
