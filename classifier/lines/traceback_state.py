"""What the traceback reader keeps: a state for each stream of lines, and the exceptions found, each once."""

from __future__ import annotations

from .traceback_patterns import ARROW, NAME, looks_like_exception
from .types import KEY_FRAMES, Frame, Line, Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

TRACES = 2000
"""Different exceptions kept of one server start."""
PROCESSES = 64
"""Processes noted of one exception."""

NOTHING = Trace(0, 0, "")
"""Stands for the exception being read where there is none."""


Skipped: TypeAlias = "tuple[Sequence[bytes], Sequence[int], bool]"
"""Lines of a stack that were passed over, their numbers, and whether vLLM's prefix stands on them, which ends with the first
``] ``."""


class Step:
    """A line of a stack that was printed before, and the lines that have followed it."""

    __slots__ = ("code", "count", "ends", "frame", "frames", "key", "missed", "silent", "then", "words")

    def __init__(self) -> None:
        self.then: dict[bytes, Step] = {}
        self.ends: dict[bytes, Step] | None = None
        """The exceptions' own lines that have ended a stack here more than once."""
        self.key: tuple[object, ...] = ()
        """``Trace.key`` of the exception, where the line is its own."""
        self.words: tuple[int, ...] | None = None
        """The literals that rules wait for in the line; None where nobody has looked yet."""
        self.silent = False
        """Whether it is known that there are none."""
        self.frame: Frame | None = None
        """The frame that the line added, with the numbers of that time."""
        self.code = ""
        """What the line told of the innermost frame's code."""
        self.frames: list[Frame] = []
        """The frames of the first stack that came by here, of which so many stood up to here."""
        self.count = 0
        self.missed: set[int] = set()
        """Line rules that do not match the line."""

    def add_to(self, frames: list[Frame], number: int, raw: bytes) -> None:
        """Add what the line says to a stack in which it stands as line ``number``."""
        if self.frame is not None:
            model = self.frame
            frames.append(Frame(model.path, model.function, "", model.number, number, raw.decode("utf-8", "replace")))
        elif self.code:
            frames[-1].code, frames[-1].code_line = self.code, number
            frames[-1].code_raw = raw.decode("utf-8", "replace")

    def tail(self) -> tuple[tuple[str, str], ...]:
        """Return the part of ``Trace.key`` that the frames make."""
        return tuple(
            (frame.path, frame.function) for frame in self.frames[max(0, self.count - KEY_FRAMES) : self.count]
        )

    def __deepcopy__(self, _memo: dict[int, object]) -> Step:
        """Return the step itself: what it tells of lines is true of every reader."""
        return self


class Stream:
    """Where the reader stands in the lines of one process (of one logger, where vLLM's prefix names it)."""

    __slots__ = (
        "closed", "foreign", "fresh", "link", "logging_error", "mode",
        "more", "outer", "previous", "resume", "seen", "skipped", "state", "step", "stepped", "trace",
    )  # fmt: skip

    def __init__(self) -> None:
        self.trace = NOTHING
        """The exception being read, wherever ``state`` is not empty."""
        self.state = ""
        """``stack`` within a traceback, ``message`` below the exception's own line, else empty."""
        self.mode = ""
        """What kind of stack, where not Python's own: ``fatal`` a crash before its stack, ``crash`` that stack (innermost
        first), ``thread`` that of a bystander, ``thrown`` what C++ threw."""
        self.link = ""
        self.previous: Trace | None = None
        self.outer: Trace | None = None
        """An exception whose cause is printed below it."""
        self.closed = self.seen = 0
        self.more = self.foreign = 0
        self.fresh = False
        """Whether the message is that of an exception not seen before."""
        self.logging_error = False
        self.step: Step | None = None
        """Where the stack stands among those that were printed before; None where it is not followed."""
        self.stepped: Trace | None = None
        """The exception whose stack that is."""
        self.skipped: list[Skipped] = []
        """Lines of the stack that were not read: they are known."""
        self.resume: Step | None = None
        """Where the stack stood before the first of them."""


def origin(raw: str) -> str:
    """Return the container that printed a line, where several are shown together: their processes share names."""
    if raw[:5] == "[pod/":
        return raw[: raw.find("]") + 1]
    name, bar, _ = raw[:80].partition("|")
    if not bar or not name[:1].isalnum() or name[-1:] != " ":
        return ""
    # supervisor-stdout says which of the two it was: 'chat stderr | …'.
    name = name.rstrip().removesuffix(" stdout").removesuffix(" stderr")
    return name if " " not in name else ""


class Kept:
    """The exceptions of one server start in the order in which they were first printed."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []
        self._known: dict[tuple[object, ...], Trace] = {}
        self.repeats = False
        """Whether one was printed twice."""

    def add(self, trace: Trace) -> Trace:
        """Keep an exception, or count it where an equal one is known; return the one that is kept."""
        if not trace.frames and not trace.kind:
            return trace
        key = trace.key()
        known = self._known.get(key)
        if known is not None:
            self.repeats = True
            self.again(known, trace.process, trace.last)
            return known
        if trace.raised_from is not None:
            trace.raised_from.cause_of = trace
        trace.processes = [trace.process]
        if len(self.traces) < TRACES:
            self._known[key] = trace
            self.traces.append(trace)
        return trace

    def again(self, known: Trace, process: str, last: int) -> None:
        """Count an exception that was printed once more, by ``process``, up to line ``last``."""
        known.count += 1
        known.last = max(known.last, last)
        if process and process not in known.processes and len(known.processes) < PROCESSES:
            known.processes.append(process)

    def known(self, key: tuple[object, ...]) -> Trace | None:
        """Return the exception with this key that is kept, if there is one."""
        return self._known.get(key)


def link(outer: Trace, cause: Trace) -> None:
    """Note that ``cause`` is why ``outer`` was raised, unless that would make a ring."""
    if outer.raised_from is not None:
        return
    step: Trace | None = cause
    for _ in range(TRACES):
        if step is None:
            break
        if step is outer:
            return
        step = step.raised_from
    outer.raised_from, outer.direct, cause.cause_of = cause, True, outer


def note_code(trace: Trace, code: str, line: Line) -> None:
    """Note the source code of the innermost frame: its first line, or the one that is pointed at."""
    if trace.frames and code.strip("^~ "):
        frame = trace.frames[-1]
        if not frame.code or code.startswith("--"):
            frame.code = ARROW.sub("", code)[:200]
            frame.code_line, frame.code_raw = line.number, line.raw


def is_moved_exception(trace: Trace, text: str) -> bool:
    """Return whether an indented line is an exception's own.

    An issue's quoting may have moved the whole traceback to the right, never the code alone.
    """
    if not trace.frames or not trace.frames[-1].code or trace.frames[-1].code == text:
        return False
    name = text.partition(":")[0]
    return " " not in name and bool(NAME.search(name)) and looks_like_exception(text)
