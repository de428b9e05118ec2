"""Makes the situation of a server start, once, out of what was read of it."""

from __future__ import annotations

from .ages import RELEASES, ranges_told_by
from .platforms import engine_in
from .releases import ReleaseBound, bound_of
from .types import Situation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..facts.fingerprint import ReleaseRange
    from .start import LoggedStart

HITS = 60
"""Hits whose lines count, in the order of the log."""
TRACES = 12
"""Exceptions of a start whose frames tell of its release."""


def situate(incident: LoggedStart) -> Situation:
    """Return the situation of a start; the same object each time."""
    if incident.situation is None:
        incident.situation = Situation(release=_bound(incident))
    return incident.situation


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
