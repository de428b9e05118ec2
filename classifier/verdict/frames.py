"""What the stack of an exception says where nobody knows its words: the part of the code that raised it."""

from __future__ import annotations

from collections.abc import Sequence

from ...corpus.records import Record, record, replace
from ..lines.types import Evidence, Frame, Trace
from ..patterns.precompiled import compiled
from . import policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...corpus.frames import Part
    from ..text_model.guess import Guess

DEPTH = 12
"""Innermost frames that are looked at, those that everything runs through not counted."""
NEARNESS = (1.0, 0.5, 0.35, 0.25, 0.2, 0.15)
"""What a frame counts by its distance from the raise; further out all count as the last one."""
IMPORTED = "<module>"
"""The function of a frame that runs while its module is imported."""
LIKELY = 0.004
"""Least probability of a bucket before the stack is looked at."""


@record(frozen=True)
class Vote(Record):
    """A bucket for which the stack speaks."""

    bucket: str
    weight: float
    """Of the frames in parts that stand for it, at most 1: 1 where the innermost telling frame is one."""
    sure: bool
    """Whether the part seldom fails for another reason."""
    frame: Frame
    """The innermost of these frames."""
    part: str
    """What that part of the code does, in words."""
    cause: str
    """The cause within the bucket that it stands for, or empty."""


def votes(trace: Trace) -> list[Vote]:
    """Return the buckets for which the stack of an exception speaks, those of the innermost frames first."""
    from ...corpus.frames import parts

    table = parts()
    found: dict[str, Vote] = {}
    telling = [frame for frame in trace.frames if not compiled(table.generic).search(frame.path)]
    for distance, frame in enumerate(reversed(telling[-DEPTH:])):
        function = frame.function.partition(" ")[0]
        if function == IMPORTED and distance == 0:
            bucket, sure, name, cause = "install_mismatch", True, "an import", ""
        elif (part := _part_of(frame.path, function, table.all)) is not None:
            bucket, sure, name, cause = part.bucket, part.tells == "much", part.name, part.cause
        else:
            continue
        weight = NEARNESS[min(distance, len(NEARNESS) - 1)]
        before = found.get(bucket)
        if before is None:
            found[bucket] = Vote(bucket, weight, sure, frame, name, cause)
        else:
            found[bucket] = replace(before, weight=min(1.0, before.weight + weight), sure=before.sure or sure)
    return list(found.values())


def _part_of(path: str, function: str, table: Sequence[Part]) -> Part | None:
    """Return the part to which a frame belongs, by its function first; None where that tells nothing."""
    named = (part for part in table if part.functions and compiled(part.functions).search(function))
    placed = (part for part in table if part.paths and compiled(part.paths).search(path))
    return next(named, None) or next(placed, None)


def neighbour(trace: Trace) -> Vote | None:
    """Return what the package around vLLM stands for that raised an exception, where it does one thing alone; else None."""
    if not trace.frames or "vllm" in trace.frames[-1].path:
        return None
    first = next(iter(votes(trace)), None)
    return first if first is not None and first.sure and first.weight >= 1 else None


def reweighed(ranked: Sequence[tuple[str, float]], cast: Sequence[Vote]) -> list[tuple[str, float]]:
    """Return the probabilities of the buckets with what the stack says, likeliest first; they add up to 1.

    Args:
        ranked: The probabilities before, which add up to at most 1.
        cast: The votes of the stack.
    """
    chances = dict(ranked)
    for vote in cast:
        worth = policy.FRAMES_MUCH if vote.sure else policy.FRAMES_SOME
        chances[vote.bucket] = max(chances.get(vote.bucket, 0.0), LIKELY) * float(worth**vote.weight)
    total = sum(chances.values())
    return sorted(
        ((bucket, chance / total) for bucket, chance in chances.items()), key=lambda item: (-item[1], item[0])
    )


def with_frames(guess: Guess, trace: Trace) -> Guess:
    """Return a guess with what the stack of an exception of unknown words says.

    Args:
        guess: What the model makes of the words and places of the log.
        trace: The exception.
    """
    cast = votes(trace)
    if not cast:
        return guess
    ranked = reweighed(guess.ranked, cast)
    bucket = ranked[0][0]
    vote = next((item for item in cast if item.bucket == bucket), None)
    evidence = guess.evidence
    if bucket != guess.bucket and vote is not None:
        frame = vote.frame
        lines = [(trace.number, trace.raw or trace.text), (frame.line, frame.raw), (frame.code_line, frame.code_raw)]
        evidence = [Evidence(number, text, trace.process, "model") for number, text in lines if number and text]
    told = [f"{item.part} ({item.frame.path}:{item.frame.function})" for item in cast[:3]]
    cause = vote.cause if vote is not None else ""
    return replace(guess, ranked=ranked, evidence=evidence, frames=told, cause=cause)
