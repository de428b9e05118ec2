"""Rules made ready for scanning: built once, used for any number of logs."""

from __future__ import annotations

from ...corpus.types import Rule
from .match import TraceRules
from .scan import Scanner


class Engine:
    """The rules of a corpus by how they are tried.

    Nothing in it changes with the logs that it is used on, so that threads share one.

    Args:
        rules: All rules, of whatever role.
    """

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules
        self.line_rules = [rule for rule in rules if rule.pattern]
        """Rules on lines; the scanner and all that counts tries know each by its position here."""
        self.trace_rules = TraceRules([rule for rule in rules if not rule.pattern])
        self.scanner = Scanner(
            (literal, index) for index, rule in enumerate(self.line_rules) for literal in rule.literals
        )
        frequent = [(index, rule) for index, rule in enumerate(self.line_rules) if rule.frequent]
        self.serving = {index for index, rule in frequent if rule.stage == "serving"}
        """Rules that say no more than that requests are served: useless once one of them has matched."""
        self.frequent = [(literal.encode(), index) for index, rule in frequent for literal in rule.literals]
        """Literals of the rules whose last match counts, not the first, each with the rule's position."""
