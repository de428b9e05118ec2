"""What is asked of every log of a run, and the rules that answer, loaded once for each process."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from ...classifier.api import Triage
from ...classifier.decides import Decides
from ...classifier.question import Question


@dataclass(frozen=True, slots=True)
class Asking:
    """The question, and the rules to answer it by.

    Args:
        question: What is asked of each log or start.
        rules: Folders and files with your own rules.
        model: Folder of your own model; "" for the variable's, or none.
        without: Buckets, causes or rules that are left out as if nobody had written them.
    """

    question: Question = field(default_factory=Question)
    rules: tuple[str, ...] = ()
    model: str = ""
    without: tuple[str, ...] = ()

    @property
    def engine(self) -> Decides:
        """What decides."""
        return self.question.engine


def triage_of(asking: Asking) -> Triage:
    """Return the rules, loaded when a process first asks for them.

    Raises:
        InputError: Rules or model cannot be read, or the question names what there is not.
    """
    # A question is no key of a dictionary: its lists may be lists.
    return _loaded(asking.rules, asking.engine, asking.model, asking.without)


@lru_cache(maxsize=1)
def _loaded(rules: tuple[str, ...], engine: Decides, model: str, without: tuple[str, ...]) -> Triage:
    return Triage(rules, engine=engine, model=model, without=without)
