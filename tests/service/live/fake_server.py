"""A stand-in for a server: a small program that says, does and suffers what its arguments name, in their order."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path


def main(words: list[str]) -> None:
    """Do one thing after the other."""
    for word in words:
        what, _, value = word.partition(":")
        ACTIONS[what](value)


def _write(file: int) -> Callable[[str], None]:
    return lambda value: _all(file, value.encode().decode("unicode_escape").encode("latin-1"))


def _all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _say(*words: object) -> None:
    _all(1, (" ".join(map(str, words)) + "\n").encode())


def _until(path: str) -> None:
    """Wait until a file is there: the test says when it goes on."""
    while not Path(path).exists():
        time.sleep(0.02)


def _wait(_value: str) -> None:
    while True:
        signal.pause()


def _told(number: int, _frame: object) -> None:
    _say("got", signal.Signals(number).name)
    if number in (signal.SIGTERM, signal.SIGINT):
        sys.exit(7)


def _replay(value: str) -> None:
    """Print a log: PATH, or PATH@LINES-A-SECOND."""
    path, _, pace = value.partition("@")
    data = Path(path).read_bytes()
    if not pace:
        _all(1, data)
        return
    for line in data.splitlines(keepends=True):
        _all(1, line)
        time.sleep(1 / float(pace))


def _random(value: str) -> None:
    """Write bytes of every kind to both streams, in pieces that end anywhere."""
    import random

    size, chance = int(value), random.Random(4)
    while size > 0:
        piece = chance.randbytes(min(size, chance.randrange(1, 9000)))
        _all(chance.choice((1, 2)), piece)
        size -= len(piece)


def _orphan(value: str) -> None:
    """Leave a process behind that holds our output open."""
    if os.fork() == 0:
        time.sleep(float(value))
        os._exit(0)


ACTIONS: dict[str, Callable[[str], object]] = {
    "out": _write(1),
    "err": _write(2),
    "log": _replay,
    "bytes": _random,
    "tty": lambda _: _say("tty", os.isatty(1), os.isatty(2)),
    "size": lambda _: _say("size", *os.get_terminal_size(1)),
    "read": lambda _: _say("read", sys.stdin.readline().strip()),
    "sleep": lambda value: time.sleep(float(value)),
    "catch": lambda value: signal.signal(getattr(signal, value), _told),
    "wait": _wait,
    "until": _until,
    "orphan": _orphan,
    "raise": lambda value: os.kill(os.getpid(), getattr(signal, value)),
    "exit": lambda value: sys.exit(int(value)),
}
"""What it can do."""

if __name__ == "__main__":
    main(sys.argv[1:])
