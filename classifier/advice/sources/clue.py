"""What the error's words or its place tell of any cause: idioms, and components that can be exchanged or switched off."""

from __future__ import annotations

from ....corpus.records import replace
from ....corpus.types import Cause
from ...fix import CLUE, LEADING, OF_CLUE, Fix
from ...lines.mistakes import MISTAKES
from .cause import advise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..context import Context

KNOWS = ("certain", "strong")
"""Strengths of rules that have read more than words and place."""
_MOST = 3
"""Rows that are asked, and fixes of each."""


def propose(context: Context) -> Iterator[Fix]:
    """Yield what the words and the place of the error ask for; tags say how sure that is."""
    hit = context.hit
    if not context.failed or context.corpus is None:
        return
    # That vLLM's own code failed is no more than the place.
    known = hit is not None and bool(hit.rule.id) and hit.rule.strength in KNOWS and context.bucket != "engine_bug"
    trace = context.trace
    for found in context.clues[:_MOST]:
        clue = found.clue
        if known and not clue.leads:
            continue
        own = Cause(id="", title="", summary="", fixes=clue.fixes)
        tags = (
            clue.kind,
            *(("mistake",) if trace is not None and trace.kind in MISTAKES else ()),
            *(("plain",) if clue.sure else ()),
            *(("around",) if found.around else ()),
        )
        for fix in advise(own, context.facts, {**context.captures, **found.values}, context.bound, "", context.say)[
            :_MOST
        ]:
            yield replace(
                fix, tier=LEADING if clue.leads else CLUE, source=fix.source or OF_CLUE, tags=(*fix.tags, *tags)
            )
