"""Checksums by which the literal pieces of messages are found in a text, so that indexes hold no text of anybody's."""

from __future__ import annotations

import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

SHORTEST, LONGEST = 16, 64
"""Characters of a message's longest literal piece that are compared, at least and at most."""


def checksum(text: str) -> int:
    """Return the checksum of a piece of a message, or of a file's name, in two bytes."""
    return zlib.crc32(text.encode("utf-8", "replace")) & 0xFFFF


def head_of(piece: str) -> int:
    """Return the checksum by which a message's literal piece is found."""
    return zlib.crc32(piece[:SHORTEST].encode("utf-8", "replace"))


def places_of(heads: Container[int], text: str) -> list[int]:
    """Return where in a text a message's piece with one of these checksums may begin."""
    last = len(text) - SHORTEST + 1
    if not text.isascii():
        return [at for at in range(last) if head_of(text[at : at + SHORTEST]) in heads]
    data, check = text.encode(), zlib.crc32
    return [at for at in range(last) if check(data[at : at + SHORTEST]) in heads]
