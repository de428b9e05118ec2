"""Single signs of the releases that a log can come from: how its lines begin, and the Python that ran it.

A fingerprint asks for several places in vLLM's code. Each of these is one word, and bounds what is offered all the same.
"""

from __future__ import annotations

from ..patterns.lazy import LazyPattern

_SIGNS = (
    # vLLM's own prefix got its opening bracket with 0.8.0: INFO 01-02 03:04:05 [core.py:7] …
    (".py:", LazyPattern(r"(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \w{1,60}\.py:\d+\] "), "<0.8"),
    (".py:", LazyPattern(r"(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[\w[\w/]{0,60}\.py:\d+\] "), ">=0.8"),
    # The attention layer was one file, and took the batch as InputMetadata, before there were backends for it.
    ("layers/attention.py", LazyPattern(r"\bvllm/model_executor/layers/attention\.py\b"), "<0.4"),
    ("input_metadata.", LazyPattern(r"\binput_metadata\.\w"), "<0.4"),
    # No later release can be installed there (requires-python).
    ("python3.8", LazyPattern(r"[/\\]python3\.8[/\\](?:site|dist)-packages[/\\]"), "<0.6.4"),
    ("python3.9", LazyPattern(r"[/\\]python3\.9[/\\](?:site|dist)-packages[/\\]"), "<0.11.1"),
)
"""What each match holds and is quickly looked for, what a log shows, and the releases that can show it."""


_DATE = LazyPattern(r"(?m)^(?:\([^()\n]{1,60}\) |\[)?(?P<date>20[23]\d-[01]\d-[0-3]\d)[ T][0-2]\d:[0-5]\d:[0-5]\d")
_NEWEST = (
    ("2024-01-01", "0.2.6"), ("2024-04-01", "0.4.0"), ("2024-05-30", "0.4.2"), ("2024-07-01", "0.5.0.post1"), ("2024-09-01", "0.5.5"),
    ("2024-10-01", "0.6.2"), ("2024-11-10", "0.6.3.post1"), ("2025-01-01", "0.6.6.post1"), ("2025-02-15", "0.7.2"), ("2025-04-01", "0.8.2"),
    ("2025-05-15", "0.8.5.post1"), ("2025-07-01", "0.9.1"), ("2025-08-10", "0.10.0"), ("2025-10-01", "0.10.2"), ("2025-11-10", "0.11.0"),
    ("2026-01-01", "0.13.0"), ("2026-04-01", "0.18.1"), ("2026-07-01", "0.24.0"),
)  # fmt: skip
"""Days, and the newest release that the registry had at the end of each."""


def ranges_told_by(text: str) -> list[str]:
    """Return ranges of releases (``<0.8``) that lines and paths of a log leave.

    Args:
        text: Lines as they stand in the log, prefixes included, and paths of stack frames.
    """
    return [releases for sign, shape, releases in _SIGNS if sign in text and shape.search(text)] + _dated(text)


def _dated(text: str) -> list[str]:
    """Return the releases that there were when a line was written: what began with a date and a time, and not a file's name."""
    found = _DATE.search(text) if "20" in text else None
    newest = next((release for day, release in _NEWEST if found is not None and found["date"] <= day), "")
    return [f"<={newest}"] if newest else []
