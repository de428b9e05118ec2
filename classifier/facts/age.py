"""Single signs of the releases that a log can come from: how its lines begin, and the Python that ran it.

A fingerprint asks for several places in vLLM's code. Each of these is one word, and bounds what is offered all the same.
"""

from __future__ import annotations

from ..patterns.lazy import LazyPattern

_SIGNS = (
    # vLLM's own prefix got its opening bracket with 0.8.0: INFO 01-02 03:04:05 [core.py:7] …
    (".py:", LazyPattern(r"(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \w{1,60}\.py:\d+\] "), "<0.8"),
    (".py:", LazyPattern(r"(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[\w[\w/]{0,60}\.py:\d+\] "), ">=0.8"),
    # No later release can be installed there (requires-python).
    ("python3.8", LazyPattern(r"[/\\]python3\.8[/\\](?:site|dist)-packages[/\\]"), "<0.6.4"),
    ("python3.9", LazyPattern(r"[/\\]python3\.9[/\\](?:site|dist)-packages[/\\]"), "<0.11.1"),
)
"""What each match holds and is quickly looked for, what a log shows, and the releases that can show it."""


def ranges_told_by(text: str) -> list[str]:
    """Return ranges of releases (``<0.8``) that lines and paths of a log leave.

    Args:
        text: Lines as they stand in the log, prefixes included, and paths of stack frames.
    """
    return [releases for sign, shape, releases in _SIGNS if sign in text and shape.search(text)]
