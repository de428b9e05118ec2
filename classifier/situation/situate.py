"""The situation of a server start: what a person sees of it who reads the log before looking for a cause."""

from __future__ import annotations

from functools import cached_property

from ..facts.versions import version_key
from .ages import RELEASES, ranges_told_by
from .platforms import engine_in
from .programs import ENGINE, Program, program_of
from .releases import ReleaseBound, bound_of
from .writer import Writer, read_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..facts.fingerprint import ReleaseRange
    from .start import LoggedStart

HITS = 60
"""Hits whose lines count, in the order of the log."""
TRACES = 12
"""Exceptions of a start whose frames tell of its release."""

ABOVE, BELOW = 60, 20
"""Lines of a long log above and below which somebody's words are looked for."""
EXCERPT = 200
"""Lines up to which a text may be what somebody quoted."""


class Situation:
    """What is known of one start before any rule decides; each part is worked out when it is first asked for.

    Args:
        start: As it was read.
    """

    def __init__(self, start: LoggedStart) -> None:
        self._start = start

    @cached_property
    def release(self) -> ReleaseBound:
        """The releases that can have written it."""
        start = self._start
        if version_key(str(start.facts.get("vllm_version") or "")) is not None:
            return bound_of(start.facts, (), RELEASES)
        text = "\n".join(self._written())
        signs = ranges_told_by(text)
        signs += [(hit.rule.versions, "its words") for hit in start.hits[:HITS] if hit.rule.versions and not hit.quoted]
        signs += self.writer.bounds
        facts = start.facts if start.facts.get("engine") else {**start.facts, "engine": engine_in(text)}
        return bound_of(facts, signs, RELEASES, self._places)

    @cached_property
    def writer(self) -> Writer:
        """What somebody wrote around it: of a long log above its first line and below its last."""
        if self.excerpt:
            return read_writer(self.excerpt)
        head, tail = self._start.ends
        above = read_writer(_text(b"\n".join(head.split(b"\n", ABOVE)[:ABOVE])))
        if above.complaint:
            return above
        below = b"\n".join(tail.rstrip().rsplit(b"\n", BELOW)[-BELOW:])
        return read_writer(_text(below), self._start.last - BELOW + 1)

    @cached_property
    def excerpt(self) -> str:
        """The whole text, where it is a few lines that somebody quoted; "" of a log."""
        head, tail = self._start.ends
        return _text(head) if head == tail and head.count(b"\n") < EXCERPT else ""

    @cached_property
    def program(self) -> Program:
        """Whose program printed it."""
        start = self._start
        return Program(ENGINE, start.engine) if start.engine else program_of("\n".join(self._written()))

    def _written(self) -> list[str]:
        """Return lines as they stand in the log: its beginning and end, what rules read, and the frames of stacks."""
        start = self._start
        lines = [_text(part) for part in dict.fromkeys(start.ends)]
        lines += [hit.line.raw for hit in start.hits[:HITS] if not hit.quoted]
        lines += [line.raw for line in start.errors]
        return lines + [frame.raw or frame.path for trace in start.traces[:TRACES] for frame in trace.frames]

    def _places(self) -> ReleaseRange:
        """Return the releases that fit where the lines of a start were logged, and where its exceptions were raised."""
        from ..facts.fingerprint import bound_release, mark_of_frame, mark_of_line

        start = self._start
        marks = [mark_of_line(line) for line in (*start.sites, *start.errors)]
        frames = [mark_of_frame(frame) for trace in start.traces[:TRACES] for frame in trace.frames]
        return bound_release(mark for mark in (*marks, *frames) if mark is not None)


def situate(start: LoggedStart) -> Situation:
    """Return the situation of a start; the same object each time."""
    if start.situation is None:
        start.situation = Situation(start)
    return start.situation


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
