"""What is still worth looking at in one server start.

A server at work prints the same lines for days. Whatever has been seen often enough is no longer looked for, so that the
cost of a log is that of what is new in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import itemgetter

from ...corpus.types import Rule
from ..matching.engine import Engine
from ..matching.match import GIVE_UP, WINDOW
from ..matching.scan import Found, Scanner, SteadyScanner

VISITS = 300
"""Occurrences of one literal in a log after which it is no longer looked for, but near errors."""
FEWEST = 64
"""Literals found in one block below which nothing in it is taken to stand everywhere."""
SETTLE = 2 << 20
"""Bytes of a start's log after which literals that stand everywhere are looked for near errors alone."""
FACT_TRIES = 60
"""Matches of one fact rule in one incident after which it has told what it can: at start-up, by a few processes."""
TRIES = 400
"""The same for all other rules."""
MISSES = 8000
"""Lines with a rule's literal that it did not match, in one start, after which it is given up: millions of them are no log."""
ORDINARY = 1024
"""Characters of a line up to which trying a rule on it costs next to nothing, whatever they are."""
WORK = 64 * WINDOW**2
"""Work that one rule may take on longer lines in one start, in squares of their characters: that is how long an expression
takes on text that was made to slow it down. Enough for 64 lines as long as rules see them, or 1,024 of a quarter of that."""
SLOW = "Rules took too long on some lines, which they may therefore have missed: "
NAMED = 5
"""Rules named in one sentence about what was given up."""


class Effort:
    """How much each rule and each literal has been tried since the server started.

    Args:
        engine: The rules.
    """

    def __init__(self, engine: Engine) -> None:
        self.done: set[int] = set()
        """Rules that need not be tried any more."""
        self.scanner: Scanner | SteadyScanner = engine.scanner
        """What finds the literals that count."""
        self.slow: dict[str, int] = {}
        """Searches that took too long, by the rule's id."""
        self._engine = engine
        self._work: dict[int, int] = {}
        self._overworked: set[str] = set()
        self._hopeless: set[str] = set()
        self._matches: dict[int, int] = {}
        self._misses: dict[int, int] = {}
        self._visits: dict[int, int] = {}
        self._muted: set[int] = set()
        self._read, self._settle, self._settled = 0, SETTLE, 0

    def affords(self, index: int, rule: Rule, size: int) -> bool:
        """Return whether a line rule may be tried on a line of ``size`` characters, more than ``ORDINARY``; count the work."""
        work = self._work[index] = self._work.get(index, 0) + min(size, WINDOW) ** 2
        if work > WORK:
            self._overworked.add(rule.id)
        return work <= WORK

    def took_too_long(self, index: int, rule: Rule) -> None:
        """Note that a line rule had to be stopped."""
        times = self.slow[rule.id] = self.slow.get(rule.id, 0) + 1
        if times >= GIVE_UP:
            self.done.add(index)

    def given_up(self) -> list[str]:
        """Return what the rules have not seen of this start, in sentences; nothing on any log that was not made for it."""
        told = []
        if self.slow:
            told.append(f"{SLOW}{_named(self.slow)}.")
        if self._overworked:
            told.append(
                f"Lines of more than {ORDINARY:,} characters were too many for some rules, which did not see all of them: "
                f"{_named(self._overworked)}."
            )
        if self._hopeless:
            told.append(
                f"The words of some rules are in more than {MISSES:,} lines without fitting one; the rest were not tried: "
                f"{_named(self._hopeless)}."
            )
        return told

    def matched(self, index: int, rule: Rule) -> None:
        """Note that a line rule matched."""
        matches = self._matches[index] = self._matches.get(index, 0) + 1
        if rule.frequent or matches > (FACT_TRIES if rule.role == "fact" else TRIES):
            self.done.add(index)

    def missed(self, index: int) -> None:
        """Note that a line rule did not match a line that holds its literal."""
        misses = self._misses[index] = self._misses.get(index, 0) + 1
        if misses > MISSES:
            self.done.add(index)
            rule = self._engine.line_rules[index]
            if not rule.frequent:  # such a rule is tried on the last lines of its kind
                self._hopeless.add(rule.id)

    def serves(self) -> None:
        """Note that the server answers requests: what would say no more than that is of no use from here on."""
        self.done.update(self._engine.serving)

    def learn(self, found: Found, size: int, passed: Counter[int] | None = None) -> None:
        """Take in what a block of ``size`` bytes held, and settle on what to look for in the next ones.

        Args:
            found: The literals in it.
            size: Its bytes.
            passed: Literals in lines of it that are known, and were passed over without a search.
        """
        self._mute(found, passed)
        self._read += size
        if self._read > self._settle and len(self._muted) > self._settled:
            # From here on the log is taken to be a server at work; once more where much changes.
            self._settle, self._settled = self._settle * 8, len(self._muted)
            self.scanner = self._engine.scanner.steady(frozenset(self._muted))

    def _mute(self, found: Found, passed: Counter[int] | None) -> None:
        """Stop looking for literals that stand everywhere in this log: their rules have had their chance."""
        if len(found) < FEWEST and not passed:
            return
        counts = Counter(map(itemgetter(0), found))
        if passed:
            counts.update(passed)
        for word, count in counts.items():
            rules = self._engine.scanner.rules[word]
            if rules:
                total = self._visits[word] = self._visits.get(word, 0) + count
                if total > VISITS or self.done.issuperset(rules):
                    self._muted.add(word)


def _named(rules: Iterable[str]) -> str:
    names = sorted(rules)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
