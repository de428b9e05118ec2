"""What the service and its worker processes say to each other: frames of a kind and some bytes, both ways."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

HEAD = struct.Struct(">cI")
"""Kind and length of what follows."""

BEGIN, DATA, FLUSH, END = b"B", b"D", b"F", b"E"
"""To a worker: a log begins; bytes of it; no more may come for a while; it is complete (with what was asked)."""
NUMBER = struct.Struct(">I")
"""Which log a frame is of; stands before each frame."""
DROP, TAKEN, ENDED = b"X", b"T", b"N"
"""To a worker: a log is given up; from one: so many bytes of it were read; nothing more comes of it."""
PROGRESS, VERDICT, ANSWER, REFUSED = b"P", b"V", b"A", b"R"
"""From a worker: how far it got; the answer so far; the answer; why there is none."""


def frame(kind: bytes, data: bytes = b"") -> bytes:
    """Return a frame."""
    return HEAD.pack(kind, len(data)) + data


def message(kind: bytes, value: Any) -> bytes:
    """Return a frame with a value as JSON."""
    return frame(kind, json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def read_frame(file: BinaryIO) -> tuple[bytes, bytes]:
    """Return kind and content of the next frame; two empty values at the end."""
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return b"", b""
    kind, size = HEAD.unpack(head)
    data = file.read(size)
    return (kind, data) if len(data) == size else (b"", b"")
