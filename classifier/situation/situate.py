"""Makes the situation of a server start, once, out of what was read of it."""

from __future__ import annotations

from .ages import RELEASES, ranges_told_by
from .platforms import engine_in
from .releases import ReleaseBound, bound_of
from .types import Situation
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


def situate(incident: LoggedStart) -> Situation:
    """Return the situation of a start; the same object each time."""
    if incident.situation is None:
        excerpt = _excerpt(incident)
        incident.situation = Situation(release=_bound(incident), writer=_writer(incident, excerpt), excerpt=excerpt)
    return incident.situation


def _excerpt(incident: LoggedStart) -> str:
    head, tail = incident.ends
    return head.decode("utf-8", "replace") if head == tail and head.count(b"\n") < EXCERPT else ""


def _writer(incident: LoggedStart, excerpt: str) -> Writer:
    """Return what stands around the log: of a long one above its first line and below its last."""
    if excerpt:
        return read_writer(excerpt)
    head, tail = (part.decode("utf-8", "replace") for part in incident.ends)
    above = read_writer("\n".join(head.split("\n")[:ABOVE]))
    return (
        above
        if above.complaint
        else read_writer("\n".join(tail.rstrip().split("\n")[-BELOW:]), incident.last - BELOW + 1)
    )


def _bound(incident: LoggedStart) -> ReleaseBound:
    hits = [hit for hit in incident.hits[:HITS] if not hit.quoted]
    text = "\n".join(_written(incident))
    signs = ranges_told_by(text)
    signs += [(hit.rule.versions, "its words") for hit in hits if hit.rule.versions]
    facts = incident.facts if incident.facts.get("engine") else {**incident.facts, "engine": engine_in(text)}
    return bound_of(facts, signs, RELEASES, lambda: _places(incident))


def _written(incident: LoggedStart) -> list[str]:
    """Return lines as they stand in the log: its beginning and end, what rules read, and the frames of stacks."""
    lines = [part.decode("utf-8", "replace") for part in incident.ends]
    lines += [hit.line.raw for hit in incident.hits[:HITS] if not hit.quoted]
    lines += [line.raw for line in incident.errors]
    return lines + [frame.raw or frame.path for trace in incident.traces[:TRACES] for frame in trace.frames]


def _places(incident: LoggedStart) -> ReleaseRange:
    """Return the releases that fit where the lines of a start were logged, and where its exceptions were raised."""
    from ..facts.fingerprint import bound_release, mark_of_frame, mark_of_line

    marks = [mark_of_line(line) for line in (*incident.sites, *incident.errors)]
    frames = [mark_of_frame(frame) for trace in incident.traces[:TRACES] for frame in trace.frames]
    return bound_release(mark for mark in (*marks, *frames) if mark is not None)
