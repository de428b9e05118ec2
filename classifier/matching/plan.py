"""What matching needs to know of all rules before it tries one: worked out from the rules, or when the wheel is built.

A plan names rules by their positions, so that a rule is made when it is first tried.
"""

# pathlib would cost more than this saves:
# ruff: noqa: PTH118, PTH123

from __future__ import annotations

import marshal
import os
from collections.abc import Iterable

from ...corpus.build import FORMAT
from .needles import Needles, Packed, cover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from ...corpus.packed_rules import PackedRules
    from ...corpus.types import Rule

STRUCTURE = (
    "Traceback (most recent call last)", 'File "', "The above exception was the direct cause", "During handling of the above exception",
    "--- Logging error ---", "Error: ", "Error(", "Exception: ", "ERROR ", "CRITICAL ", ".py in ", ".py](", "-> ", "Fatal Python error: ", "terminate called after throwing",
)  # fmt: skip
"""Strings that make a line worth reading although no rule knows it: they build tracebacks."""
FILE = "plan.marshal"
"""Its name in the folder of the compiled corpus."""

OnTrace: TypeAlias = (
    "tuple[int, bool, bool, tuple[str, ...] | None, tuple[str, ...], frozenset[str], frozenset[str], frozenset[str]]"
)
"""A rule on exceptions: its position; whether it asks for a class, and for a place; the classes, where it lists them; the
strings of which the class must hold one; the words of which the stack, its innermost frame, and the message must hold one."""


class Plan:
    """The rules of an engine by how they are tried.

    Attributes:
        on_lines: Positions of the rules on lines; all below names these by their places in here.
        on_traces: The rules on exceptions.
        words: The literals to look for, those of ``STRUCTURE`` first.
        waiting: For each literal the line rules that wait for it (none: structure only).
        serving: Line rules that say no more than that requests are served.
        frequent: Literals of the line rules whose last match counts, each with its rule.
        needles: Fewer and shorter strings of which every literal holds one; None where they were not worked out.
    """

    __slots__ = ("frequent", "needles", "on_lines", "on_traces", "serving", "waiting", "words")

    def __init__(  # noqa: PLR0913 - it is a row of a file
        self,
        on_lines: list[int],
        on_traces: list[OnTrace],
        words: list[bytes],
        waiting: list[list[int]],
        serving: list[int],
        frequent: list[tuple[bytes, int]],
        needles: Needles | None = None,
    ) -> None:
        self.on_lines = on_lines
        self.on_traces = on_traces
        self.words = words
        self.waiting = waiting
        self.serving = serving
        self.frequent = frequent
        self.needles = needles


def plan_of(rules: Iterable[Rule]) -> Plan:
    """Work the plan out."""
    ordered = list(rules)
    on_lines = [position for position, rule in enumerate(ordered) if rule.pattern]
    lines = [ordered[position] for position in on_lines]
    table = words_of((literal, index) for index, rule in enumerate(lines) for literal in rule.literals)
    frequent = [(index, rule) for index, rule in enumerate(lines) if rule.frequent]
    return Plan(
        on_lines,
        [_on_trace(position, rule) for position, rule in enumerate(ordered) if not rule.pattern],
        list(table),
        list(table.values()),
        [index for index, rule in frequent if rule.stage == "serving"],
        [(literal.encode(), index) for index, rule in frequent for literal in rule.literals],
    )


def words_of(literals: Iterable[tuple[str, int]]) -> dict[bytes, list[int]]:
    """Return the literals to look for, each with the rules that wait for it.

    Args:
        literals: Pairs of a literal and the rule that needs it.
    """
    table: dict[bytes, list[int]] = {text.encode(): [] for text in STRUCTURE}
    for text, rule in literals:
        table.setdefault(text.encode(), []).append(rule)
    return table


def _on_trace(position: int, rule: Rule) -> OnTrace:
    names = rule.needs.get("names")
    return (
        position,
        bool(rule.exception),
        bool(rule.frames or rule.innermost),
        None if names is None else tuple(names),
        tuple(rule.needs.get("exception", ())),
        frozenset(rule.needs.get("frames", ())),
        frozenset(rule.needs.get("innermost", ())),
        frozenset(rule.needs.get("message", ())),
    )


def stored(rules: PackedRules) -> Plan | None:
    """Return the plan that was made with a compiled corpus; None where there is none."""
    try:
        with open(os.path.join(rules.folder, FILE), "rb") as file:
            build, count, row, (needles, under, alone) = marshal.loads(file.read())  # noqa: S302 - our own file
    except (OSError, ValueError, TypeError, EOFError):
        return None
    if (build, count) != (FORMAT, len(rules)):
        return None
    plan = Plan(*row)
    plan.needles = Needles(needles, Packed(under), alone)
    return plan


def write(rules: PackedRules, sample: bytes) -> None:
    """Write the plan of a compiled corpus beside it.

    Args:
        rules: Its rules.
        sample: Text as logs have it: what is frequent there makes a bad needle.
    """
    plan = plan_of(rules)
    row = (plan.on_lines, plan.on_traces, plan.words, plan.waiting, plan.serving, plan.frequent)
    needles = cover(plan.words, sample)
    with open(os.path.join(rules.folder, FILE), "wb") as file:
        file.write(marshal.dumps((FORMAT, len(rules), row, needles.packed())))
