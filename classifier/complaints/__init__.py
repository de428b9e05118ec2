"""What an error finds fault with, and its correction: the option, variable or value that its words name, or that shows by what came of it.

``read`` takes the message apart into complaints, ``values`` works out the new value, ``correction`` writes the fix. What a
message does not settle is left alone: no correction holds a placeholder, loads code, or installs anything.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..fix import Fix
    from .case import Case

_UNRECOGNISED = "error: unrecognized arguments: "


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
