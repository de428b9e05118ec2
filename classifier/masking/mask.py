"""Masks secrets in everything that leaves: tokens, keys, passwords. Placeholders say what stood there.

A rule is tried only where one of its words stands in the text: most lines hold none and cost a few searches.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import isfinite

from ..patterns.lazy import LazyPattern
from .apart import hide_apart
from .issuers import SHAPES
from .named import LONG, SECRET, WORDS, is_secret_name, mask_named, mask_random
from .places import KEY_LINE, KEY_WIDTH, PLACES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ahocorasick_rs import AhoCorasick

HUGE = 1 << 256
NAMED = -1
"""Stands for what is told by a name beside it."""
RULES = (*((words.split(), pattern, f"<{placeholder}>") for words, placeholder, pattern in SHAPES), *PLACES)
_KEY_BEGIN, _KEY_END = (
    LazyPattern(r"-----BEGIN [A-Z ]*PRIVATE KEY"),
    LazyPattern(r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----"),
)


@cache
def _words() -> tuple[AhoCorasick, list[list[int]]]:
    """Return what finds the words of all rules in one pass, and for each word the rules that are tried for it."""
    from ahocorasick_rs import AhoCorasick

    owners: dict[str, list[int]] = {word: [NAMED] for word in WORDS}
    for number, (words, _, _) in enumerate(RULES):
        for word in words:
            owners.setdefault(word, []).append(number)
    return AhoCorasick(list(owners)), list(owners.values())


def mask(text: str) -> str:
    """Return ``text`` with its secrets replaced by placeholders."""
    lowered = text.lower()
    automaton, owners = _words()
    try:
        words = automaton.find_matches_as_indexes(lowered, overlapping=True)
    except UnicodeEncodeError:
        # Half a surrogate: of a name that is not UTF-8, or of JSON.
        words = automaton.find_matches_as_indexes(lowered.encode("utf-8", "replace").decode(), overlapping=True)
    found = {owner for word, _, _ in words for owner in owners[word]}
    for number in sorted(found - {NAMED}):
        _, pattern, replacement = RULES[number]
        text = pattern.sub(replacement, text)
    if NAMED in found:
        text = mask_named(text)
    widest = max(map(len, text.split()), default=0) if len(text) >= LONG else 0
    if widest >= KEY_WIDTH:
        text = KEY_LINE.sub("<private-key>", text)
    return mask_random(text) if widest >= LONG else text


def mask_lines(lines: Iterable[str]) -> list[str]:
    """Return lines that follow each other masked: also those in the middle of a private key, and values below their names."""
    masked: list[str] = []
    inside = False
    for line in hide_apart(lines):
        end = _KEY_END.search(line)
        begin = _KEY_BEGIN.search(line)
        if end and not inside and not begin:
            # The key begins above what is shown.
            masked = ["<private-key>"] * len(masked)
            inside = True
        if inside:
            masked.append("<private-key>" + (mask(line[end.end() :]) if end else ""))
            inside = not end
        else:
            masked.append(mask(line))
            inside = begin is not None and end is None
    return masked


def secret_words(text: str) -> list[str]:
    """Return the words of ``text``, without quotes and brackets around them, that masking takes out of it."""
    masked = mask(text)
    if masked == text:
        return []
    words = dict.fromkeys(word.strip("'\"()[]{},;\\") for word in text.split())
    return sorted((word for word in words if len(word) > 3 and word not in masked), key=len, reverse=True)


def mask_value(name: str, value: object) -> object:
    """Return a fact's value without secrets: by its name, then by its text; tables are walked."""
    lowered = name.lower()
    # -u and -p, which vLLM does not have, take other programs' users and passwords.
    if value and not isinstance(value, bool) and (lowered in ("u", "p") or is_secret_name(lowered)):
        return SECRET
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {_plain(key): mask_value(str(key), item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        # A list of words has the names of its values before them.
        return [mask_value(_option_of(before), item) for before, item in zip(("", *value), value, strict=False)]
    return _plain(value)


def _option_of(word: object) -> str:
    return word if isinstance(word, str) and word.startswith("--") and "=" not in word else ""


def _plain(value: object) -> object:
    """Return a value as JSON has it: as text what a literal of Python may be besides, and numbers that have no end or none to read."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < HUGE else hex(value)
    return value if isinstance(value, float) and isfinite(value) else str(value)
