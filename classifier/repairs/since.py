"""What later releases changed about the code that failed: the line, what guards it, the check that refused.

All of it is evidence from vLLM's sources that something changed there, none of it proof that the error is mended.
"""

from __future__ import annotations

import re

from ...corpus.records import Record, record
from ..patterns.lazy import LazyPattern
from .failing_line import Failure, failing_mark, fate_of, own_mark, place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...corpus.code_slices import Change
    from ..facts.fingerprint import FrameMark
    from ..lines.types import Trace

_HOT = 3
"""Releases that changed something, from which on a place changes all the time: then it is not told which of them mends anything."""
_RELATED = 2
"""Innermost frames that may catch an exception."""
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
    """Return what later releases changed about the code that failed; None where nothing is known of it.

    Args:
        failure: Of the failed start.
    """
    return repaired(failure) or _line(failure) or _refusal(failure)


def repaired(failure: Failure) -> Since | None:
    """Return the change to vLLM that mended what failed; None where none is known.

    Args:
        failure: Of the failed start.
    """
    trace = failure.trace
    if trace is None or not trace.kind or failure.own_build:
        return None
    from .match import SURE, matches
    from .say import changed, number_of, sentence

    found = matches(trace.kind, trace.message, trace.frames, failure.bound.first.partition("+")[0], failure.platform)
    best = found[0] if found else None
    if best is None or not best.repair.release:
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
    """Return what became of the line that failed: guarded first, since that is how mistakes are mended, then rewritten."""
    mark, wrapped = failing_mark(failure)
    line = fate_of(mark, wrapped, failure)
    rewritten = line.rewritten if line is not None else ""
    guarded = _guarded(mark, failure) if mark is not None else None
    if guarded is not None and not (guarded.older and rewritten):
        return guarded
    if not rewritten and (caught := _caught(failure)) is not None:
        return caught
    if line is None:
        return None
    if not rewritten:
        if _touched(line.mark, failure):
            return None
        return Since("", f"the newest release that is known, {line.newest}, still has the failing line of {line.place}")
    if line.with_function:
        fact = f"{line.place}, in which it failed, is gone from {rewritten} on: the code was rewritten or moved."
    else:
        fact = f"The failing line of {line.place} was rewritten in {rewritten}."
    return Since(rewritten, fact, "the line that failed is no longer there")


def _touched(mark: FrameMark, failure: Failure) -> bool:
    """Tell whether a release after the server's changed anything that guards or feeds a line."""
    from ...corpus.code_slices import index

    changes = index().changes(mark.path, mark.function, mark.code)
    return any(failure.bound.within(f">={each.release}") is not True for each in changes)


def _caught(failure: Failure) -> Since | None:
    """Return from which release on one of vLLM's frames catches an exception by its name, whoever raised it."""
    trace = failure.trace
    if trace is None:
        return None
    from ...corpus.code_slices import index

    own = [mark for frame in trace.frames if (mark := own_mark(frame)) is not None and mark.code]
    for mark in reversed(own[-_RELATED:]):
        changes = index().changes(mark.path, mark.function.rpartition(".")[2], mark.code)
        change, older = _first([each for each in changes if trace.kind in each.caught.split()], failure)
        if change is not None:
            release = change.release
            fact = f"{release} catches {trace.kind} around the line of {place_of(mark)} behind which it was raised."
            return Since(release, fact, f"it catches this {trace.kind}", older)
    return None


def _guarded(mark: FrameMark, failure: Failure) -> Since | None:
    """Return from which release on a line is reached only behind a further test, is given what it lacked, or its error is caught."""
    trace = failure.trace
    if trace is None:
        return None
    from ...corpus.code_slices import GIVEN, GUARDED, index

    lacking = trace.kind == "TypeError" and "required positional argument" in trace.message
    changes = index().changes(mark.path, mark.function, mark.code)
    wanted = GIVEN if lacking else GUARDED
    change, older = _first([each for each in changes if each.how == wanted or each.catches(trace.kind)], failure)
    if change is None:
        return None
    place, release = place_of(mark), change.release
    if change.how == GUARDED:
        fact, title = f"{release} put a test before the failing line of {place}.", "a test guards the line that failed"
    elif change.how == GIVEN:
        fact, title = f"{release} completes the failing call of {place}.", "it gives the call what it lacked"
    else:
        fact, title = (
            f"{release} catches {trace.kind} around the failing line of {place}.",
            f"it catches this {trace.kind}",
        )
    return Since(release, fact, title, older)


def _refusal(failure: Failure) -> Since | None:
    """Return from which release on a message is raised behind other tests, or no longer."""
    trace = failure.trace
    path = _raised_in(trace) if trace is not None else ""
    # Some messages begin with "Error: ", which reads like a class.
    said = f"{trace.kind}: {trace.message}" if trace is not None and trace.message.strip() else failure.text
    text = _SPACE.sub(" ", said)[:_MOST_OF_A_MESSAGE]
    if quoted := _QUOTED.search(text):
        path, text = "", quoted["said"]
    if path is None or not text or _REPORTS.search(text):
        return None
    from ...corpus.code_slices import index

    known = index()
    found = known.refusals(text, path)
    firsts = {_first(each.changes, failure, each.until) for each in found}
    if len(firsts) != 1:
        return None  # several files say it, and not all were changed alike
    change, older = firsts.pop()
    if change is not None:
        return _refused_otherwise(change, older)
    if any(each.until or each.changes for each in found):
        return None
    return Since(
        "", f"the newest release that is known, {known.releases[-1]}, still refuses this behind the same tests"
    )


def _refused_otherwise(change: Change, older: bool) -> Since | None:
    from ...corpus.code_slices import GONE, GUARDED

    release = change.release
    if change.how == GONE:
        fact, title = "no longer has the check that refuses this", "the check that refuses this is gone"
    elif change.how == GUARDED:
        fact, title = "changed the check that refuses this", "it changed the check that refuses this"
    else:
        return None
    return Since(release, f"{release} {fact}.", title, older, gone=change.how == GONE)


def _raised_in(trace: Trace) -> str | None:
    """Return the file of vLLM that raised an exception on purpose; "" where the log does not tell, None where another package did."""
    own = [mark for frame in trace.frames if (mark := own_mark(frame)) is not None]
    if not trace.frames:
        return ""
    # Where the log leaves the code out, the words tell.
    purposely = own and (own[-1].code.startswith(("raise", "assert")) or not own[-1].code)
    return own[-1].path if purposely and own_mark(trace.frames[-1]) is not None else None


def _first(changes: Sequence[Change], failure: Failure, until: str = "") -> tuple[Change | None, bool]:
    """Return the first change after the server's release, and whether that is not known.

    Args:
        changes: The oldest first.
        failure: Of the failed start.
        until: The first release that cannot be the server's, since it does not print such words; "" where all do.
    """
    bound = failure.bound
    if not changes or len(changes) > _HOT or not bound.first:
        return None, False
    sure = [each for each in changes if bound.within(f"<{each.release}")]
    if sure or failure.told:
        return (sure[0] if sure else None), False
    if until and bound.within(f">={until}"):
        return changes[-1], False  # these words are an older release's
    # A server of the older ones lacks the change, one of the newer has it.
    open_ = [each for each in changes if bound.within(f"<{each.release}") is None]
    return (open_[-1], True) if open_ else (None, False)
