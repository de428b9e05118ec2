"""Corrects what an error names: the option or variable, the value that was refused, and what would be accepted.

``complaints`` has what the message finds fault with, ``values`` works out the new value, ``correction`` writes the fix. What a
message does not settle is left alone: no correction holds a placeholder, loads code, or installs anything.
"""

from __future__ import annotations

from ....corpus.actions import Action
from ....corpus.records import Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...complaints.case import Case
    from ...fix import Fix

_UNRECOGNISED = "error: unrecognized arguments: "


@record(frozen=True)
class Change(Record):
    """One correction."""

    title: str
    put: tuple[Action, ...]
    """What to set; nothing where something is only left out."""
    dropped: tuple[Action, ...]
    """What is left out; nothing where nothing is."""
    why: str
    option: str
    value: str = ""
    env: bool = False


def correct(case: Case) -> list[Fix]:
    """Return the correction of what the error names as fix 1; nothing where it does not settle what was meant.

    Args:
        case: The error.
    """
    if not case.complaints and _UNRECOGNISED not in case.text:
        # Most errors name nothing: what writes corrections is not even imported then.
        return []
    from .correction import corrected

    return corrected(case)
