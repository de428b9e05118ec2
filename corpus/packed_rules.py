"""The rules as the compiled corpus holds them: each stays packed until somebody asks for it.

Few of a thousand rules are tried on a log; making all of them took longer than reading it.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from mmap import ACCESS_READ, mmap

from .types import Rule

Places = dict[str, tuple[int, int]]
"""For each bucket where its rules begin, and where they end."""


_SIZE = 8
"""Bytes of a number at the beginning of joined parts: how many there are, then how long each is."""


def joined(*parts: bytes | bytearray) -> bytes:
    """Return some parts as one piece of bytes."""
    return b"".join((*(number.to_bytes(_SIZE, "little") for number in (len(parts), *map(len, parts))), *parts))


def parts_of(data: bytes | memoryview) -> list[memoryview]:
    """Return the parts that were joined; nothing is copied."""
    view = memoryview(data)
    count, *sizes = (int.from_bytes(view[at : at + _SIZE], "little") for at in range(0, _SIZE * (1 + view[0]), _SIZE))
    ends = [*accumulate(sizes, initial=_SIZE * (1 + count))]
    return [view[begin:end] for begin, end in pairwise(ends)]


def opened(path: str) -> memoryview:
    """Return what a file holds; only what somebody looks at is read."""
    with open(path, "rb") as file:  # noqa: PTH123 (pathlib is slow to import)
        return memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))


class Rows(Sequence[memoryview]):
    """Rows that stand in one piece of bytes, each cut out when it is asked for.

    Args:
        data: All of them.
        ends: Where each ends.
    """

    __slots__ = ("_data", "_ends")

    def __init__(self, data: bytes | memoryview, ends: Sequence[int]) -> None:
        self._data = memoryview(data)
        self._ends = ends

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._ends)

    def __getitem__(self, position: int) -> memoryview:  # type: ignore[override] # nobody asks for a slice
        """Return a row by its position, which is not counted from the end."""
        return self._data[self._ends[position - 1] if position else 0 : self._ends[position]]


class _Made(dict[int, Rule]):
    """Rules by their positions, made when they are first asked for."""

    __slots__ = ("_packed", "_ready")

    def __init__(self, packed: Sequence[bytes | memoryview], ready: bool) -> None:
        super().__init__()
        self._packed = packed
        self._ready = ready

    def __missing__(self, position: int) -> Rule:
        row, needs, programs = marshal.loads(self._packed[position])  # noqa: S302 - our own file
        make: Callable[..., Rule] = Rule
        rule = make(*row)
        rule.prepare(needs, programs if self._ready else {})
        # Another thread may have made it meanwhile: all must get the same one.
        return self.setdefault(position, rule)


class PackedRules:
    """The rules of the compiled corpus, in the order in which they are tried.

    Args:
        packed: What ``pack_rule`` made of each.
        places: Where each bucket's rules stand.
        ready: Whether the programs of their expressions are for the ``regex`` that is installed.
        folder: The folder of the compiled corpus.
    """

    def __init__(self, packed: Sequence[bytes | memoryview], places: Places, ready: bool, folder: str) -> None:
        self.folder = folder
        self.by_position = _Made(packed, ready)
        """The rules by their positions: without a call for those that were made already."""
        self._places = places
        self._size = len(packed)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._size

    def __getitem__(self, position: int) -> Rule:
        """Return the rule at a position, which is not counted from the end."""
        return self.by_position[position]

    def __iter__(self) -> Iterator[Rule]:
        """Yield all, in their order."""
        return map(self.by_position.__getitem__, range(self._size))

    def of(self, bucket: str) -> tuple[Rule, ...]:
        """Return the rules of a bucket; none where it has none, or is not there."""
        return tuple(map(self.by_position.__getitem__, range(*self._places.get(bucket, (0, 0)))))

    def made(self) -> list[Rule]:
        """Return those that were asked for so far."""
        return list(self.by_position.values())


def pack_rule(row: tuple[object, ...], needs: dict[str, list[str]], programs: dict[str, bytes]) -> bytes:
    """Return the form in which a rule is stored.

    Args:
        row: The values of its attributes.
        needs: What its expressions need (``Rule.needs``).
        programs: Its expressions, compiled, by their text.
    """
    return marshal.dumps((row, needs, programs))  # type: ignore[arg-type] # texts, numbers and tuples of them


def places_of(buckets: Iterable[tuple[str, int]]) -> Places:
    """Return where the rules of each bucket stand, from the buckets in their order, each with the number of its rules."""
    places: Places = {}
    at = 0
    for name, count in buckets:
        places[name] = (at, at + count)
        at += count
    return places
