"""Masks secrets in everything that leaves: tokens, keys, passwords. Placeholders say what stood there.

A rule is tried only where one of its words stands in the text: most lines hold none and cost a few searches.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ..patterns.lazy import LazyPattern
from .secret_patterns import KEY_LINE, KEY_WIDTH, NAMED_HINT, NAMED_VALUE, NAMES, RULES, WORDS, named_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ahocorasick_rs import AhoCorasick

NAMED = -1
"""Stands for the rule on values that have a name before them."""
_SECRET_NAME = LazyPattern(rf"(?:{NAMES})s?$|api_?key|password|secret|^token$")
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
    if NAMED in found and NAMED_HINT.search(lowered):
        text = NAMED_VALUE.sub(named_value, text)
    if len(text) >= KEY_WIDTH and any(len(word) >= KEY_WIDTH for word in text.split()):
        text = KEY_LINE.sub("<private-key>", text)
    return text


def mask_lines(lines: Iterable[str]) -> list[str]:
    """Return lines that follow each other masked: also those in the middle of a private key."""
    masked: list[str] = []
    inside = False
    for line in lines:
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
    if value and not isinstance(value, bool) and (lowered in ("u", "p") or _SECRET_NAME.search(lowered)):
        return "<secret>"
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: mask_value(str(key), item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask_value("", item) for item in value]
    return value
