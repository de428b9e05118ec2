"""Required literals of a pattern: strings of which every match must contain at least one.

The scanner looks for these first, for all rules at once; only lines that hold one are tried with the pattern itself.
"""

from __future__ import annotations

import re

from .expression_tree import Atomic, Branch, Group, Letter, Letters, Node, Place, Repeat, parse

MINIMUM = 5
"""Shortest literal that may stand for a rule (characters)."""
LONGEST = 14
"""Longer literals are cut: the automaton grows with them and they select no better."""

CHOICE = 4
"""A class of more characters is not spelt out."""
VARIANTS = 8
"""An any-of list is not made longer than this by spelling out alternatives."""

# A literal made of these alone would stop the scanner at every other line of a healthy log.
_COMMON = frozenset(
    """error errors failed fail failure model models vllm token tokens cache cuda memory request requests device not
    found support supported is are was must be cannot can could value valueerror runtimeerror typeerror keyerror
    attributeerror assertionerror importerror driver server kv available loading safetensors checkpoint shards
    capturing reqs gpu usage avg prompt throughput http post get ok info warning by the to a an of in on at for from
    with and or has have been due preempted parameters parameter sampling overridden falling back flashinfer
    reasoning use your you pipeline quantization size type config configuration file path name no none true false
    invalid unexpected expected object attribute module method function argument got does exist when during while
    this that it please set using try int str tensor shape dtype engine worker process llm v1 v0 backend attention
    kernel layer layers weights weight torch python version installed install out 0 1 2 3 4 5 6 7 8 9""".split()  # noqa: SIM905 - one word a line would fill a page
)


def required_literals(pattern: str, minimum: int = MINIMUM) -> list[str] | None:
    """Return an any-of list of literals that every match of ``pattern`` contains, or None where there is none.

    Args:
        pattern: A regular expression. Syntax that only the ``regex`` module knows gives None.
        minimum: Shortest literal to accept.
    """
    try:
        expression = parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return None
    # Under (?i) at the start no literal is sure in any one spelling.
    found = None if expression.ignores_case else _best(expression.body, minimum)
    if found is None:
        return None
    cut = {_cut(literal) for literal in found}
    # One that contains another adds nothing.
    return sorted(text for text in cut if not any(other != text and other in text for other in cut))


def all_strings(pattern: str) -> list[str] | None:
    """Return every string that ``pattern`` can match in full, or None where they are many or endless."""
    try:
        expression = parse(pattern)
        found = None if expression.ignores_case else _exact(expression.body)
    except (re.error, OverflowError, RecursionError):
        return None
    return sorted(found) if found else None


def _rarest_slice(literal: str) -> str:
    """Cut a long literal to the window that starts with the least usual letters.

    The scanner then leaves its first state seldom, which is what its speed depends on.
    """
    starts = range(len(literal) - LONGEST + 1)
    return max((literal[at : at + LONGEST] for at in starts), key=_rarity)


def _rarity(window: str) -> float:
    first = sum(weight * _letter(character) for weight, character in zip((3, 2, 1), window, strict=False))
    return first + 0.2 * sum(_letter(character) for character in window)


def _letter(character: str) -> float:
    """Rate how seldom a character is in a server's log."""
    for letters, rate in ((" etaoinsr", 0.0), ("hldcumfp01.,:\"'/_-", 1.0), ("gwybvk23456789=()", 2.0)):
        if character in letters:
            return rate
    return 3.0


def _score(literals: list[str]) -> float:
    """Rate an any-of list: its weakest member decides, few members are better than many."""
    weakest = min(literals, key=_weight)
    return _weight(weakest) - 0.5 * (len(literals) - 1)


def _weight(literal: str) -> float:
    """Rate how well a literal selects, as it will be looked for: cut, with what is left of common words at its ends."""
    literal = _cut(literal)
    words = re.findall(r"\w+|[^\w\s]+", literal)
    common = sum(len(word) for word in words if len(word) < 3 or _is_common(word.lower()))
    return len(literal) - 0.85 * common - 0.6 * literal.count(" ")


def _is_common(word: str) -> bool:
    return word in _COMMON or any(other.startswith(word) or other.endswith(word) for other in _COMMON)


def _cut(literal: str) -> str:
    return literal if len(literal) <= LONGEST else _rarest_slice(literal)


def _best(items: list[Node], minimum: int) -> list[str] | None:
    """Choose the best any-of list that a sequence of nodes requires."""
    choices: list[list[str]] = []
    run = {""}
    for node in items:
        exact = _exact([node])
        if exact is not None and len(run) * len(exact) <= VARIANTS:
            run = {before + after for before in run for after in exact}
            continue
        _flush(run, minimum, choices)
        run = exact if exact is not None else {""}
        if exact is None and (inner := _inside(node, minimum)):
            choices.append(inner)
    _flush(run, minimum, choices)
    if not choices:
        return None
    return max(choices, key=_score)


def _flush(run: set[str], minimum: int, choices: list[list[str]]) -> None:
    if all(len(text) >= minimum for text in run):
        choices.append(sorted(run))


def _exact(items: list[Node]) -> set[str] | None:
    """Return all strings that a sequence can match, if they are few; else None."""
    found = {""}
    for node in items:
        part = _strings(node)
        if part is None or len(found) * len(part) > VARIANTS:
            return None
        found = {before + after for before in found for after in part}
    return found


def _strings(node: Node) -> set[str] | None:  # noqa: PLR0911 - one answer for each kind
    """Return all strings that a node can match, if they are few; else None."""
    if isinstance(node, Letter):
        return {node.text}
    if isinstance(node, Place):
        return {""}
    if isinstance(node, Letters):
        return set(node.choice) if node.choice is not None and len(node.choice) <= CHOICE else None
    if isinstance(node, Group):
        return None if node.ignores_case else _exact(node.body)
    if isinstance(node, Branch):
        parts = [_exact(branch) for branch in node.branches]
        return None if any(part is None for part in parts) else {text for part in parts for text in part or ()}
    if isinstance(node, Repeat) and node.high == 1 and not node.possessive:
        inner = _exact(node.body)
        return inner | {""} if inner is not None and node.low == 0 else inner
    return None


def _inside(node: Node, minimum: int) -> list[str] | None:
    if isinstance(node, Group):
        return None if node.ignores_case else _best(node.body, minimum)
    if isinstance(node, Atomic) or (isinstance(node, Repeat) and node.low >= 1):
        return _best(node.body, minimum)
    if isinstance(node, Branch):
        gathered: list[str] = []
        for branch in node.branches:
            part = _best(branch, minimum)
            if part is None:
                return None
            gathered += part
        return gathered
    return None
