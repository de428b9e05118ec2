"""The call paths of a release: which of vLLM's functions call down to the place that raises a message, by ``ast``.

Nothing is imported or run. A call is followed to a function of that name in the same file, in a module that the file
imports, or, where few functions bear the name, anywhere: what a traceback could show, not all that it could.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .sources import Module

DEEPEST = 7
"""Callers above the raising frame."""
COMMON = 4
"""Functions of one name in other modules above which a bare name tells nothing."""
Place = tuple[str, str]
"""Path and function."""


class Step(NamedTuple):
    """One frame of a call path."""

    path: str
    line: int
    function: str
    code: str = ""

    def printed(self) -> str:
        """Return the frame as a traceback prints it."""
        code = f"    {self.code}\n" if self.code else ""
        return (
            f'  File "/opt/venv/lib/python3.12/site-packages/{self.path}", line {self.line}, in {self.function}\n{code}'
        )


@dataclass(slots=True)
class CallGraph:
    """Who calls a function."""

    callers: dict[Place, list[Step]] = field(default_factory=dict)

    def way(self, path: str, function: str, seed: random.Random) -> list[Step]:
        """Return one way down to a function, outermost first; empty where nobody is seen to call it."""
        steps: list[Step] = []
        here = (path, function)
        visited = {here}
        while len(steps) < DEEPEST:
            known = [step for step in self.callers.get(here, ()) if (step.path, step.function) not in visited]
            if not known:
                break
            step = seed.choice(known)
            steps.append(step)
            here = (step.path, step.function)
            visited.add(here)
        return steps[::-1]


def call_graph(modules: Iterable[Module]) -> CallGraph:
    """Return the call graph of one release."""
    modules = list(modules)
    defined: dict[str, dict[str, set[Place]]] = defaultdict(lambda: defaultdict(set))
    for module in modules:
        for name, function in module.definitions:
            defined[name][module.path].add((module.path, function))
    callers: dict[Place, list[Step]] = defaultdict(list)
    for module in modules:
        for function, called, line, code in module.calls:
            if called in defined:
                for target in _targets(module, defined[called]):
                    if target != (module.path, function):
                        callers[target].append(Step(module.path, line, function, code))
    return CallGraph(dict(callers))


def _targets(module: Module, known: Mapping[str, set[Place]]) -> list[Place]:
    """Return the functions that a call in ``module`` may mean, by the file that defines them."""
    if module.path in known:
        return sorted(known[module.path])
    if len(known) < len(module.imports):
        imported = [path for path in known if path in module.imports]
    else:
        imported = [path for path in module.imports if path in known]
    if imported:
        return sorted(place for path in imported for place in known[path])
    places = [place for path in known for place in known[path]] if len(known) <= COMMON else []
    return sorted(places) if len(places) <= COMMON else []
