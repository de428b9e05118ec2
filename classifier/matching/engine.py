"""Rules made ready for scanning: built once, used for any number of logs."""

from __future__ import annotations

from collections.abc import Iterable

from ...corpus.packed_rules import PackedRules
from ...corpus.types import Rule
from .match import TraceRules
from .plan import plan_of, stored
from .scan import Scanner


class Engine:
    """The rules of a corpus by how they are tried.

    Nothing in it changes with the logs that it is used on, so that threads share one.

    Args:
        rules: All rules, of whatever role.
    """

    def __init__(self, rules: Iterable[Rule] | PackedRules) -> None:
        self.rules: list[Rule] | PackedRules
        by_position: dict[int, Rule] | list[Rule]
        if isinstance(rules, PackedRules):
            self.rules, by_position = rules, rules.by_position
            plan = stored(rules) or plan_of(rules)
        else:
            self.rules = by_position = list(rules)
            plan = plan_of(by_position)
        self.line_rules = LineRules(by_position, plan.on_lines)
        """Rules on lines; the scanner and all that counts tries know each by its position here."""
        self.trace_rules = TraceRules(by_position, plan.on_traces)
        self.scanner = Scanner(plan.words, plan.waiting, plan.needles)
        self.serving = set(plan.serving)
        """Rules that say no more than that requests are served: useless once one of them has matched."""
        self.frequent = plan.frequent
        """Literals of the rules whose last match counts, not the first, each with the rule's position."""

    def made(self) -> list[Rule]:
        """Return the rules that there are as objects: all that any log can have been tried on so far."""
        return self.rules.made() if isinstance(self.rules, PackedRules) else self.rules


class LineRules(dict[int, Rule]):
    """Rules on lines by their places in the plan; each is made when it is first asked for."""

    __slots__ = ("_positions", "_rules")

    def __init__(self, rules: dict[int, Rule] | list[Rule], positions: list[int]) -> None:
        super().__init__()
        self._rules = rules
        self._positions = positions

    def __missing__(self, place: int) -> Rule:
        """Make it."""
        rule = self[place] = self._rules[self._positions[place]]
        return rule
