"""The small classes that travel between the steps from bytes to answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .context import Contexts

# Compared by identity and never matched on: what dataclass need not generate makes the command start faster.

STAGES = (
    "launch", "config", "engine_init", "distributed_init", "weights", "compile",
    "profile", "kv_cache", "graph_capture", "api_ready", "serving", "shutdown",
)  # fmt: skip
"""Start-up stages in the order in which a healthy server reaches them."""


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Line:
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


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Frame:
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


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Trace:
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
    """Whether the link to ``raised_from`` is «direct cause»."""
    count: int = 1
    """How often the same exception was printed."""
    processes: list[str] = field(default_factory=list)
    logging_error: bool = False
    """Printed by the logging module about itself."""
    order: int = 0
    incident: int = 0

    stack_text: str = ""

    def stack(self) -> str:
        """Return the frames as the text that rules search: one line a frame, outermost first."""
        if not self.stack_text and self.frames:
            shown = self.frames if len(self.frames) <= 80 else [*self.frames[:10], *self.frames[-70:]]
            self.stack_text = "\n".join(f"{frame.path[-160:]}:{frame.function}: {frame.code}" for frame in shown)
        return self.stack_text

    def key(self) -> tuple[Any, ...]:
        """Return what makes two printed exceptions the same fault."""
        return (self.kind, self.message[:200], tuple((frame.path, frame.function) for frame in self.frames[-6:]))


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Hit:
    """One rule that matched one line, or one exception."""

    rule: Any
    line: Line
    captures: dict[str, str]
    trace: Trace | None = None
    quoted: bool = False
    """The match stands in source code that a traceback shows, not in a message."""
    count: int = 1
    incident: int = 0
    last: int = 0
    """Line number of the latest repetition."""


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class StageSpan:
    """A start-up stage that the log shows."""

    stage: str
    line: int
    time: str = ""
    seconds: float | None = None


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Incident:
    """One server start to its end."""

    index: int
    first: int
    """First line."""
    hits: list[Hit] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    stages: list[StageSpan] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    reached: str = ""
    last: int = 0
    """Last line."""
    fired: set[str] = field(default_factory=set)
    """Fact rules that fired, by full id."""
    errors: list[Line] = field(default_factory=list)
    """First lines logged at ERROR or above, whatever they say."""
    contexts: Contexts = field(default_factory=Contexts)
    server: str = ""
    """The container that printed it, where a log shows several servers."""
    foreign: bool = False
    """Whether nothing in the log is vLLM's, of its parts or of its clients."""
    tail: list[Line] = field(default_factory=list)
    """The server's last lines, where it is not the first one of its log."""


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Evidence:
    """A line that proves something."""

    line: int
    text: str
    process: str = ""
    role: str = "cause"
    count: int = 1


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Candidate:
    """A possible answer with what speaks for it."""

    bucket: str
    cause: str
    score: float
    hit: Hit
    reasons: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Advice:
    """A fix with this log's values filled in; the fields of the output contract."""

    rank: int
    title: str
    kind: str
    change: str
    why: str
    cost: str
    verify: str
    option: str = ""
    value: str = ""
    safety: str = "safe"
    versions: str = ""
    fixed_in: str = ""
    """For an upgrade: the release from which the fault, or the words that decided, are gone."""
    restart: bool = False
    root: bool = False
    source: str = ""
    exact: bool = False
    """Whether every value in ``change`` is known: it can be pasted as it stands."""


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Diagnosis:
    """The whole answer; every output format is made from it."""

    bucket: str
    cause: str
    confidence: float
    decided_by: str
    title: str
    summary: str
    evidence: list[Evidence] = field(default_factory=list)
    symptoms: list[Evidence] = field(default_factory=list)
    alternatives: list[tuple[str, float]] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    reached: str = ""
    stages: list[StageSpan] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    fixes: list[Advice] = field(default_factory=list)
    corrected_command: str = ""
    incidents: list[dict[str, Any]] = field(default_factory=list)
    confirm: str = ""
    refute: str = ""
    notes: list[str] = field(default_factory=list)
    chain: list[Evidence] = field(default_factory=list)
    context: list[Evidence] = field(default_factory=list)
    """Lines around the deciding one, that one included."""
    explanation: list[str] = field(default_factory=list)
    lines: int = 0
    bytes: int = 0
    tail: list[Evidence] = field(default_factory=list)
    """For ``unknown``: the most telling lines."""

    @property
    def failed(self) -> bool:
        """Whether a failure was found."""
        return self.bucket != "no_failure"
