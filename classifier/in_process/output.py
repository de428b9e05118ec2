"""Takes a copy of what this process and those that it starts print, while it goes where it would have gone."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Self

PIECE = 1 << 16
"""Bytes read at a time."""
GRACE = 0.5
"""Seconds to wait at the end for what is under way; processes that live on keep their output, and it is still passed on."""


class Output:
    """Standard output and standard error, at the level of the operating system: vLLM's engine runs in processes of its own.

    Args:
        take: Is given each piece.
    """

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._saved: dict[int, int] = {}
        self._threads: list[threading.Thread] = []
        self._taking = True

    def __enter__(self) -> Self:
        for file in (1, 2):
            try:
                saved = os.dup(file)
            except OSError:  # closed: nothing can be printed there
                continue
            _flush()
            reader, writer = os.pipe()
            os.dup2(writer, file, inheritable=True)
            os.close(writer)
            self._saved[file] = saved
            thread = threading.Thread(target=self._pass_on, args=(reader, os.dup(saved)), name="output", daemon=True)
            self._threads.append(thread)
            thread.start()
        return self

    def __exit__(self, *_details: object) -> None:
        _flush()
        for file, saved in self._saved.items():
            os.dup2(saved, file, inheritable=True)
            os.close(saved)
        for thread in self._threads:
            thread.join(GRACE)
        self._taking = False

    def _pass_on(self, reader: int, out: int) -> None:
        while data := os.read(reader, PIECE):
            with contextlib.suppress(OSError):
                view = memoryview(data)
                while view:
                    view = view[os.write(out, view) :]
            if self._taking:
                self._take(data)
        os.close(reader)
        os.close(out)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
