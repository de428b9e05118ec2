"""What later releases changed about the code that failed: the line itself, the refusal that is said no more.

All of it is evidence from vLLM's sources that something changed there, none of it proof that the error is mended.
"""

from __future__ import annotations

import re

from ...corpus.records import Record, record
from ..patterns.lazy import LazyPattern
from .failing_line import Failure, failing_mark, fate_of, own_mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..lines.types import Trace

_HOT = 3
"""Releases that changed something, from which on a place changes all the time: then it is not told which of them mends anything."""
_REPORTS = LazyPattern(
    r"failed with error|\bdied\b|exit code|root cause|no module or parameter|initializ|Engine core|stack trace|timed? ?out|"
    r"Encoder cache miss",
    re.IGNORECASE,
)
"""Words of messages that tell of an error elsewhere."""
_QUOTED = LazyPattern(r"Worker failed with error ['\"](?P<said>.{20,}?)(?:['\"], please|$)")
"""How the engine hands on what a worker raised."""
_LIMIT = LazyPattern(
    r"not (?:yet )?(?:be )?(?:support|implement|compatible|allow)|unsupported|incompatible|cannot be|can't be|\bonly\b|\byet\b|does ?n.t (?:yet )?support",
    re.IGNORECASE,
)
"""Words of what vLLM cannot do: a later release may."""
_OWN = frozenset({"TypeError", "NameError", "UnboundLocalError"})
"""Exceptions that hardly anything but a mistake in vLLM's code raises there."""
_SPACE = LazyPattern(r"\s+")
_MOST_OF_A_MESSAGE = 2000


@record(frozen=True, slots=True)
class Since(Record):
    """What the sources tell of the code that failed.

    Attributes:
        release: The first that changed it; "" where the newest still has it as it is.
        fact: What changed there, a sentence; what has not.
        title: The same in short, for ``Upgrade vLLM to X or later: …``.
        older: Whether the server's release is not known, so that it may have the change already.
        gone: Whether it no longer has the check that refused.
        sure: Whether what it changed is the very thing that the error names.
    """

    release: str
    fact: str
    title: str = ""
    older: bool = False
    gone: bool = False
    sure: bool = False


def since(failure: Failure) -> Since | None:
    """Return what later releases changed about the code that failed, whatever for; None where nothing is known of it.

    Args:
        failure: Of the failed start.
    """
    return _line(failure) or _refusal(failure)


def repaired(failure: Failure) -> Since | None:
    """Return the change to vLLM that mended what failed; None where none is known.

    Args:
        failure: Of the failed start.
    """
    trace = failure.trace
    if trace is None or not trace.kind:
        return None
    from .match import SURE, matches
    from .say import changed, number_of, sentence

    found = matches(trace.kind, trace.message, trace.frames, failure.bound.first.partition("+")[0], failure.platform)
    best = found[0] if found else None
    if best is None or not best.repair.release or failure.own_build():
        return None
    if len({each.repair.release for each in found if each.fit == best.fit}) > _HOT:
        return None
    older = failure.bound.within(f"<{best.repair.release}") is not True
    title = f"{number_of(best)} {changed(best, trace.kind)}"
    return Since(best.repair.release, sentence(best, trace.kind), title, older, sure=best.fit == SURE)


def lifted(failure: Failure) -> Since | None:
    """Return what is worth an upgrade also where the cause has fixes of its own; None where nothing is known, or no release told.

    That is a limit that a later release no longer has, or a mistake of vLLM's own that it no longer makes.

    Args:
        failure: Of the failed start.
    """
    trace = failure.trace
    said = trace.message if trace is not None and trace.message.strip() else failure.text
    found = None
    if trace is not None and (trace.kind in _OWN or (trace.kind == "AssertionError" and not trace.message.strip())):
        found = _line(failure)
    if found is None and _LIMIT.search(said):
        found = _refusal(failure)
        if found is not None and not found.gone:
            return None  # other tests may refuse this all the same
    return found if found is not None and found.release and not found.older else None


def _line(failure: Failure) -> Since | None:
    """Return what became of the line that failed."""
    line = fate_of(*failing_mark(failure), failure)
    if line is None:
        return None
    release = line.rewritten
    if not release:
        return Since("", f"the newest release that is known, {line.newest}, still has the failing line of {line.place}")
    if line.with_function:
        fact = f"{line.place}, in which it failed, is gone from {release} on: the code was rewritten or moved."
    else:
        fact = f"The failing line of {line.place} was rewritten in {release}."
    return Since(release, fact, "the line that failed is no longer there")


def _refusal(failure: Failure) -> Since | None:
    """Return from which release on vLLM no longer says what it refused with."""
    trace = failure.trace
    if trace is not None and not _raised_on_purpose(trace):
        return None
    # Some messages begin with "Error: ", which reads like a class.
    said = f"{trace.kind}: {trace.message}" if trace is not None and trace.message.strip() else failure.text
    text = _SPACE.sub(" ", said)[:_MOST_OF_A_MESSAGE]
    if quoted := _QUOTED.search(text):
        text = quoted["said"]
    if not text or _REPORTS.search(text):
        return None
    from ...corpus.raise_sites import index

    release = first_without(text)
    if release is None:
        return None
    if not release:
        return Since("", f"the newest release that is known, {index().releases[-1]}, still refuses this")
    older = failure.bound.within(f"<{release}") is not True
    return Since(release, f"{release} no longer refuses this.", "it no longer refuses this", older, gone=True)


def first_without(message: str) -> str | None:
    """Return the first release that no longer raises a message: "" where the newest does; None where no release is known to.

    Args:
        message: In one line.
    """
    from ...corpus.raise_sites import index

    known = index()
    lasts = [card.last for card in known.by_message(message)]
    if not lasts or "" in lasts:
        return "" if lasts else None
    return known.releases[max(map(known.releases.index, lasts)) + 1]


def _raised_on_purpose(trace: Trace) -> bool:
    """Whether a file of vLLM raised an exception on purpose, as far as the log shows its frames."""
    if not trace.frames:
        return True
    mark = own_mark(trace.frames[-1])
    # Where the log leaves the code out, the words tell.
    return mark is not None and (mark.code.startswith(("raise", "assert")) or not mark.code)
