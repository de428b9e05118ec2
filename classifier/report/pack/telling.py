"""What in a line tells, whatever rules know of it, and how a long line is cut without cutting through that."""

from __future__ import annotations

from ...patterns.lazy import LazyPattern

SIGNS = (
    b"rror", b"ERROR", b"xception", b"Traceback", b"WARN", b"arning", b"FATAL", b"atal", b"ailed", b"AILED", b"illed",
    b"bort", b"annot", b"ould not", b"not found", b"ssert", b"imeout", b"imed out", b"SIG", b"terminate", b"out of memory",
    b"OOM", b"egmentation", b"nsupported", b"not support", b"nvalid", b"ismatch", b"died", b"dead", b"panic", b"refused",
    b"denied", b"exceed", b"No such", b"o space", b"nable to", b"insufficient", b"missing", b"undefined", b"deprecated",
    b"ignored", b"allback", b"falling back",
)  # fmt: skip
"""Words of which at least one stands in nearly every line that tells of trouble."""
_STRONG = LazyPattern(
    r"\b[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)\b|\b(?:ERROR|FATAL|CRITICAL|Fatal|fatal)\b|[Oo]ut of memory|OOM"
    r"|[Ss]egmentation fault|SIG[A-Z]{3,5}|[Kk]illed|[Aa]bort(?:ed|ing)\b|[Aa]ssertion|[Tt]imed out|[Tt]imeout|[Ff]ailed|FAILED|[Ff]ailure"
    r"|[Cc]annot|[Cc]ould not|[Nn]ot found|[Uu]nsupported|not support|[Ii]nvalid|[Mm]ismatch|\bdied\b|\bdead\b|[Uu]nable to"
    r"|[Nn]o such|[Dd]enied|[Rr]efused|undefined symbol|panic"
)
_WEAK = LazyPattern(
    r"WARN(?:ING)?\b|[Ww]arning|[Dd]eprecated|[Ff]all(?:ing)? ?back|[Mm]issing|[Ii]gnored|[Ee]xceed|[Ee]rror"
)
_HARMLESS = LazyPattern(
    r"errors? ?[:=] ?0\b|\b(?:no|No|0) errors?\b|DeprecationWarning|FutureWarning|UserWarning|resource_tracker|\bINFO\b"
)
LEFT_OUT = " […] "
"""Stands where a line was cut."""
BEFORE = 0.3
"""Share of what is shown around a place that stands before it."""


def strength(text: str) -> int:
    """Return how much a line tells by its words alone: 0 nothing, 1 a warning, 2 trouble."""
    if _STRONG.search(text, 0, 4000):
        return 1 if _HARMLESS.search(text, 0, 400) else 2
    return 1 if _WEAK.search(text, 0, 4000) else 0


def cut_around(text: str, most: int, tells: str = "") -> str:
    """Return a line cut to ``most`` characters around what tells in it, its begin kept.

    Args:
        text: The line.
        most: Characters, the marks of what is left out not counted.
        tells: Words of it that must stay, where they are known.
    """
    if len(text) <= most + len(LEFT_OUT):
        return text
    start, end = _place(text, tells)
    if end <= most:
        return text[:most].rstrip() + LEFT_OUT.rstrip()
    head = min(80, most // 4)
    room = most - head
    low = max(head, min(start - int(BEFORE * room), len(text) - room))
    if end - start <= room < end - low:
        low = end - room
    gap = LEFT_OUT if low > head else ""
    high = low + room
    return text[:head] + gap + text[low:high] + (LEFT_OUT.rstrip() if high < len(text) else "")


def _place(text: str, tells: str) -> tuple[int, int]:
    """Return where what tells begins and ends: the known words, else the first sign of trouble that is no level."""
    at = text.find(tells) if tells else -1
    if at >= 0:
        return at, at + len(tells)
    found = _STRONG.search(text, 40) or _STRONG.search(text) or _WEAK.search(text)
    return (found.start(), found.end()) if found is not None else (0, 0)
