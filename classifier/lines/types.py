"""What a log is made of once prefixes are peeled off: lines, stack frames, exceptions."""

from __future__ import annotations

from ...corpus.records import Mutable, Record, field, record

KEY_FRAMES, KEY_MESSAGE = 6, 200
"""Innermost frames, and characters of the message, by which two exceptions are told apart."""


@record(slots=True)
class Line(Mutable):
    """One line with everything that others put in front of it peeled off."""

    number: int
    """1-based number in the raw input."""
    text: str
    """The message alone."""
    process: str = ""
    """``EngineCore_DP0``, ``Worker_TP1`` …; empty where the log does not say."""
    level: str = ""
    """``INFO`` … ``CRITICAL``; empty for bare lines (prints, tracebacks, other libraries)."""
    source: str = ""
    """``core.py:708`` of vLLM's prefix."""
    time: str = ""
    """Time stamp as printed."""
    raw: str = ""
    """The line as it stands in the log, without colours."""
    logged: bool = False
    """Whether vLLM's own logger wrote the line."""

    def __init__(  # noqa: PLR0913 - written out: hundreds are made for each log
        self,
        number: int,
        text: str,
        process: str = "",
        level: str = "",
        source: str = "",
        time: str = "",
        raw: str = "",
        logged: bool = False,
    ) -> None:
        self.number, self.text, self.process, self.level = number, text, process, level
        self.source, self.time, self.raw, self.logged = source, time, raw, logged


@record(slots=True)
class Frame(Mutable):
    """One stack frame."""

    path: str
    """From the package's folder: ``vllm/v1/engine/core.py``."""
    function: str
    code: str = ""
    number: int = 0
    line: int = 0
    """Number of its line in the log, and that line."""
    raw: str = ""
    code_line: int = 0
    code_raw: str = ""

    def __init__(  # noqa: PLR0913 - as that of a line
        self,
        path: str,
        function: str,
        code: str = "",
        number: int = 0,
        line: int = 0,
        raw: str = "",
        code_line: int = 0,
        code_raw: str = "",
    ) -> None:
        self.path, self.function, self.code, self.number = path, function, code, number
        self.line, self.raw, self.code_line, self.code_raw = line, raw, code_line, code_raw


@record(slots=True)
class Trace(Mutable):
    """One exception with its stack, as read from one process."""

    number: int
    """Line of the exception's own text (or of the last frame, where that is missing)."""
    first: int
    """Line on which the traceback starts."""
    process: str
    kind: str = ""
    """Class name without module; empty where the log is cut before it."""
    message: str = ""
    frames: list[Frame] = field(default_factory=list)
    level: str = ""
    text: str = ""
    """The exception's line as it stands in the log, without prefix."""
    raw: str = ""
    last: int = 0
    """Last line that belongs to it (message continued)."""
    cause_of: Trace | None = None
    """The exception that was raised from, or while handling, this one."""
    raised_from: Trace | None = None
    direct: bool = False
    """Whether the link to ``raised_from`` is 'direct cause'."""
    count: int = 1
    """How often the same exception was printed."""
    processes: list[str] = field(default_factory=list)
    logging_error: bool = False
    """Printed by the logging module about itself."""
    stack_text: str = ""

    def stack(self) -> str:
        """Return the frames as the text that rules search: one line a frame, outermost first."""
        if not self.stack_text and self.frames:
            shown = self.frames if len(self.frames) <= 80 else [*self.frames[:10], *self.frames[-70:]]
            self.stack_text = "\n".join(f"{frame.path[-160:]}:{frame.function}: {frame.code}" for frame in shown)
        return self.stack_text

    def key(self) -> tuple[object, ...]:
        """Return what makes two printed exceptions the same fault."""
        return (
            self.kind,
            self.message[:KEY_MESSAGE],
            tuple((frame.path, frame.function) for frame in self.frames[-KEY_FRAMES:]),
        )


@record(slots=True, frozen=True)
class Evidence(Record):
    """A line that proves something."""

    line: int
    text: str
    process: str = ""
    role: str = "cause"
    count: int = 1
