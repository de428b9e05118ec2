"""Corrects what an error names: the option or variable, the value that was refused, and what would be accepted.

``read`` takes the message apart into complaints, ``values`` works out the new value, ``correction`` writes the fix. What a
message does not settle is left alone: no correction holds a placeholder, loads code, or installs anything.
"""

from __future__ import annotations

from .case import Case

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...fix import Fix

__all__ = ("Case", "correct")

_UNRECOGNISED = "error: unrecognized arguments: "


def correct(case: Case) -> list[Fix]:
    """Return the correction of what the error names as fix 1; nothing where it does not settle what was meant."""
    from .read import read

    complaints = read(case)
    if not complaints and _UNRECOGNISED not in case.text:
        # Most errors name nothing: what writes corrections is not even imported then.
        return []
    from .correction import corrected

    return corrected(case, complaints)
