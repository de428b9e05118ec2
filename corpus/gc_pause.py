"""Pauses Python's collector of cycles while tables are loaded.

Tens of thousands of objects that all stay make it run again and again and find nothing, which takes a sixth of a first answer.
"""

from __future__ import annotations

import gc
from types import TracebackType


class Paused:
    """A block in which the collector does not run; after it, it does if it did before."""

    __slots__ = ("_ran",)

    def __enter__(self) -> None:
        """Stop it."""
        self._ran = gc.isenabled()
        gc.disable()

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Let it go on."""
        if self._ran:
            gc.enable()
