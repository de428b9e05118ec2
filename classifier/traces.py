"""Reads tracebacks out of interleaved processes: one small state machine for each stream of lines."""
from __future__ import annotations

import re

from .lazy import LazyPattern
from .model import Frame, Line, Trace

_HEAD = "Traceback (most recent call last)"
_FRAME = LazyPattern(r'^[\s|+]*File "(?P<path>[^"\n]{1,400})", line (?P<number>\d+)(?:,? in (?P<function>[^\n(]{1,200}))?')
_NOTEBOOK = LazyPattern(
    r"^\s*(?:File |\[)?(?P<path>(?:[~/.]|[A-Za-z]:\\)[^\s:\]()]{1,300}\.py|<ipython[^>]{1,80}>|Cell In\[\d+\])\]?(?:\([^)\s]{0,300}\))?(?::(?P<number>\d+))?,?(?: line \d+)?(?:,)? in (?P<function>[\w.<>]{1,120})\("
)
_NOTEBOOK_CODE = LazyPattern(r"^\s*(?:-+>\s*)?\d{1,6}(?:\s|$)")
_FINAL = LazyPattern(
    r"^(?:\[?(?:rank\d+|pid \d+)\]?:? )?(?P<name>(?:[A-Za-z_]\w*\.){0,8}[A-Za-z_]\w*)(?P<inner>\([\w.]{1,80}\))?(?::(?: |$)(?P<message>.*))?$",
    re.S,
)
_NAME = LazyPattern(r"(?:Error|Exception|Exit|Interrupt|Warning|Failure|Fault|Failed|Timeout|Killed|NotFound|Unavailable|Died|OutOfResources|Dead|Full|Empty|Abort|Unsupported|BackendError|Iteration|Invalid|Mismatch|Disconnected|Closed|Cancelled|Terminated|Stop)$")
_LOOSE = LazyPattern(r"(?:^|[\s'\"(:])(?P<name>(?:[a-z_]\w*\.){0,8}[A-Z]\w*(?:Error|Exception))(?:\([\w.]{1,80}\))?: (?P<message>\S.*)$", re.S)
_DIRECT = "The above exception was the direct cause of the following exception"
_DURING = "During handling of the above exception, another exception occurred"
_MARGIN = LazyPattern(r"^[ ]{0,8}[|+][ -]{0,3}")
_PACKAGES = LazyPattern(r"^.*(?:site-packages|dist-packages)/|^.*/python3(?:\.\d+)?/(?:lib-dynload/)?")

MESSAGE_LINES = 12
"""Lines of a message that runs over several lines."""
GIVE_UP = 400
"""Lines after which a traceback that nobody continues is closed."""
FOREIGN = 25
"""Lines of other text tolerated inside an open traceback of unprefixed lines."""


def short_path(path: str) -> str:
    """Return a frame's path from the package's folder on: ``vllm/v1/engine/core.py``."""
    path = path.replace("\\", "/")
    found = _PACKAGES.match(path)
    if found and found.end() < len(path):
        return path[found.end() :]
    at = path.rfind("/vllm/")
    return path[at + 1 :] if at >= 0 else path


def looks_like_exception(text: str) -> bool:
    """Tell whether a line without indentation can be an exception's own line."""
    found = _FINAL.match(text)
    if not found:
        return False
    name = found.group("name").rpartition(".")[2]
    if name[:1].islower() and not found.group("name").startswith(("torch.", "zmq.", "concurrent.", "asyncio.")):
        return False
    if _NAME.search(name):
        return True
    # An exception of a package, whatever its name: dotted, or alone on its line.
    return "." in found.group("name") and name[:1].isupper() and found.group("message") is not None


class _Stream:
    __slots__ = ("closed", "foreign", "link", "logging_error", "more", "previous", "seen", "state", "trace")

    def __init__(self) -> None:
        self.trace: Trace | None = None
        self.state = ""  # "" | "stack" | "message"
        self.link = ""
        self.previous: Trace | None = None
        self.closed = 0
        self.seen = 0
        self.more = 0
        self.foreign = 0
        self.logging_error = False


class TraceReader:
    """Feed it lines in order; it collects the exceptions that they print."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], _Stream] = {}
        self._known: dict[tuple[object, ...], Trace] = {}
        self.traces: list[Trace] = []
        self.open = 0
        """Streams within a traceback: while there are any, every line must be fed."""

    def reset(self) -> None:
        """Forget open tracebacks and what was seen: a new server start begins."""
        self.close_all()
        self._known.clear()
        self.traces = []

    def close_all(self) -> None:
        """Close what is open, at the end of the input."""
        for stream in self._streams.values():
            if stream.state == "stack":
                self._finish(stream, None)
            self._leave(stream)

    def sweep(self, number: int) -> None:
        """Close streams that have been silent for long before line ``number``."""
        for stream in self._streams.values():
            if stream.state and number - stream.seen > GIVE_UP:
                if stream.state == "stack":
                    self._finish(stream, None)
                self._leave(stream)

    def feed(self, line: Line) -> tuple[str, Trace | None]:
        """Take the next line; tell what it is within a traceback.

        Returns:
            ``("head" | "frame" | "code" | "final" | "more" | "", trace)``.
        """
        text = line.text
        key = (line.process, f"{line.level}{line.source}" if line.logged else "")
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = _Stream()
        if text.startswith("--- Logging error ---"):
            stream.logging_error = True
            return "", None
        at = text.find(_HEAD)
        if at >= 0:
            return self._head(stream, line, text[:at])
        if _DIRECT in text:
            return self._chain(stream, "direct")
        if _DURING in text:
            return self._chain(stream, "during")
        if 'File "' in text and (found := _FRAME.match(text)):
            return self._frame(stream, line, found)
        if stream.state == "stack":
            return self._inside(stream, line)
        if stream.state == "message":
            return self._message(stream, line)
        if ".py" in text and (found := _NOTEBOOK.match(text)):
            return self._frame(stream, line, found)
        if not stream.state and line.level in ("", "ERROR", "CRITICAL"):
            return self._alone(stream, line)
        return "", None

    def _head(self, stream: _Stream, line: Line, before: str) -> tuple[str, Trace | None]:
        if stream.state == "stack" and stream.trace and stream.trace.frames:
            self._finish(stream, None)
        trace = self._start(stream, line)
        before = before.strip(" |+")
        if before and looks_like_exception(before.split(" ")[0]):
            trace.kind = before.split(" ")[0].rpartition(".")[2]
        return "head", trace

    def _chain(self, stream: _Stream, link: str) -> tuple[str, Trace | None]:
        if stream.state == "stack":
            self._finish(stream, None)
        self._leave(stream)
        stream.link = link
        return "head", None

    def _start(self, stream: _Stream, line: Line) -> Trace:
        if not stream.state:
            self.open += 1
        trace = Trace(line.number, line.number, line.process, level=line.level)
        trace.logging_error = stream.logging_error
        if stream.link and stream.previous is not None:
            trace.raised_from = stream.previous
            trace.direct = stream.link == "direct"
        stream.link = ""
        stream.logging_error = False
        stream.trace = trace
        stream.state = "stack"
        stream.seen = line.number
        stream.foreign = 0
        return trace

    def _frame(self, stream: _Stream, line: Line, found: re.Match[str]) -> tuple[str, Trace | None]:
        if stream.state == "message":
            self._leave(stream)
        if stream.state != "stack":
            self._start(stream, line)
        trace = stream.trace
        assert trace is not None
        stream.seen = line.number
        stream.foreign = 0
        if len(trace.frames) < 200:
            number = found.group("number")
            trace.frames.append(Frame(short_path(found.group("path")), (found.group("function") or "").strip(), "", int(number) if number else 0, line.number, line.raw))
        return "frame", trace

    def _inside(self, stream: _Stream, line: Line) -> tuple[str, Trace | None]:
        trace = stream.trace
        assert trace is not None
        text = line.text
        stream.seen = line.number
        bare = _MARGIN.sub("", text) if text[:8].lstrip()[:1] in ("|", "+") else text
        if not bare.strip():
            return "code", trace
        if ".py" in bare and (found := _NOTEBOOK.match(bare)):
            return self._frame(stream, line, found)
        if bare[0] in " \t" or _NOTEBOOK_CODE.match(bare) or bare.startswith(("^", "---->")):
            code = bare.strip()
            if trace.frames and code.strip("^~ "):
                frame = trace.frames[-1]
                pointed = code.startswith("--")
                if not frame.code or pointed:
                    frame.code = re.sub(r"^-+>\s*\d*\s*", "", code)[:200]
                    frame.code_line, frame.code_raw = line.number, line.raw
            # An indented exception line: an issue's quoting may have moved the whole traceback to the right, never the code alone.
            if not (trace.frames and looks_like_exception(code) and trace.frames[-1].code and trace.frames[-1].code != code and _NAME.search(code.partition(":")[0]) and " " not in code.partition(":")[0]):
                return "code", trace
            bare = code
        if looks_like_exception(bare.strip()):
            return self._finish(stream, line, bare.strip())
        stream.foreign += 1
        if stream.foreign > FOREIGN:
            self._finish(stream, None)
            self._leave(stream)
        return "", trace

    def _finish(self, stream: _Stream, line: Line | None, text: str = "") -> tuple[str, Trace | None]:
        trace = stream.trace
        assert trace is not None
        stream.trace = None
        if line is not None:
            found = _FINAL.match(text)
            assert found is not None
            trace.kind = found.group("name").rpartition(".")[2]
            if found.group("inner"):
                trace.kind = found.group("inner").strip("()").rpartition(".")[2]
            trace.message = found.group("message") or ""
            trace.text, trace.raw, trace.number, trace.last = text, line.raw, line.number, line.number
            trace.level = line.level
        else:
            trace.number = trace.last = stream.seen or trace.first
        kept = self._keep(trace)
        stream.previous = kept
        if line is None:
            self._leave(stream)
            return "", kept
        stream.state = "message"
        stream.more = MESSAGE_LINES
        stream.closed = line.number
        stream.trace = kept
        return "final", kept

    def _keep(self, trace: Trace) -> Trace:
        """Collapse equal exceptions into the first one printed."""
        if not trace.frames and not trace.kind:
            return trace
        key = trace.key()
        known = self._known.get(key)
        if known is not None:
            known.count += 1
            if trace.process and trace.process not in known.processes and len(known.processes) < 64:
                known.processes.append(trace.process)
            return known
        if trace.raised_from is not None:
            trace.raised_from.cause_of = trace
        trace.processes = [trace.process]
        trace.order = len(self.traces)
        if len(self.traces) < 2000:
            self._known[key] = trace
            self.traces.append(trace)
        return trace

    def _message(self, stream: _Stream, line: Line) -> tuple[str, Trace | None]:
        trace = stream.trace
        text = line.text.strip()
        stream.seen = line.number
        stream.more -= 1
        if not text or stream.more <= 0 or trace is None or line.number - stream.closed > MESSAGE_LINES + 2:
            self._leave(stream)
            return "", None
        if line.level and not line.logged:
            self._leave(stream)
            return "", None
        if looks_like_exception(text) and line.text[:1] not in " \t":
            # Another exception line: printed bare by somebody else.
            self._leave(stream)
            return self._alone(stream, line)
        if len(trace.message) < 4000:
            trace.message += "\n" + line.text[:500]
        trace.last = max(trace.last, line.number)
        return "more", trace

    def _alone(self, stream: _Stream, line: Line) -> tuple[str, Trace | None]:
        """Keep an exception that stands on a line without its stack."""
        text = line.text.strip()
        found = _FINAL.match(text) if looks_like_exception(text) else None
        loose = None if found else _LOOSE.search(text[:2000])
        match = found or loose
        if match is None or not match.group("message"):
            return "", None
        name = match.group("name").rpartition(".")[2]
        trace = Trace(line.number, line.number, line.process, name, match.group("message"), level=line.level, text=text, raw=line.raw, last=line.number)
        if stream.link and stream.previous is not None:
            trace.raised_from, trace.direct, stream.link = stream.previous, stream.link == "direct", ""
        kept = self._keep(trace)
        stream.previous = kept
        if found:
            if not stream.state:
                self.open += 1
            stream.state, stream.more, stream.closed, stream.trace, stream.seen = "message", MESSAGE_LINES, line.number, kept, line.number
        return "final", kept

    def _leave(self, stream: _Stream) -> None:
        if stream.state:
            self.open -= 1
        stream.state = ""
        stream.trace = None
