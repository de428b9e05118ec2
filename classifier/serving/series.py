"""A long row of readings kept in little memory: the first, a few of the middle, the last."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Generic, TypeVar

FIRST = 24
MIDDLE = 48
LAST = 64
"""Readings kept of the beginning, of the middle and of the end: at ten seconds each, four and ten minutes whole."""

T = TypeVar("T")


class Series(Generic[T]):
    """Readings in their order; of those in the middle every second one goes whenever there are too many."""

    __slots__ = ("_first", "_last", "_middle", "_skipped", "_step", "count")

    def __init__(self) -> None:
        self.count = 0
        """Readings that were added."""
        self._first: list[T] = []
        self._middle: list[T] = []
        self._last: deque[T] = deque()
        self._step = 1
        self._skipped = 0

    def add(self, reading: T) -> None:
        """Add the next reading."""
        self.count += 1
        if len(self._first) < FIRST:
            self._first.append(reading)
            return
        self._last.append(reading)
        if len(self._last) > LAST:
            self._thin(self._last.popleft())

    def _thin(self, reading: T) -> None:
        self._skipped += 1
        if self._skipped < self._step:
            return
        self._skipped = 0
        self._middle.append(reading)
        if len(self._middle) > MIDDLE:
            self._middle = self._middle[::2]
            self._step *= 2

    def __iter__(self) -> Iterator[T]:
        return chain(self._first, self._middle, self._last)

    def __bool__(self) -> bool:
        return bool(self._first)

    @property
    def last(self) -> T:
        """The latest reading."""
        return self._last[-1] if self._last else self._first[-1]

    def __deepcopy__(self, memo: dict[int, object]) -> Series[T]:
        # Readings never change.
        other: Series[T] = Series()
        other.count, other._step, other._skipped = self.count, self._step, self._skipped
        other._first, other._middle, other._last = list(self._first), list(self._middle), self._last.copy()
        return other
