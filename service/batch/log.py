"""A log before it is read: where it lies, and what identifies it later."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ...classifier.masking.mask import mask
from .many import INSIDE


@dataclass(frozen=True, slots=True)
class Log:
    """A log that was listed.

    Args:
        name: Path or URL; of a member of an archive ``ARCHIVE!/MEMBER``.
        size: Bytes as they lie there; -1 where the listing does not tell.
        version: What changes with the content: time of change, ETag, checksum.
        changed: When it was changed last, in seconds since 1970; 0 where the listing does not tell.
        data: The content, where it was read while listing (members of archives); None: it is read from ``name``.
        problem: Why it cannot be read; "" where nothing speaks against it.
    """

    name: str
    size: int = -1
    version: str = ""
    changed: float = 0.0
    data: bytes | None = None
    problem: str = ""

    @property
    def id(self) -> str:
        """32 hex digits, the same as long as name, size and version are."""
        told = "\0".join((self.name, str(self.size), self.version))
        return hashlib.blake2b(told.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()

    @property
    def source(self) -> str:
        """Its name as it is shown and kept: masked, and as text where the file system's is none."""
        return mask(self.name.encode("utf-8", "backslashreplace").decode())

    @property
    def archive(self) -> str:
        """The archive that it is a member of; "" where it is none."""
        archive, inside, _ = self.name.partition(INSIDE)
        return archive if inside else ""


Chunk = tuple[Log, ...]
"""Logs that are handled together."""
