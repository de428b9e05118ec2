"""Whether a text looks as if it had been pasted, exported or converted: asked of every log, so only cheap questions.

What is told here is looked at closely by ``mending``; a log as a server writes it must not get that far.
"""

from __future__ import annotations

from ..patterns.lazy import LazyPattern
from .rare_words import RareWords

FLAT_LINE = 200
"""A line longer than this, with several beginnings of lines in it, has lost its newlines."""
FRAMES = 64
"""Frames of stacks that are looked at."""
FLAT_FROM, FLAT_LEAST = 100, 2
"""Such beginnings behind its own prefix."""
HEAD = 1 << 16
"""Bytes of the start that show whether lines are wrapped."""
NARROW = 250
"""Characters of the widest terminal that lines are thought to be wrapped at."""
_FLAT = (b"pid=", b'File "', b"INFO ", b"ERROR ", b"WARNING ", b"INFO: ", b"ERROR: ", b"Traceback (")
_FLAT_ALONE = (b"usage: ", b": error: ", b"Error: ")
"""The same where one line is all that there is."""
_TAGS = (b"<br", b"</pre>", b"</div>", b"</span>", b"</p>", b"</td>", b"</code>", b"</html>", b"</summary>")
_ENTITIES = (b"&quot;", b"&lt;", b"&gt;", b"&#", b"&nbsp;", b"&amp;")
_TYPESET = (b"\xe2\x80\x9c", b"\xe2\x80\x9d", b"\xe2\x80\x98", b"\xe2\x80\x99", b"\xe2\x80\x93", b"\xe2\x80\x94")
_ESCAPED = (b"\\nTraceback", b"\\n  File", b"\\nINFO ", b"\\nERROR ", b"\\nWARNING ", b"\\n(", b"\\n', '", b"%20")
_SOMEWHERE = (*_TAGS, *_ENTITIES, *_TYPESET, *_ESCAPED, b"]:\n", b'File\n"', b"Error:\n", b"Exception:\n")
"""What may stand anywhere in a text, and stands nowhere in a log as a server writes it."""
FEW = 20
"""Lines up to which a text may be one record that somebody copied."""
_MARK = LazyPattern(rb"[-*+`|]|\[\d{1,2}:\d\d(?::\d\d)?(?: [AP]M)?\] ?<?@?[\w.-]{1,30}>?: ")
"""How lines of a list, a diff, a table and a chat begin."""
_PLACE = LazyPattern(rb"(?m)^\s{0,8}[\w.~/\-]+/[\w\-]+\.py:\d+[ \t]+[a-z_][\w.]*(?:\(\))?$")
"""A frame of a stack as people write it."""
_CELLS = (b"message", b"msg", b"log", b"line", b"text", b"textpayload", b"body", b"content", b"event", b"_raw", b"raw")
_SIGNS = RareWords(_SOMEWHERE)
_FRAME = RareWords((b'File "',))
_BEGINNINGS = RareWords(_FLAT)
_STARTS = b"(IWED[T \t<>{\"'-|`$#~^=0123456789\r"


def looks_damaged(data: bytes) -> bool:
    """Return whether whole lines, at most a block of them, are worth a closer look."""
    # One byte is looked for before two, which takes fifty times as long.
    if b"\r" in data and b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    return (
        _SIGNS.any_in(data)
        or (b"^" in data and b"^M" in data)
        or ((b'File "' in data[:HEAD] or _FRAME.any_in(data)) and _cut_frame(data))
        or (b"\xc2" in data and b"\xc2\xa0" in data)
        or _numbered(data[:4096])
        or _indented(data)
        or _exported(data)
        or _marked(data)
        or _flat(data)
        or len(_PLACE.findall(data[:4096])) > 1
        or _wrapped(data[:HEAD])
    )


def _marked(data: bytes) -> bool:
    """Return whether the first lines are of a list, a diff, a chat or a table, or few lines hold a record with lines in it."""
    if b"\\n" in data and data.count(b"\n", 0, HEAD) <= FEW:
        return True
    head = data[:2048].split(b"\n")[:3]
    return len(head) == 3 and all(_MARK.match(line) for line in head)


def _exported(data: bytes) -> bool:
    """Return whether it may be a table, or records laid out over several lines."""
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head[:1] in (b"{", b"["):
        return head[1:2] in (b"\n", b"\r", b" ", b"{") or data.count(b"\n", 0, -1) == 0
    first = head[: head.find(b"\n")].lower() if b"\n" in head else b""
    if len(first) < 400:
        for sign in (b",", b";", b"\t"):
            if sign in first and any(cell.strip(b'" \r@') in _CELLS for cell in first.split(sign)):
                return True
    # Without its head: rows of quoted cells, a time stamp as a cell, records laid out.
    return (
        b"z," in first[:40]
        or b"z\t" in first[:40]
        or b'",' in first[:40]
        or head.count(b'"\n"') >= 2
        or head.count(b'",\n  ') >= 3
    )


def _cut_frame(data: bytes) -> bool:
    """Return whether a frame of a stack ends before its line number, among the first that are shown."""
    at = data.find(b'File "')
    for _ in range(FRAMES):
        if at < 0:
            return False
        end = data.find(b"\n", at)
        path, quote, rest = data[at + 6 : max(end, at + 6)].rstrip().partition(b'"')
        if end >= 0 and path and (not quote or (rest.startswith(b",") and b", line ".startswith(rest))):
            return True
        at = data.find(b'File "', at + 6)
    return False


def _indented(data: bytes) -> bool:
    """Return whether nearly all lines begin with a blank or a tab."""
    if data[:1] not in (b" ", b"\t"):
        return False
    lines = data.count(b"\n", 0, HEAD)
    indented = sum(data.count(sign, 0, HEAD) for sign in (b"\n ", b"\n\t", b"\n\n"))
    return lines >= 3 and (lines - indented) * 20 <= lines + 20


def _numbered(head: bytes) -> bool:
    """Return whether the first two lines begin with numbers that count up."""
    first, _, second = head.partition(b"\n")
    digits = first.lstrip(b" \t")[:7]
    if not digits[:1].isdigit():
        return False
    second = second.lstrip(b" \t")[:7]
    starts = (digits[:size] for size in range(1, len(digits) + 1) if digits[:size].isdigit())
    return any(second.startswith(b"%d" % (int(start) + 1)) for start in starts)


def _flat(data: bytes) -> bool:
    """Return whether a line holds the beginnings of several."""
    lines = [line for line in data.split(b"\n") if len(line) > FLAT_LINE]
    # Nearly always there is none behind the prefixes of all long lines together.
    if lines and _BEGINNINGS.any_in(b"\n".join([line[FLAT_FROM:] for line in lines])):
        for line in lines:
            later = sum(line.count(sign, FLAT_FROM) for sign in _FLAT)
            if later >= FLAT_LEAST or (later and sum(line.count(sign) for sign in _FLAT[1:]) > FLAT_LEAST):
                return True
    # A few words in one line are all that there is.
    return b"\n" not in data[:-1] and any(data.find(sign, 20) > 0 for sign in (*_FLAT, *_FLAT_ALONE))


def _wrapped(head: bytes) -> bool:
    """Return whether lines end at the width of a terminal or of a mail, and go on in the next."""
    lines = head.split(b"\n")
    sizes = [len(line) if line.isascii() else len(line.decode("utf-8", "replace")) for line in lines]
    width = max(
        (
            size
            for size, after in zip(sizes, lines[1:], strict=False)
            if size > 40 and after and after[:1] not in _STARTS
        ),
        default=0,
    )
    return 0 < width <= NARROW and sum(size > width for size in sizes) * 20 <= len(sizes)
