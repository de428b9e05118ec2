"""Holds a proposal against the lines that its author saw: they must be there, and say what it says they do."""

from __future__ import annotations

import re

from ...proposal import Heard, Proposal
from .model import Pack

BESIDE = 3
"""Lines around those that it names in which its words may stand: an exception and its frames are several."""
QUOTED = 3
"""Words from which on a quotation is held against the log."""
_QUOTE = re.compile(r"[`\"“](?P<said>[^`\"“”]{12,300})[`\"”]")
SHARED, FEW = 2, 3
"""Telling words and numbers that a cause has in common with the lines that prove it, at least; of so few words one is enough."""
FAILING = frozenset({"deciding", "first death", "exception"})
"""Lines that say what failed: of whoever names one of them, one word of it is enough."""
FOREIGN = 0.1
"""Share of letters beyond ASCII from which on lines are in another language than the answer."""
STEM = 5
"""Letters by which words are told apart: fetch, fetched."""
_WORD = re.compile(r"\b(?:[a-z_][a-z0-9_]{3,}|\d{2,}|\d+\.\d+)\b", re.IGNORECASE)
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_COMMAND = re.compile(r"--\w|^\s*(?:vllm|pip|uv|docker|python3?)\s|[{}=<>]")
"""Of what is quoted without being the log's."""
_VARIABLE = re.compile(r"\bVLLM_[A-Z0-9_]+\b")
_DIGITS = re.compile(r"\d+")
_COMMON = re.compile(
    r"(?:that|this|with|from|which|when|where|because|after|before|while|into|than|then|there|their|they|have|been|were|being|will|would|"
    r"could|should|cannot|does|lines?|errors?|fail(?:ed|s|ure)|vllm|server|engine|starts?|started|causes?|caused|model)"
)


def hear(proposal: Proposal, pack: Pack) -> Heard:
    """Return a proposal with the lines that it names, and why they prove nothing where they do not.

    Args:
        proposal: As it was made.
        pack: With all lines that its author can have seen.
    """
    texts = {number: line.text for line in pack.lines for number in range(line.line, (line.last or line.line) + 1)}
    wanted = _found_again(proposal, texts) if proposal.texts else proposal.lines
    lines = tuple((number, texts[number]) for number in wanted if number in texts)
    named = {name for text in texts.values() if "nknown" not in text for name in _VARIABLE.findall(text)}
    return Heard(proposal, lines, _problem(proposal, lines, texts, pack), frozenset(named))


def _found_again(proposal: Proposal, texts: dict[int, str]) -> list[int]:
    """Return where the lines of a proposal stand, also where it was made of another log of the same failure."""
    kinds = {number: _DIGITS.sub("", text) for number, text in reversed(texts.items())}
    places = {kind: number for number, kind in kinds.items()}
    wanted = ((number, _DIGITS.sub("", text)) for number, text in zip(proposal.lines, proposal.texts, strict=False))
    return [number if kinds.get(number) == kind else places[kind] for number, kind in wanted if kind in places]


def _problem(proposal: Proposal, lines: tuple[tuple[int, str], ...], texts: dict[int, str], pack: Pack) -> str:
    if not proposal.cause:
        about = _words(" ".join([*texts.values(), *(text for part in pack.told for text in part.text)]))
        return "" if about & _words(proposal.missing) else "it names no cause"
    if not proposal.lines:
        return "it names no line that proves it"
    if not lines:
        return f"the log shows no line {proposal.lines[0]} that could prove it"
    log = _plain(" ".join([*texts.values(), *(text for part in pack.told for text in part.text)]))
    for found in _QUOTE.finditer(proposal.cause):
        parts = [part for part in re.split(r"…|\.\.\.", found["said"]) if len(part.split()) >= QUOTED]
        if not _COMMAND.search(found["said"]) and any(_plain(part) not in log for part in parts):
            return "it quotes words that the log does not say"
    near = {number + step for number, _ in lines for step in range(-BESIDE, BESIDE + 1)}
    said = _words(" ".join(texts[number] for number in near if number in texts))
    words = _words(proposal.cause)
    if _is_foreign(" ".join(text for _, text in lines)):
        return ""  # words of two languages cannot be held against each other
    failing = {
        number
        for line in pack.lines
        if line.kind in FAILING
        for number in range(line.line, (line.last or line.line) + 1)
    }
    enough = SHARED if len(words) > FEW and failing.isdisjoint(number for number, _ in lines) else 1
    return "" if len(said & words) >= enough else "the lines that it names say nothing of it"


def _is_foreign(text: str) -> bool:
    return sum(letter.isalpha() and not letter.isascii() for letter in text) > len(text) * FOREIGN


def _plain(text: str) -> str:
    return re.sub(r"[\s'\"`]+", " ", text).strip(" .,:;").lower()


def _words(text: str) -> set[str]:
    """Return what tells texts apart: the stems of words and of their parts, and numbers."""
    words = {part for found in _WORD.findall(text) for part in (found, *_PART.findall(found))}
    telling = (word.lower() for word in words if len(word) > 3 or word[:1].isdigit())
    return {word if word[:1].isdigit() else word[:STEM] for word in telling if not _COMMON.fullmatch(word)}
