"""Tries rules on lines and on exceptions, in bounded time whatever the text."""

from __future__ import annotations

from ...corpus.types import Rule
from ..lines.types import Line, Trace
from .bounded import TooSlowError, search
from .types import Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ahocorasick_rs import AhoCorasick
    from regex import Match

    from .plan import OnTrace

WINDOW = 8192
"""Characters of a long line that a rule is tried on, around its literal."""
KINDS = 256
"""Exception classes for which the rules that fit are kept."""
GIVE_UP = 3
"""Searches of one rule that took too long, in one server start, after which it is not tried any more."""


def match_line(rule: Rule, line: Line, literal: str) -> dict[str, str] | None:
    """Try a line rule; return its captures, or None.

    Raises:
        TooSlowError: It takes too long on this line.
    """
    text = line.text
    if rule.levels and line.level not in rule.levels:
        return None
    if len(text) > WINDOW:
        at = max(0, text.find(literal) - WINDOW // 2)
        text = text[at : at + WINDOW]
    found = search(rule.expression("pattern"), text)
    if found is None:
        return None
    return _captures(found)


def _captures(found: Match[str]) -> dict[str, str]:
    """Return the named groups that matched. ``name_2`` is ``name`` of another alternative: groups cannot share a name."""
    captures = {name: value for name, value in found.groupdict().items() if value is not None}
    for name in [name for name in captures if name[-1:].isdigit()]:
        captures.setdefault(name.rstrip("0123456789").rstrip("_"), captures[name])
    return captures


def match_trace(rule: Rule, trace: Trace) -> dict[str, str] | None:
    """Try a traceback rule; return its captures, or None.

    The cheap questions come first: an expression is compiled only when nothing else speaks against the rule.

    Raises:
        TooSlowError: It takes too long on this exception.
    """
    if rule.exception and not _kind_fits(rule, trace.kind):
        return None
    if rule.message and not _has(rule, "message", trace.message):
        return None
    return _of_its_kind(rule, trace)


def _of_its_kind(rule: Rule, trace: Trace) -> dict[str, str] | None:
    """Try a rule whose class is the exception's, and whose message may be."""
    if not _frames_fit(rule, trace):
        return None
    if not rule.message:
        return {}
    found = search(rule.expression("message"), trace.message[:WINDOW])
    return None if found is None else _captures(found)


def _kind_fits(rule: Rule, kind: str) -> bool:
    if not kind:
        # A log cut before the exception's own line: the place must speak alone.
        return bool(rule.frames or rule.innermost) and "names" not in rule.needs
    names = rule.needs.get("names")
    if names is not None:
        return kind in names
    return _has(rule, "exception", kind) and rule.expression("exception").fullmatch(kind) is not None


def _has(rule: Rule, name: str, text: str) -> bool:
    """Return whether a text holds what an expression needs, before the expression is compiled."""
    needed = rule.needs.get(name)
    return not needed or any(literal in text for literal in needed)


def match_frames(rule: Rule, trace: Trace | None) -> bool:
    """Return whether a rule's conditions on the stack hold; they do not where that cannot be told in time."""
    try:
        return _frames_fit(rule, trace)
    except TooSlowError:
        return False


def _frames_fit(rule: Rule, trace: Trace | None) -> bool:
    if not (rule.frames or rule.innermost or rule.not_frames):
        return True
    stack = trace.stack() if trace is not None else ""
    if (rule.frames or rule.innermost) and not stack:
        return False
    if not _has(rule, "frames", stack) or not _has(rule, "innermost", stack):
        return False
    if rule.frames and not search(rule.expression("frames"), stack):
        return False
    if rule.innermost and not search(rule.expression("innermost"), stack.rpartition("\n")[2]):
        return False
    return not (rule.not_frames and search(rule.expression("not_frames"), stack))


def trace_line(trace: Trace) -> Line:
    """Return the line that shows an exception: its own, or a made-up one where the log is cut."""
    text = trace.text or (f"{trace.frames[-1].path} in {trace.frames[-1].function}" if trace.frames else "")
    return Line(trace.number, text, trace.process, trace.level, "", "", trace.raw or text)


class TraceRules:
    """Rules on exceptions. Cheap questions, asked once for all of them, leave few to be tried on one exception.

    Args:
        rules: All rules by their positions.
        on_traces: What the plan says of those on exceptions.
    """

    def __init__(self, rules: Mapping[int, Rule] | Sequence[Rule], on_traces: list[OnTrace]) -> None:
        self._rules = rules
        self._on_traces = on_traces
        self._words: list[str] = []
        self._automaton: AhoCorasick | None = None
        self._fitting: dict[str, list[OnTrace]] = {}
        self._latest: tuple[str, set[str]] = "", set()
        """The stack asked about last, and its words."""

    def hits(self, trace: Trace, slow: dict[str, int]) -> list[Hit]:
        """Return a hit for every rule that fits the exception.

        Args:
            trace: The exception.
            slow: How often rules took too long, by id; counted on here.
        """
        fitting = self._of_kind(trace.kind)
        in_stack, in_message = self._words_in_stack(trace.stack()), self._words_of(trace.message)
        hits = []
        for position, _, _, _, _, frames, innermost, message in fitting:
            if message and message.isdisjoint(in_message):
                continue
            if (frames and frames.isdisjoint(in_stack)) or (innermost and innermost.isdisjoint(in_stack)):
                continue
            rule = self._rules[position]
            if slow and slow.get(rule.id, 0) >= GIVE_UP:
                continue
            try:
                captures = _of_its_kind(rule, trace)
            except TooSlowError:
                slow[rule.id] = slow.get(rule.id, 0) + 1
                continue
            if captures is not None:
                line = trace_line(trace)
                hits.append(Hit(rule, line, captures, trace, count=trace.count, last=trace.last))
        return hits

    def _words_in_stack(self, stack: str) -> set[str]:
        """Return the words of all rules that stand in a stack, which the exception before often had as well."""
        latest = self._latest  # read once: threads share the rules
        if stack != latest[0]:
            latest = self._latest = stack, self._words_of(stack)
        return latest[1]

    def _words_of(self, text: str) -> set[str]:
        """Return the words of all rules that stand in a stack or a message."""
        if not text:
            return set()
        if self._automaton is None:
            from ahocorasick_rs import AhoCorasick

            words = sorted({word for row in self._on_traces for needed in row[-3:] for word in needed})
            self._words, self._automaton = words, AhoCorasick(words)
        return {self._words[word] for word, _, _ in self._automaton.find_matches_as_indexes(text, overlapping=True)}

    def _of_kind(self, kind: str) -> list[OnTrace]:
        found = self._fitting.get(kind)
        if found is None:
            if len(self._fitting) >= KINDS:  # a log that makes up names
                self._fitting.clear()
            found = [row for row in self._on_traces if not row[1] or self._may_fit(row, kind)]
            self._fitting[kind] = found
        return found

    def _may_fit(self, row: OnTrace, kind: str) -> bool:
        """Return whether a class is one of those that a rule asks for, making the rule only where its expression must tell."""
        position, _, places, names, needed, *_ = row
        if not kind:
            return places and names is None
        if names is not None:
            return kind in names
        if needed and not any(literal in kind for literal in needed):
            return False
        return _kind_fits(self._rules[position], kind)
