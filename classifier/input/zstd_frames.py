"""Whether zstd data end where a frame ends: decompressors do not tell that the last one is cut (RFC 8878, chapter 3)."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

FRAME, SKIPPABLE = 0xFD2FB528, 0x184D2A50
"""Magic numbers; of the second the last four bits may be any."""
CONTENT_SIZE = (0, 2, 4, 8)
"""Bytes of the content's size by its flag; in a single segment the first has one byte."""
DICTIONARY = (0, 1, 2, 4)
"""Bytes of the dictionary's id by its flag."""
REPEATED = 1
"""The type of a block that holds one byte, however large it becomes."""
LONGEST = 32
"""Bytes up to which a part is looked at; longer ones are passed over."""


class ZstdFrames:
    """Walks over the frames of zstd data without unpacking them."""

    def __init__(self) -> None:
        self._between = True
        self._parts = self._walk()
        self._missing = next(self._parts)
        self._held = b""

    @property
    def whole(self) -> bool:
        """Whether what came so far ends where a frame does. True as well for what is no frame: others complain of that."""
        return self._between and not self._held

    def watched(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield compressed data as they come, and look at them."""
        for chunk in chunks:
            self.feed(chunk)
            yield chunk

    def feed(self, data: bytes) -> None:
        """Look at the next compressed data."""
        at = 0
        while self._missing and at < len(data):
            taken = min(self._missing, len(data) - at)
            self._held = (self._held + data[at : at + taken])[-LONGEST:]
            self._missing -= taken
            at += taken
            while not self._missing:
                part, self._held = self._held, b""
                try:
                    self._missing = self._parts.send(part)
                except StopIteration:
                    return

    def _walk(self) -> Generator[int, bytes, None]:
        """Ask for the bytes of each part in turn, and take them (of long ones the end)."""
        while True:
            magic = int.from_bytes((yield 4), "little")
            self._between = False
            if magic & ~0xF == SKIPPABLE:
                yield int.from_bytes((yield 4), "little")
            elif magic == FRAME:
                yield from self._frame()
            else:
                self._between = True
                return
            self._between = True

    def _frame(self) -> Generator[int, bytes, None]:
        (described,) = yield 1
        single, size = bool(described & 0x20), described >> 6
        yield (not single) + DICTIONARY[described & 3] + (CONTENT_SIZE[size] or single)
        last = False
        while not last:
            block = int.from_bytes((yield 3), "little")
            last = bool(block & 1)
            yield 1 if block >> 1 & 3 == REPEATED else block >> 3
        if described & 4:
            yield 4
