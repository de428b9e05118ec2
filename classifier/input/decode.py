"""Turns raw bytes into plain UTF-8 text lines without changing the number of newlines.

What one raw line holds of several messages is split by carriage returns. Every step looks at one line at a time, so
that the result does not depend on how the input was cut into blocks.
"""

from __future__ import annotations

import re

from ..patterns.lazy import LazyPattern
from .rare_words import SMALL, RareWords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from codecs import IncrementalDecoder

# Terminal sequences: CSI (colours, cursor), strings that run to their terminator (titles, links, Buildkite's times),
# all other ones.
ANSI = LazyPattern(
    rb"\x1b(?:\[[0-?]*+[!-/]*+ ?[@-~]?"
    rb"|[\]_PX^][^\x07\x1b\r\n]{0,4096}+(?:\x07|\x1b\\)"
    rb"|[ -/]*+[0-~])?"
)
# Colours whose escape character got lost on the way through a clipboard, or was written out.
_ORPHANS = LazyPattern(
    rb"(?:\\x1b|\\u001b|\\033|\^\[|\xe2\x90\x9b)?\[(?:0;0|0|1;3\d|0;3\d|3\d|1|01;3\d|22|39|9\d|1;9\d)m"
)
_ORPHAN_SIGNS = (b"[0;0m", b"[0m", b"[39m", b"[1;36m", b"[36m")
_CARRIAGE = LazyPattern(rb"\r+\n")
# A progress bar that was still being drawn when another process wrote its record. Each begins with a literal, which
# makes it fast.
_GLUED = (
    rb"(?:, [^\]\r\n]{0,80})?\]) *"
    rb"(?=\(\w[\w =]{0,40} pid=\d|(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)[ :]|Traceback |\[rank\d)"
)
_BARS = tuple((sign, LazyPattern(rb"(" + sign + _GLUED)) for sign in (b"it/s", b"s/it"))
_FLAT_FRAMES = (b'\\n  File "', b'\\n  File \\"')
# What asks for one of the two, with what must follow.
_UNUSUAL = RareWords((*_FLAT_FRAMES, b"it/s]", b"it/s, ", b"s/it]", b"s/it, "))
# The process before vLLM's lines, as several releases colour it.
_COLOURED = LazyPattern(rb"\n\x1b\[[\d;]*m([^\x1b\r\n]*)\x1b\[[\d;]*m")
COLOURED = 8
"""Processes whose colours are taken off all their lines at once, before escape sequences are looked at one by one."""
_FLAT_TRACE = LazyPattern(rb'^[^\n]*\\n\s*File \\*"[^\n]*', re.MULTILINE)
_REQUESTS = RareWords((b" Received request ",))
KEPT = 64
"""Bytes kept of a line from those words on: the request's id."""
HEAD = 1 << 16
"""Bytes of the start that show whether the log is wrapped in JSON, and whether colours lost their escape character."""

_BOMS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


class Cleaner:
    """Cleans block after block; keeps what the first bytes told (encoding, JSON lines)."""

    def __init__(self) -> None:
        self._decoder: IncrementalDecoder | None = None
        self._started = False
        self._json = self._orphans = False

    def decode(self, chunk: bytes) -> bytes:
        """Return ``chunk`` as UTF-8 without NULs.

        UTF-16 and UTF-32 are told by their byte order mark or their zero bytes. The first chunk must be long enough to
        tell (some hundred bytes, or the whole input).
        """
        if not self._started:
            self._started = True
            name = _wide_encoding(chunk)
            if name:
                import codecs

                self._decoder = codecs.getincrementaldecoder(name)("replace")
            elif chunk.startswith(b"\xef\xbb\xbf"):
                chunk = chunk[3:]
        if self._decoder is not None:
            chunk = self._decoder.decode(chunk).encode("utf-8", "surrogatepass")
        # Holes of NULs, as a truncated file has under its writer, go before lines are looked for: they may be
        # gigabytes.
        return chunk.translate(None, b"\0") if b"\0" in chunk else chunk

    def finish(self) -> bytes:
        """Return what the decoder still held."""
        if self._decoder is None:
            return b""
        return self._decoder.decode(b"", True).encode("utf-8", "surrogatepass")

    def look(self, head: bytes) -> None:
        """Note what the first decoded bytes (``HEAD`` of them, or all) tell about the whole."""
        from .json_lines import looks_like_json

        head = head[:HEAD]
        self._json = looks_like_json(head)
        plain = ANSI.sub(b"", head) if b"\x1b" in head else head
        self._orphans = any(sign in plain for sign in _ORPHAN_SIGNS)

    def clean(self, data: bytes, prompts: bool = False) -> bytes:
        """Return ``data`` (whole lines) without colours, wrapped records unwrapped; as many newlines as before.

        Args:
            data: Decoded.
            prompts: Whether what follows a request on its line stays: where newlines are lost, it is the rest of the log.
        """
        # The order is that of speed: prompts, most of a busy server's log, go first; one byte is looked for before two, which
        # takes fifty times as long.
        if self._json:
            from .json_lines import unwrap_json

            data = unwrap_json(data)
        if not prompts:
            data = drop_prompts(data)
        if not self._json and b"{" in data and b'{"' in data:
            from .json_lines import unwrap_json

            data = unwrap_json(data, strict=True)
        if b"\r" in data and b"\r\n" in data:
            data = data.replace(b"\r\n", b"\n")
            if b"\r\n" in data:
                data = _CARRIAGE.sub(b"\n", data)
        if b"\x1b" in data:
            data = _drop_colours(data)
        if self._orphans:
            data = _ORPHANS.sub(b"", data)
        if _UNUSUAL.any_in(data):
            if any(sign in data for sign in _FLAT_FRAMES):
                data = _FLAT_TRACE.sub(_unflatten, data)
            for sign, bar in _BARS:
                if sign in data:
                    data = bar.sub(rb"\1\r", data)
        return data


def _drop_colours(data: bytes) -> bytes:
    """Remove escape sequences."""
    if len(data) > SMALL:
        for _ in range(COLOURED):
            found = _COLOURED.match(data, max(0, data.find(b"\n\x1b")))
            if found is None:
                break
            data = data.replace(found.group(), b"\n" + found.group(1))
    # Line by line: to find the next one is cheap, an expression over all of it is not.
    parts = []
    position = 0
    while (at := data.find(b"\x1b", position)) >= 0:
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        parts.append(data[position:at])
        parts.append(ANSI.sub(b"", data[at:end]))
        position = end
    parts.append(data[position:])
    return b"".join(parts)


def drop_prompts(data: bytes) -> bytes:
    """Cut the lines on which vLLM logs requests after the request's id.

    What users wrote is no evidence, holds all the words that rules look for, and is most of a busy server's log.
    """
    parts = []
    position = 0
    returns = b"\r" in data
    for at in _REQUESTS.starts_in(data):
        if at < position:
            continue  # a prompt's own words
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if returns and (split := data.find(b"\r", at, end)) >= 0:
            end = split
        if end - at > KEPT:
            parts.append(data[position : at + KEPT])
            position = end
    if not parts:
        return data
    parts.append(data[position:])
    return b"".join(parts)


def _wide_encoding(chunk: bytes) -> str:
    """Return the name of the encoding of several bytes a character in which a log begins, or an empty string."""
    for mark, name in _BOMS:
        if chunk.startswith(mark):
            return name
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
