"""Turns raw bytes into plain UTF-8 text lines without changing the number of newlines."""
from __future__ import annotations

import re

from .lazy import LazyPattern

_ANSI = LazyPattern(
    rb"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|_[^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^()][0-9A-Za-z]?)"
)
# Colours whose escape character got lost on the way through a clipboard, or was written out.
_ORPHANS = LazyPattern(rb"(?:\\x1b|\\u001b|\\033|\^\[|\xe2\x90\x9b)?\[(?:0;0|0|1;3\d|0;3\d|3\d|1|01;3\d|22|39|9\d|1;9\d)m")
_ORPHAN_SIGNS = (b"[0;0m", b"[0m", b"[39m", b"[1;36m", b"[36m")
_FLAT_TRACE = LazyPattern(rb'^[^\n]*\\n\s*File \\*"[^\n]*', re.M)
_FLAT_STARTS = LazyPattern(
    rb" (?=(?:\(\w[\w =.]{0,40} pid=\d+\) )?(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d )"
    rb'|\s(?=Traceback \(most recent call last\))|\s(?=\s{0,3}File "[^"\n]{1,200}", line \d+, in )'
    rb"|(?<=[)\w'\"\]]) (?=(?:\w+\.){0,4}[A-Z]\w*(?:Error|Exception): )"
)
_REQUEST = b" Received request "
FLAT_LINE = 600
"""A line longer than this with several log prefixes in it has lost its newlines."""


class Cleaner:
    """Cleans block after block; keeps what the first bytes told (encoding, JSON lines)."""

    def __init__(self) -> None:
        self._decoder: object | None = None
        self._started = False
        self._json: bool | None = None
        self._orphans: bool | None = None

    def decode(self, chunk: bytes) -> bytes:
        """Return ``chunk`` as UTF-8 where the input is UTF-16 (by its byte order mark or its zero bytes), else unchanged."""
        if not self._started:
            self._started = True
            name = _utf16(chunk)
            if name:
                import codecs

                self._decoder = codecs.getincrementaldecoder(name)("replace")
            elif chunk.startswith(b"\xef\xbb\xbf"):
                chunk = chunk[3:]
        if self._decoder is None:
            return chunk
        text: str = self._decoder.decode(chunk)  # type: ignore[attr-defined]
        return text.encode("utf-8", "surrogatepass")

    def finish(self) -> bytes:
        """Return what the decoder still held."""
        if self._decoder is None:
            return b""
        return self._decoder.decode(b"", True).encode("utf-8", "surrogatepass")  # type: ignore[attr-defined,no-any-return]

    def clean(self, data: bytes) -> bytes:
        """Return ``data`` without colours and NULs, wrapped records unwrapped; as many newlines as before."""
        if b"\0" in data:
            data = data.translate(None, b"\0")
        if self._json is None and data.strip():
            from .unwrap import looks_like_json

            self._json = looks_like_json(data)
        if self._json:
            from .unwrap import unwrap_json

            data = unwrap_json(data)
        if b"\x1b" in data:
            data = _drop_colours(data)
        if self._orphans is None and data.strip():
            self._orphans = any(sign in data for sign in _ORPHAN_SIGNS)
        if self._orphans:
            data = _ORPHANS.sub(b"", data)
        if _REQUEST in data:
            data = _drop_prompts(data)
        if b'\\n  File "' in data or b'\\n  File \\"' in data:
            data = _FLAT_TRACE.sub(_unflatten, data)
        if len(data) > FLAT_LINE and data.count(b"\n") * FLAT_LINE < len(data):
            data = _split_flat(data)
        return data


def _drop_colours(data: bytes) -> bytes:
    """Remove escape sequences, line by line where few lines have any."""
    parts = []
    position = 0
    while (at := data.find(b"\x1b", position)) >= 0:
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        parts.append(data[position:at])
        parts.append(_ANSI.sub(b"", data[at:end]))
        position = end
    parts.append(data[position:])
    return b"".join(parts)


def _drop_prompts(data: bytes) -> bytes:
    """Cut the lines on which vLLM logs requests after the request's id.

    What users wrote is no evidence, holds all the words that rules look for, and is most of a busy server's log.
    """
    parts = []
    position = 0
    while (at := data.find(_REQUEST, position)) >= 0:
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        split = data.find(b"\r", at, end)
        if split >= 0:
            end = split
        parts.append(data[position : min(end, at + 64)])
        position = end
    parts.append(data[position:])
    return b"".join(parts)


def _utf16(chunk: bytes) -> str:
    if chunk.startswith(b"\xff\xfe"):
        return "utf-16"
    if chunk.startswith(b"\xfe\xff"):
        return "utf-16"
    head = chunk[:2000]
    if len(head) < 8:
        return ""
    odd, even = head[1::2].count(0), head[0::2].count(0)
    half = len(head) // 2
    if odd > 0.6 * half and even < 0.1 * half:
        return "utf-16-le"
    if even > 0.6 * half and odd < 0.1 * half:
        return "utf-16-be"
    return ""


def _unflatten(found: re.Match[bytes]) -> bytes:
    return found.group().replace(b"\\r\\n", b"\r").replace(b"\\n", b"\r").replace(b'\\"', b'"')


def _split_flat(data: bytes) -> bytes:
    lines = data.split(b"\n")
    for index, line in enumerate(lines):
        if len(line) > FLAT_LINE and len(line) < 1 << 20 and len(_FLAT_STARTS.findall(line)) >= 3:
            lines[index] = _FLAT_STARTS.sub(b"\r", line)
    return b"\n".join(lines)
