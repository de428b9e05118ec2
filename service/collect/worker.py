"""The process that reads streams: what comes in is taken at once, what is due is looked at in between.

It is apart from the service because an analysis holds the interpreter: requests would wait for it.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterable
from typing import BinaryIO

from . import wire
from .streams import Streams, Verdict

TICK = 0.25
"""Seconds between two looks at what is due."""
AHEAD = 4
"""Pushes that are read ahead; what comes beyond waits in the pipe, and is felt by the service."""


def main() -> int:
    """Read pushes from standard input until its end; write what is told to standard output."""
    from ...classifier.api import Triage

    most, *rules = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What anything prints must not stand among the answers.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(Streams(Triage(rules), int(most)), sys.stdin.buffer, out)
    return 0


def serve(streams: Streams, source: BinaryIO, out: BinaryIO) -> None:
    """Take pushes until the end of ``source``, then tell what is left to be told."""
    pushes: queue.Queue[bytes] = queue.Queue(AHEAD)
    threading.Thread(target=_read, args=(source, pushes), daemon=True).start()
    due = time.monotonic() + TICK
    while True:
        try:
            line = pushes.get(timeout=max(0.0, due - time.monotonic()))
        except queue.Empty:
            line = None
        if line == b"":
            break
        if line is not None:
            number, batches = wire.read_push(line)
            for name, data in batches:
                _tell(streams.take(name, data, time.monotonic()), out)
            out.write(wire.taken(number, len(streams)))
            out.flush()
        if time.monotonic() >= due:
            _tell(streams.tick(time.monotonic()), out)
            due = time.monotonic() + TICK
    _tell(streams.close(time.monotonic()), out)


def _read(source: BinaryIO, pushes: queue.Queue[bytes]) -> None:
    for line in source:
        pushes.put(line)
    pushes.put(b"")


def _tell(found: Iterable[Verdict], out: BinaryIO) -> None:
    for verdict in found:
        out.write(wire.verdict(verdict))
        out.flush()


if __name__ == "__main__":
    sys.exit(main())
