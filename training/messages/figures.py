"""How much of what vLLM can die of is read, and how much is decided by its words alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...corpus.messages import Row
from ...corpus.messages.matching import Matcher, decided

ENDING = ("start", "any")
"""What an error that can end a start ends."""
WORDS = (
    "num",
    "len",
    "size",
    "count",
    "rank",
    "max",
    "min",
    "world",
    "bits",
    "bytes",
    "memory",
    "port",
    "timeout",
    "dim",
    "got",
)


@dataclass(slots=True, frozen=True)
class Coverage:
    """Shares of some errors that are answered by their words alone."""

    errors: int
    by_rules: int
    """Named by a rule, rightly or not."""
    rules_right: int
    """Named by a rule with the bucket of the catalogue."""
    either: int
    """Named by a rule or, where none speaks, by the catalogue."""
    either_right: int
    wrong: int
    """Named by either with another bucket than the catalogue's label."""


def ends_a_start(row: Row) -> bool:
    """Return whether a row is an error, not a line of a log, that can end a start or the running engine."""
    return row.kind in ("raise", "assert", "argparse") and row.label.fatal in ENDING


def printed(row: Row) -> str:
    """Return a row as the last line of a traceback has it, with examples in its slots."""
    pieces = row.template.split("{}")
    text = pieces[0]
    for piece in pieces[1:]:
        number = any(word in text[-24:].lower() for word in WORDS)
        text += ("4" if number else "example") + piece
    name = row.name or ("AssertionError" if row.kind == "assert" else "ValueError")
    return f"{name}: {text}\n"


def coverage(rows: Iterable[Row], matcher: Matcher, ask_rules: Callable[[str], str]) -> Coverage:
    """Return what rules say of the rows, and what rules and catalogue say together.

    Args:
        rows: The errors that are asked about.
        matcher: The catalogue, or an older one.
        ask_rules: Returns the bucket that rules name for a piece of log, or "".
    """
    count: Counter[str] = Counter()
    for row in rows:
        text = printed(row)
        ruled = ask_rules(text)
        found = decided(matcher.find(text)) if not ruled else None
        answer = ruled or (found.label.bucket if found else "")
        count["errors"] += 1
        count["by_rules"] += bool(ruled)
        count["rules_right"] += ruled == row.label.bucket
        count["either"] += bool(answer)
        count["either_right"] += answer == row.label.bucket
        count["wrong"] += bool(answer) and answer != row.label.bucket
    return Coverage(**{name: count[name] for name in Coverage.__dataclass_fields__})


def by_origin(rows: Iterable[Row]) -> Counter[str]:
    """Return how many labels were read, given by a rule, or by the place."""
    return Counter(row.label.by for row in rows)
