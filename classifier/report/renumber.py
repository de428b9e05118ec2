"""Line numbers of a verdict, from those of the mended text to those of the input."""

from __future__ import annotations

from collections.abc import Iterable

from ...corpus.records import replace
from ..input.numbers import Numbers
from ..lines.types import Evidence
from ..patterns.lazy import LazyPattern
from ..verdict.types import Story, Verdict

_TOLD = LazyPattern(r"\b(on line )(\d+)")


def renumber(verdict: Verdict, numbers: Numbers) -> Verdict:
    """Return a verdict with the number of the input's line wherever it names a line."""
    original = numbers.original

    def shown(lines: Iterable[Evidence]) -> tuple[Evidence, ...]:
        return tuple(replace(item, line=original(item.line)) for item in lines)

    def told(story: Story) -> Story:
        died = shown([story.died_first])[0] if story.died_first is not None else None
        first, last = original(story.first), original(story.last)
        return replace(story, first=first, last=last, died_first=died, overcome=shown(story.overcome))

    def said(texts: Iterable[str]) -> tuple[str, ...]:
        # Only the first number of each: what follows it may be the log's own words.
        return tuple(_TOLD.sub(lambda found: f"{found[1]}{original(int(found[2]))}", text, 1) for text in texts)

    return replace(
        verdict,
        evidence=shown(verdict.evidence),
        symptoms=shown(verdict.symptoms),
        chain=shown(verdict.chain),
        context=shown(verdict.context),
        unread=shown(verdict.unread),
        story=told(verdict.story) if verdict.story is not None else None,
        stages=tuple(replace(span, line=original(span.line)) for span in verdict.stages),
        starts=tuple(
            replace(start, first=original(start.first), last=original(start.last)) for start in verdict.starts
        ),
        notes=said(verdict.notes),
        weighed=said(verdict.weighed),
        explanation=said(verdict.explanation),
    )
