"""Sources propose fixes. Each module with a ``propose`` is one, found by its file: ``(Context) -> fixes``.

The cause's own fixes (``cause.py``) and those of the very message (``message.py``) come from the corpus; what a source yields goes
before them, or behind by its tier.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...fix import Fix
    from ..context import Context

    Source = Callable[[Context], Iterable[Fix]]


def proposed(fixes: list[Fix], context: Context, failed: bool) -> list[Fix]:
    """Return what the cause advises with what this start's features, kernels, neighbours and releases add.

    Args:
        fixes: Of the cause.
        context: Of the start.
        failed: Whether there is a failure.
    """
    from ..adapters.model_class import beside
    from . import features, releases

    on_request = context.hit is None or context.of_request
    first, last = ([], []) if not failed or on_request else beside(context)
    ahead = list(features.propose(context))
    later = list(releases.propose(context)) if failed else []
    return [*ahead, *features.with_choices([*first, *fixes, *last, *later], context)]


def corrections(context: Context) -> list[Fix]:
    """Return the correction of what the error names; nothing where it does not settle what was meant."""
    if context.hit is None:
        return []
    from ..corrector import correct

    return correct(context.case)


__all__ = ("corrections", "proposed")
