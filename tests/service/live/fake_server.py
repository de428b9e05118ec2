"""A stand-in for a server: a small program that says, does and suffers what its arguments name, in their order."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path


def main(words: list[str]) -> None:
    """Do one thing after the other."""
    for word in words:
        what, _, value = word.partition(":")
        if what == "log":
            # PATH or PATH@LINES-A-SECOND
            path, _, pace = value.partition("@")
            _replay(Path(path).read_bytes(), float(pace) if pace else 0.0)
        elif what in ("out", "err"):
            file = 1 if what == "out" else 2
            os.write(file, value.encode().decode("unicode_escape").encode("latin-1"))
        elif what == "bytes":
            _random(int(value))
        elif what == "tty":
            print("tty", os.isatty(1), os.isatty(2), flush=True)
        elif what == "size":
            print("size", *os.get_terminal_size(1), flush=True)
        elif what == "read":
            print("read", sys.stdin.readline().strip(), flush=True)
        elif what == "sleep":
            time.sleep(float(value))
        elif what == "catch":
            signal.signal(getattr(signal, value), _told)
        elif what == "wait":
            while True:
                signal.pause()
        elif what == "orphan":
            _orphan(float(value))
        elif what == "raise":
            os.kill(os.getpid(), getattr(signal, value))
        elif what == "exit":
            sys.exit(int(value))
        else:
            raise SystemExit(f"what is {word!r}?")


def _told(number: int, _frame: object) -> None:
    print("got", signal.Signals(number).name, flush=True)
    if number in (signal.SIGTERM, signal.SIGINT):
        sys.exit(7)


def _replay(data: bytes, pace: float) -> None:
    for line in data.splitlines(keepends=True):
        os.write(1, line)
        if pace:
            time.sleep(1 / pace)


def _random(size: int) -> None:
    """Write bytes of every kind to both streams, in pieces that end anywhere."""
    import random

    chance = random.Random(4)  # noqa: S311
    while size > 0:
        piece = chance.randbytes(min(size, chance.randrange(1, 9000)))
        os.write(chance.choice((1, 2)), piece)
        size -= len(piece)


def _orphan(seconds: float) -> None:
    """Leave a process behind that holds our output open."""
    if os.fork() == 0:
        time.sleep(seconds)
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
