"""The comparisons of the model card: ways to answer on one set of logs; rules with and without the model, half of them hidden."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....classifier.api import Triage
from ...evaluate.comparison import Comparison, compare
from ...evaluate.score import Score, Way, by_engine, score
from ...examples.labelled import Case
from ..fit.hidden_rules import hidden_rules

BOTH = ("rules, then model", "rules alone")


@dataclass(slots=True)
class Table:
    """One set of labelled logs, as all ways answered it."""

    name: str
    scores: list[Score]
    against_rules: Comparison | None = None
    """Rules with the model, against rules alone."""

    def pair(self) -> tuple[Score, Score]:
        """Return rules with the model, and rules alone."""
        found = {item.name: item for item in self.scores}
        return found[BOTH[0]], found[BOTH[1]]


def table(name: str, cases: Sequence[Case], ways: Mapping[str, Way]) -> Table:
    """Let every way answer all cases."""
    return _compared(Table(name, [score(way_name, cases, way) for way_name, way in ways.items()]))


def hidden(
    name: str, cases: Sequence[Case], folds: Path, progress: Callable[[str], None], whole_causes: bool = False
) -> Table:
    """Let rules answer of which half are hidden, without and with a model that has not seen the hidden ones.

    Args:
        name: What the table is called.
        cases: Logs; each is answered once for every fold.
        folds: Models of the folds, each in a folder named by its number.
        progress: Told about each fold.
        whole_causes: Hide only rules of causes that have no rule in another half.
    """
    both, alone = (Score(way) for way in BOTH)
    found = sorted(folds.iterdir())
    for part, folder in enumerate(found):
        progress(f"{name}: rules hidden, part {part + 1} of {len(found)}")
        ignore = hidden_rules(part, len(found), whole_causes)
        both.pairs += score("", cases, by_engine(Triage(without=ignore, model=folder))).pairs
        alone.pairs += score("", cases, by_engine(Triage(without=ignore, engine="rules"))).pairs
    return _compared(Table(name, [alone, both]))


def together(name: str, tables: Sequence[Table]) -> Table:
    """Return the tables of several sets as one; all have the same ways."""
    scores = [Score(item.name) for item in tables[0].scores]
    for item in tables:
        for whole, part in zip(scores, item.scores, strict=True):
            whole.pairs += part.pairs
    return _compared(Table(name, scores))


def _compared(made: Table) -> Table:
    if {item.name for item in made.scores} >= set(BOTH):
        made.against_rules = compare(*made.pair())
    return made
