"""Line numbers of an answer, from those of the mended text to those of the input."""

from __future__ import annotations

from ..diagnosis import Diagnosis
from ..incidents.types import StageSpan
from ..input.numbers import Numbers
from ..patterns.lazy import LazyPattern

_TOLD = LazyPattern(r"\b(on line )(\d+)")


def renumber(answer: Diagnosis, numbers: Numbers) -> None:
    """Put the number of the input's line wherever an answer names a line."""
    shown = [*answer.evidence, *answer.symptoms, *answer.chain, *answer.context, *answer.tail, *answer.unread]
    if (story := answer.story) is not None:
        shown += [*story.overcome, *([story.died_first] if story.died_first is not None else [])]
        story.first, story.last = numbers.original(story.first), numbers.original(story.last)
    for item in {id(item): item for item in shown}.values():
        item.line = numbers.original(item.line)
    answer.stages = [
        StageSpan(span.stage, numbers.original(span.line), span.time, span.seconds) for span in answer.stages
    ]
    for incident in answer.incidents:
        incident["first"], incident["last"] = numbers.original(incident["first"]), numbers.original(incident["last"])
    # Only the first number of each: what follows it may be the log's own words.
    answer.notes, answer.explanation = (
        [_TOLD.sub(lambda found: f"{found[1]}{numbers.original(int(found[2]))}", text, 1) for text in told]
        for told in (answer.notes, answer.explanation)
    )
    answer.lines = numbers.lines(answer.lines)
