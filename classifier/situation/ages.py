"""Single signs of the releases that a log can come from: how its lines begin, its dates, the Python that ran it.

A fingerprint asks for several places in vLLM's code. Each of these is one word, and bounds what is offered all the same.
"""

from __future__ import annotations

from bisect import bisect_right

from ..patterns.lazy import LazyPattern

_NAMES = "the names of its processes"
_SIGNS = (
    # vLLM's own prefix got its opening bracket with 0.8.0: INFO 01-02 03:04:05 [core.py:7] …
    (
        ".py:",
        LazyPattern(r"(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \w{1,60}\.py:\d+\] "),
        "<0.8",
        "the prefix of its lines",
    ),
    (
        ".py:",
        LazyPattern(r"(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[\w[\w/]{0,60}\.py:\d+\] "),
        ">=0.8",
        "the prefix of its lines",
    ),
    # How processes name themselves before their lines, read in every release's package.
    ("(VllmWorker rank=", LazyPattern(r"\(VllmWorker rank=\d+ pid=\d"), ">=0.6.5,<0.10.1", _NAMES),
    ("(VllmWorker ", LazyPattern(r"\(VllmWorker (?:TP|PP)\d+[ _]"), ">=0.10.1,<0.10.2", _NAMES),
    ("(EngineCore_", LazyPattern(r"\(EngineCore_\d+ pid=\d"), ">=0.10.1,<0.10.2", _NAMES),
    ("(EngineCore_DP", LazyPattern(r"\(EngineCore_DP\d+ pid=\d"), ">=0.10.2", _NAMES),
    ("(Worker", LazyPattern(r"\(Worker(?:_[A-Z]{2}\d+)* pid=\d"), ">=0.10.2", _NAMES),
    ("(APIServer", LazyPattern(r"\(APIServer(?:_\d+)? pid=\d"), ">=0.10.1", _NAMES),
    ("(EngineCore pid=", LazyPattern(r"\(EngineCore pid=\d"), ">=0.18", _NAMES),
    # The first engine was gone with 0.11, and V1's files came with 0.6.4.
    ("vllm/v1/", LazyPattern(r"\bvllm/v1/\w"), ">=0.6.4", "the paths of its files"),
    # The attention layer was one file, and took the batch as InputMetadata, before there were backends for it.
    (
        "layers/attention.py",
        LazyPattern(r"\bvllm/model_executor/layers/attention\.py\b"),
        "<0.4",
        "the paths of its files",
    ),
    ("input_metadata.", LazyPattern(r"\binput_metadata\.\w"), "<0.4", "the lines of its code"),
    # No later release can be installed there (requires-python).
    ("python3.8", LazyPattern(r"[/\\]python3\.8[/\\](?:site|dist)-packages[/\\]"), "<0.6.4", "its Python"),
    ("python3.9", LazyPattern(r"[/\\]python3\.9[/\\](?:site|dist)-packages[/\\]"), "<0.11.1", "its Python"),
)
"""What each match holds and is quickly looked for, what a log shows, the releases that can show it, and what that is."""


_COPIES = LazyPattern(r"EngineCore_DP[1-9]|data[-_]parallel[-_]size['\"]?[=: ]+(?!1\b)\d")
"""A server with several engines."""
_DATE = LazyPattern(r"20[23]\d-[01]\d-[0-3]\d(?=[ T][0-2]\d:[0-5]\d:[0-5]\d)")
_BEFORE = LazyPattern(r"(?:\([^()\n]{1,60}\) |\[)?$")
"""What may stand before it on its line."""
_RELEASED = (
    ("2023-09-28", "0.2.0"), ("2023-10-16", "0.2.1"), ("2023-10-17", "0.2.1.post1"), ("2023-11-19", "0.2.2"),
    ("2023-12-03", "0.2.3"), ("2023-12-11", "0.2.4"), ("2023-12-14", "0.2.5"), ("2023-12-17", "0.2.6"),
    ("2024-01-04", "0.2.7"), ("2024-01-31", "0.3.0"), ("2024-02-17", "0.3.1"), ("2024-02-21", "0.3.2"),
    ("2024-03-01", "0.3.3"), ("2024-03-31", "0.4.0"), ("2024-04-03", "0.4.0.post1"), ("2024-04-24", "0.4.1"),
    ("2024-05-05", "0.4.2"), ("2024-06-01", "0.4.3"), ("2024-06-11", "0.5.0"), ("2024-06-14", "0.5.0.post1"),
    ("2024-07-06", "0.5.1"), ("2024-07-15", "0.5.2"), ("2024-07-23", "0.5.3"), ("2024-07-23", "0.5.3.post1"), ("2024-08-05", "0.5.4"),
    ("2024-08-23", "0.5.5"), ("2024-09-05", "0.6.0"), ("2024-09-11", "0.6.1"), ("2024-09-13", "0.6.1.post1"), ("2024-09-13", "0.6.1.post2"),
    ("2024-09-25", "0.6.2"), ("2024-10-14", "0.6.3"), ("2024-10-17", "0.6.3.post1"), ("2024-11-15", "0.6.4"), ("2024-11-15", "0.6.4.post1"),
    ("2024-12-18", "0.6.5"), ("2024-12-27", "0.6.6"), ("2024-12-27", "0.6.6.post1"), ("2025-01-27", "0.7.0"), ("2025-02-01", "0.7.1"),
    ("2025-02-06", "0.7.2"), ("2025-02-20", "0.7.3"), ("2025-03-18", "0.8.0"), ("2025-03-19", "0.8.1"),
    ("2025-03-25", "0.8.2"), ("2025-04-06", "0.8.3"), ("2025-04-15", "0.8.4"), ("2025-04-28", "0.8.5"),
    ("2025-05-02", "0.8.5.post1"), ("2025-05-28", "0.9.0"), ("2025-05-30", "0.9.0.1"), ("2025-06-10", "0.9.1"),
    ("2025-07-08", "0.9.2"), ("2025-07-25", "0.10.0"), ("2025-08-19", "0.10.1"), ("2025-08-20", "0.10.1.1"),
    ("2025-09-13", "0.10.2"), ("2025-10-04", "0.11.0"), ("2025-11-19", "0.11.1"), ("2025-11-20", "0.11.2"),
    ("2025-12-03", "0.12.0"), ("2025-12-19", "0.13.0"), ("2026-01-20", "0.14.0"), ("2026-01-24", "0.14.1"),
    ("2026-01-29", "0.15.0"), ("2026-02-05", "0.15.1"), ("2026-02-26", "0.16.0"), ("2026-03-07", "0.17.0"),
    ("2026-03-11", "0.17.1"), ("2026-03-20", "0.18.0"), ("2026-03-31", "0.18.1"), ("2026-04-03", "0.19.0"),
    ("2026-04-18", "0.19.1"), ("2026-04-27", "0.20.0"), ("2026-05-03", "0.20.1"), ("2026-05-10", "0.20.2"),
    ("2026-05-15", "0.21.0"), ("2026-05-29", "0.22.0"), ("2026-06-05", "0.22.1"), ("2026-06-13", "0.23.0"),
    ("2026-06-30", "0.24.0"), ("2026-07-11", "0.25.0"), ("2026-07-14", "0.25.1"), ("2026-07-25", "0.26.0"),
    ("2026-08-10", "0.27.0"), ("2026-08-11", "0.27.1"), ("2026-08-26", "0.28.0"), ("2026-09-09", "0.29.0"),
    ("2026-09-22", "0.30.0"), ("2026-10-05", "0.31.0"), ("2026-10-18", "0.32.0"), ("2026-11-02", "0.33.0"),
)  # fmt: skip
"""Days on which releases came to the registry (its own upload times), in order."""
RELEASES = tuple(release for _, release in _RELEASED)
"""All releases that are known, oldest first."""


def ranges_told_by(text: str) -> list[tuple[str, str]]:
    """Return ranges of releases (``<0.8``) that lines and paths of a log leave, each with the sign in words.

    Args:
        text: Lines as they stand in the log, prefixes included, and paths of stack frames.
    """
    found = [(releases, told) for sign, shape, releases, told in _SIGNS if sign in text and shape.search(text)]
    if "(EngineCore_DP0 " in text and not _COPIES.search(text):
        found.append(("<0.18", _NAMES))  # later releases leave the rank out where there is one engine
    return found + _dated(text)


def _dated(text: str) -> list[tuple[str, str]]:
    """Return the releases that there were when the last line was written that begins with a date and a time."""
    dates = (
        found.group()
        for found in _DATE.made.finditer(text)
        if _BEFORE.made.match(text, text.rfind("\n", 0, found.start()) + 1, found.start())
    )
    latest = max(dates, default="")
    if not latest or latest >= _RELEASED[-1][0]:
        return []  # there may be releases that are not known here
    # A checkout is of the release that comes next, and calls itself so.
    place = bisect_right([released for released, _ in _RELEASED], latest)
    return [(f"<={_RELEASED[place][1]}", f"its date, {latest}")]
