"""What the text model reads out of a log: units (an exception, a logged error), and the terms of each."""

from __future__ import annotations

from collections.abc import Iterable

from ..incidents.types import Incident
from ..lines.types import Frame, Line, Trace
from ..patterns.lazy import LazyPattern

TEXT = 700
"""Characters of a message that are looked at."""
INNER = 8
"""Innermost frames of vLLM's that are looked at."""
TRACES, LINES = 8, 8
"""Units of each kind that are looked at."""
LAST = 2
"""Last lines, of whatever level, that are looked at where nothing else tells."""
SNIPPET = 3
"""Lines of a log that is no more than a quotation."""
STOPS = frozenset({"KeyboardInterrupt", "SystemExit", "CancelledError"})
"""Exceptions by which a program is told to end; what it prints from then on is how it ends."""
GRAM, GRAM_WORDS = 4, 48
"""Length of the pieces of words, and the words of a message that are cut into pieces."""

_VALUES = LazyPattern(
    r"(?P<url>\w+://[^\s'\",)]+)|(?P<path>(?:[~.]|[A-Za-z]:)?(?:[/\\][\w.@+\-]+){2,}[/\\]?)|(?P<hex>\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{12,}\b)"
    r"|(?P<id>\b[A-Za-z0-9][\w.\-]*/[A-Za-z0-9][\w.\-]*\b)|(?P<figure>(?<![A-Za-z_0-9])[-+]?\d[\d.,:]*)"
)
_WORDS = LazyPattern(r"<[a-z]+>|--?[a-z][\w\-]+|[A-Za-z_][\w.]*\w|[A-Za-z]")
_PARTS = LazyPattern(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}|[a-z]+\d+")
_OURS = LazyPattern(r"(?:^|.*/)(?:vllm|vllm_[a-z]+)/(?=[\w/]+\.py)")
_TELLING = LazyPattern(
    r"(?i)error|exception|fail|fatal|killed|died|abort|fault|cannot|could not|unable|denied|refused|timed? ?out|invalid|missing|not found"
    r"|not support|unsupported|unknown|undefined|mismatch|incompatible|exceed|insufficient|out of memory|no such|too \w+|must|nan\b"
)


class Unit:
    """One exception or logged error: its terms, each with the line that it stands on."""

    __slots__ = ("line", "terms")

    def __init__(self, line: int) -> None:
        self.line = line
        self.terms: dict[str, int] = {}

    def add(self, term: str, line: int = 0) -> None:
        """Note a term; its first line counts."""
        self.terms.setdefault(term, line or self.line)


def judged(incident: Incident, errors: list[Line], tail: Iterable[Line] = ()) -> tuple[list[Trace], list[Line]]:
    """Return the exceptions and lines that a log is judged by.

    What a server overcame on its way up, and what it prints once it is being stopped, proves nothing. A log without
    exceptions and logged errors is judged by its last lines, unless the server came up or was stopped.

    Args:
        incident: For its exceptions, and how far it got.
        errors: Its logged errors.
        tail: The last lines of the log.
    """
    ready = min((span.line for span in incident.stages if span.stage == "api_ready"), default=0)
    stops = [trace.first for trace in incident.traces if trace.kind in STOPS]
    stops += [span.line for span in incident.stages if span.stage == "shutdown"]
    stop = min(stops, default=0)
    traces = [
        trace
        for trace in incident.traces
        if max(trace.last, trace.number) > ready and not (stop and trace.first >= stop)
    ]
    lines = [line for line in errors if line.number > ready and not (stop and line.number >= stop)]
    if not (traces or lines or ready or stop or incident.traces):
        tail = list(tail)
        lines = notable(tail) or tail[: -LAST - 1 : -1]
    return traces, lines


def notable(tail: Iterable[Line], most: int = LINES) -> list[Line]:
    """Return the last lines that may tell of a failure, last first: for logs without exception and logged error."""
    lines = [line for line in tail if line.level not in ("INFO", "DEBUG") and len(line.text.strip()) > 8]
    telling = [line for line in lines if _TELLING.search(line.text[:TEXT])]
    # A few lines that somebody cut out are meant to tell, whatever their words.
    return (telling or (lines if len(lines) <= SNIPPET else []))[: -most - 1 : -1]


def units(traces: list[Trace], errors: list[Line], stage: str = "") -> list[Unit]:
    """Return what a log is judged by, the likeliest root first: exceptions, then errors that stand beside them."""
    ordered = sorted(
        (trace for trace in traces if not trace.logging_error and (trace.kind or trace.frames)),
        key=lambda trace: (trace.raised_from is not None, trace.number),
    )
    parts = [_of_trace(trace, stage) for trace in ordered[:TRACES]]
    told = {number for trace in traces for number in range(trace.first, max(trace.last, trace.number) + 1)}
    beside = [line for line in errors if line.number not in told and not line.text.startswith("Traceback (most")]
    parts += [_of_line(line, stage) for line in beside[:LINES]]
    return [part for part in parts if part.terms]


def _of_trace(trace: Trace, stage: str) -> Unit:
    unit = Unit(trace.number)
    if trace.kind:
        unit.add(f"k:{trace.kind}")
        _add_grams(unit, trace.kind)
    _add_words(unit, trace.message)
    ours = [(frame, found) for frame in trace.frames if (found := _OURS.match(frame.path))]
    for depth, (frame, found) in enumerate(reversed(ours[-INNER:])):
        _add_frame(unit, frame, frame.path[found.end() :], innermost=depth == 0)
    if trace.frames:
        last = trace.frames[-1]
        if not ours or last is not ours[-1][0]:
            # Raised in another package: which one, and where.
            parts = [part for part in last.path.split("/") if part][-3:]
            unit.add(f"o:{last.path.lstrip('/').partition('/')[0]}", last.line)
            for part in (*parts[-2:], last.function):
                unit.add(f"of:{part}", last.line)
        if not ours:
            unit.add("f:none")
        for word in _WORDS.findall(last.code[:200]):
            unit.add(f"c:{word}", last.code_line or last.line)
    if stage:
        unit.add(f"s:{stage}")
    return unit


def _add_frame(unit: Unit, frame: Frame, path: str, innermost: bool) -> None:
    function = frame.function.rpartition(".")[2]
    steps = path.removesuffix(".py").split("/")
    if innermost:
        for count in range(1, len(steps) + 1):
            unit.add("i:" + "/".join(steps[:count]), frame.line)
        for part in steps[-1].split("_"):
            unit.add(f"ip:{part}", frame.line)
        unit.add(f"if:{function}", frame.line)
        for part in function.split("_"):
            if part:
                unit.add(f"ifp:{part}", frame.line)
    unit.add(f"n:{function}", frame.line)
    unit.add(f"n:{steps[-1]}", frame.line)


def _of_line(line: Line, stage: str) -> Unit:
    unit = Unit(line.number)
    unit.add(f"l:{line.level or 'bare'}")
    if line.source:
        name = line.source.partition(":")[0].removesuffix(".py")
        unit.add(f"src:{name}")
        for part in name.replace("/", "_").split("_"):
            unit.add(f"ip:{part}")
    _add_words(unit, line.text)
    if stage:
        unit.add(f"s:{stage}")
    return unit


def _add_words(unit: Unit, text: str) -> None:
    plain = _VALUES.sub(lambda found: f" <{found.lastgroup}> ", text[:TEXT])
    before = ""
    for index, word in enumerate(_WORDS.findall(plain)):
        lowered = word.lower().strip("_.-")
        unit.add(f"w:{lowered}")
        if before:
            unit.add(f"b:{before} {lowered}")
        before = lowered
        if index < GRAM_WORDS and word[0] != "<":
            _add_grams(unit, lowered)
        if "_" in word or "-" in word or "." in word or not (word.islower() or word.isupper() or word.istitle()):
            for part in _PARTS.findall(word):
                unit.add(f"w:{part.lower()}")


def _add_grams(unit: Unit, word: str) -> None:
    """Add the pieces of a word, its ends marked: what is left of it in other forms and in names made of it."""
    if len(word) < GRAM:
        return
    padded = f"^{word.lower()[:24]}$"
    terms, line = unit.terms, unit.line
    for at in range(len(padded) - GRAM + 1):
        terms.setdefault("g:" + padded[at : at + GRAM], line)
