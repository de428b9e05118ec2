"""What an answer without a rule can still say about the cause, and which fixes hold whatever the cause is."""

from __future__ import annotations

from itertools import islice

from ...corpus.records import replace
from ...corpus.types import Bucket, Cause, Fix
from ..fix import Fix as Made
from ..fix import ranked
from .sources.releases import TRACKER

_SEARCH = Fix(
    title="Search vLLM's issues for this error",
    kind="step",
    does=(("look", f"{TRACKER} {{search}}", ()),),
    tags=("look", "search"),
    why="No rule knows these words; they are those that every report of it shares.",
    cost="none",
    when=("search present",),
)


def generic_cause(bucket: Bucket) -> Cause:
    """Return what a bucket says of all its causes: what most of them share, or a look that changes nothing, and the search.

    Fixes that destroy something, or that hold only from a release on, are left out: they need the exact cause. So does what
    fewer than half of the causes have: it would be wrong more often than right.
    """
    found: dict[str, _Shared] = {}
    for number, cause in enumerate(bucket.causes):
        for rank, fix in enumerate(cause.fixes):
            if fix.safety == "destructive" or fix.fixed_in:
                continue
            found.setdefault(fix.option or fix.title, _Shared(fix, (rank, number))).count += 1
    causes = sum(bool(cause.fixes) for cause in bucket.causes)
    if not causes:
        return Cause(id="", title="", summary="")
    ordered = sorted(found.values(), key=lambda shared: (-shared.count, shared.first))
    fits = (
        each.fix
        for each in ordered
        if 2 * each.count >= causes or ("look" in each.fix.tags and each.fix.kind in ("command", "step"))
    )
    return Cause(id="", title="", summary="", fixes=(*islice(fits, 1), _SEARCH))


def as_guess(fixes: list[Made], own_fault: bool = False) -> list[Made]:
    """Return what is shown of a guessed cause's fixes: the first, for the rest hang on what was guessed, and what hangs on the error.

    Args:
        fixes: Of the cause, ranked.
        own_fault: Whether vLLM's own code raised an exception of Python's: no setting is its cause.
    """
    of_error = [fix for fix in fixes if "search" in fix.tags or fix.source]
    return ranked(
        of_error if own_fault and of_error else [fix for at, fix in enumerate(fixes) if not at or fix in of_error]
    )


def searchable(cause: Cause) -> Cause:
    """Return a cause with the search of others' reports behind its fixes."""
    return replace(cause, fixes=(*cause.fixes, _SEARCH))


class _Shared:
    """A fix with how many causes have it, and where it stands first: its rank there, and the cause's position."""

    __slots__ = ("count", "first", "fix")

    def __init__(self, fix: Fix, first: tuple[int, int]) -> None:
        self.fix = fix
        self.first = first
        self.count = 0
