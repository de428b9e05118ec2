"""What the error names is corrected: the first fix, and exact, or nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...fix import Fix
    from ..context import Context


def propose(context: Context) -> Iterable[Fix]:
    """Return the correction of what the error names; nothing where it does not settle what was meant."""
    if not context.failed or context.hit is None or context.of_request:
        return []
    from ...complaints import correct

    return correct(context.case)
