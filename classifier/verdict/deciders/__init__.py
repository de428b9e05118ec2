"""Who decides: an ordered list, the first that has an answer gives it.

Each decider looks at the findings of one server start and returns a verdict, or None to leave it to the next.
"""

from __future__ import annotations

from collections.abc import Callable

from ..findings import Findings
from ..types import Verdict
from .at_work import at_work
from .doubt import broken_off, complained, unaccounted
from .health import no_failure, silent_start
from .model import model_alone, surer_model
from .other_software import nothing_recognised, other_software
from .rules import best_cause, lone_wrapper
from .standstill import watched_standstill
from .trouble import known_message, part_of_a_message, unexplained_trouble

DECIDERS: tuple[Callable[[Findings], Verdict | None], ...] = (
    other_software,
    model_alone,
    at_work,
    surer_model,
    best_cause,
    watched_standstill,
    lone_wrapper,
    known_message,
    part_of_a_message,
    unexplained_trouble,
    broken_off,
    unaccounted,
    silent_start,
    complained,
    nothing_recognised,
    no_failure,
)
"""In the order in which they are asked; the last one always answers."""
