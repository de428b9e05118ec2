"""What the error's words or its place tell of any cause: idioms, and components that can be exchanged or switched off."""

from __future__ import annotations

from ....corpus.records import replace
from ....corpus.types import Cause
from ...fix import CLUE, LEADING, OF_CLUE, Fix
from ...lines.mistakes import MISTAKES
from .cause import advise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...clues import Found
    from ..context import Context

KNOWS = ("certain", "strong")
"""Strengths of rules that have read more than words and place."""
_MOST = 3
"""Rows that are asked, and fixes of each."""


def propose(context: Context) -> Iterator[Fix]:
    """Yield what the words and the place of the error ask for; tags say how sure that is."""
    if context.failed and context.corpus is not None:
        known = _known(context)
        yield from _fixes([found for found in context.clues[:_MOST] if found.clue.leads or not known], context)


def spare(context: Context) -> Iterator[Fix]:
    """Yield the same of clues that a rule which knows the words goes before: for where nothing of its cause is shown."""
    if context.failed and context.corpus is not None and _known(context):
        yield from _fixes([found for found in context.clues[:_MOST] if not found.clue.leads], context)


def _known(context: Context) -> bool:
    """Return whether a rule has read more than words and place; that vLLM's own code failed is no more than the place."""
    hit = context.hit
    return hit is not None and bool(hit.rule.id) and hit.rule.strength in KNOWS and context.bucket != "engine_bug"


def _fixes(clues: Iterable[Found], context: Context) -> Iterator[Fix]:
    trace = context.trace
    for found in clues:
        clue = found.clue
        own = Cause(id="", title="", summary="", fixes=clue.fixes)
        tags = (
            clue.kind,
            *(("mistake",) if trace is not None and trace.kind in MISTAKES else ()),
            *(("plain",) if clue.sure else ()),
            *(("around",) if found.around else ()),
        )
        values = {**context.captures, **found.values}
        for fix in advise(own, context.facts, values, context.bound, "", context.say)[:_MOST]:
            tier = LEADING if clue.leads else CLUE
            yield replace(fix, tier=tier, source=fix.source or OF_CLUE, tags=(*fix.tags, *tags))
