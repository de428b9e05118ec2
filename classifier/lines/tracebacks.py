"""Reads tracebacks out of interleaved processes: one small state machine for each stream of lines."""

from __future__ import annotations

from .stacks import Read, Stacks, parts_of
from .traceback_limits import BARE_WITHIN, GIVE_UP, MESSAGE_LINES, OVER, STREAMS
from .traceback_patterns import CALLS, FRAME, LINKED, NOTEBOOK, THROWN, link_of, looks_like_exception
from .traceback_state import Step, Stream, origin
from .types import KEY_MESSAGE, Line, Trace

_MARKS = ("--- Logging error ---", "Fatal Python error: ", "terminate called after throwing")
_MARK_STARTS = frozenset("-Ft")
_RAISED = ("", "ERROR", "CRITICAL")
"""Levels of lines that can be an exception's own."""

_OUTSIDE: Read = ("", None)


class TraceReader(Stacks):
    """Feed it lines in order; it collects the exceptions that they print."""

    def __init__(self) -> None:
        super().__init__()
        self.streams: dict[tuple[str, str], Stream] = {}
        self.latest = Stream()
        """That of the line fed last."""

    @property
    def traces(self) -> list[Trace]:
        """The exceptions found, in the order in which they were first printed."""
        return self._kept.traces

    def close_all(self) -> None:
        """Close what is open, at the end of the input."""
        for stream in self.streams.values():
            if stream.state == "stack":
                self._finish(stream, None)
            self._leave(stream)

    def sweep(self, number: int) -> None:
        """Close streams that have been silent for long before line ``number``."""
        for stream in self.streams.values():
            if stream.state and number - stream.seen > (GIVE_UP if stream.state == "stack" else OVER):
                if stream.state == "stack":
                    self._finish(stream, None)
                self._leave(stream)

    def feed(self, line: Line) -> Read:  # noqa: PLR0911 - one cheap question after the other
        """Take the next line; tell what it is within a traceback.

        Returns:
            ``("head" | "frame" | "code" | "final" | "more" | "", trace)``.
        """
        stream = self.latest = self._stream_of(line)
        text = line.text
        if stream.skipped and not self._ends_like_known(stream, text):
            self._read_skipped(stream)
        if text[:1] in _MARK_STARTS and text.startswith(_MARKS):
            return self._mark(stream, line)
        at = text.find(CALLS)
        if at >= 0 and (part := self._calls(stream, line, at)):
            return part
        if LINKED in text and (how := link_of(text)):
            return self._chain(stream, how)
        if 'File "' in text and (found := FRAME.match(text)):
            return self._frame(stream, line, found)
        if stream.state == "stack":
            return self._special(stream, line) if stream.mode else self._inside(stream, line)
        if stream.state == "message":
            return self._message(stream, line)
        if ".py" in text and (found := NOTEBOOK.match(text)):
            return self._frame(stream, line, found)
        if line.level not in _RAISED:
            return _OUTSIDE
        if self.open and not line.logged and (logged := self._broken_off(line)) is not None:
            return self._finish(logged, line, text)
        return self._alone(stream, line)

    def _broken_off(self, line: Line) -> Stream | None:
        """Return the logged stack that a bare exception ends: its last lines have lost what the logger put before them."""
        if not looks_like_exception(line.text):
            return None
        for (process, logger), stream in self.streams.items():
            near = stream.state == "stack" and 0 < line.number - stream.seen <= BARE_WITHIN
            if near and process == line.process and logger and not stream.mode and stream.trace.frames:
                return stream
        return None

    @property
    def repeats(self) -> bool:
        """Return whether an exception was printed twice."""
        return self._kept.repeats

    def again(self, stream: Stream, trace: Trace, process: str, number: int) -> bool:
        """Count an exception that stands alone on line ``number`` of a stream, if that is all the line does."""
        over = stream.state == "message" and (stream.more <= 1 or number - stream.closed > OVER)
        if over or stream.link or stream.outer is not None:
            return False
        self._kept.again(trace, process, number)
        self._expect_message(stream, trace, number)
        return True

    def stands_alone(self, line: Line) -> Trace | None:
        """Return the exception that the line just fed is, if ``again`` can count it from here on."""
        trace, text = self.latest.trace, line.text
        plain = (
            self.latest.state == "message" and not trace.frames and text[:1].isalpha() and looks_like_exception(text)
        )
        if (
            not plain
            or trace.kind.endswith("Group")
            or "ray::" in trace.message
            or self._kept.known(trace.key()) is None
        ):
            return None
        return trace

    @staticmethod
    def key_of(line: Line) -> tuple[str, str]:
        """Return what names the stream of a line: its process, and its logger, which names each line."""
        kind = f"{line.level}{line.source}" if line.logged else ""
        raw = line.raw
        if len(raw) != len(line.text) and raw[0] not in "(IEW" and (container := origin(raw)):
            kind += container
        return line.process, kind

    def _stream_of(self, line: Line) -> Stream:
        key = self.key_of(line)
        stream = self.streams.get(key)
        if stream is None:
            if len(self.streams) >= STREAMS:
                self.close_all()
                self.streams.clear()
            stream = self.streams[key] = Stream()
        return stream

    def known_end(self, step: Step, text: str) -> tuple[object, ...]:
        """Return the key of the known exception that a line is which follows a step of a stack; () where it is none."""
        if not text[:1].isalpha() or CALLS in text or LINKED in text or 'File "' in text:
            return ()
        text = text.strip()
        if not looks_like_exception(text):
            return ()
        kind, message = parts_of(text)
        key = (kind, message[:KEY_MESSAGE], step.tail())
        return () if self._kept.known(key) is None else key

    def ended_so(self, stream: Stream, key: tuple[object, ...]) -> Trace | None:
        """Return the known exception that ends the stack of a stream, if ``end_again`` can count it; see ``known_end``."""
        trace = self._kept.known(key)
        if trace is None or stream.state != "stack" or stream.mode or stream.outer is not None:
            return None
        return None if trace.kind.endswith("Group") or "ray::" in trace.message else trace

    def end_again(self, stream: Stream, trace: Trace, number: int) -> bool:
        """Count an exception whose stack ends on line ``number``, without reading either."""
        self._kept.repeats = True
        self._kept.again(trace, stream.trace.process, number)
        stream.skipped, stream.step = [], None
        self._expect_message(stream, trace, number)
        return True

    def begin_again(self, stream: Stream, process: str, level: str, number: int) -> None:
        """Begin a stack on line ``number`` of a stream outside of one, without reading the line."""
        self._head(stream, Line(number, "", process, level), "")

    def _ends_like_known(self, stream: Stream, text: str) -> bool:
        """Take the known stack of lines that were skipped for theirs, if an exception ends it that is known as well."""
        step = stream.step
        if step is None or not self.known_end(step, text):
            return False
        stream.trace.frames = step.frames[: step.count]
        stream.skipped = []
        return True

    def _mark(self, stream: Stream, line: Line) -> Read:
        """Take a line that announces something other than a plain traceback."""
        text = line.text
        if text.startswith("---"):
            stream.logging_error = True
            return "", None
        if stream.state == "stack":
            self._finish(stream, None)
        self._leave(stream)
        trace = self._start(stream, line)
        trace.text, trace.raw, trace.last = text, line.raw, line.number
        found = THROWN.match(text)
        if found:
            stream.mode = "thrown"
            trace.kind = found.group("name").rpartition(":")[2]
        else:
            stream.mode = "fatal"
            trace.kind, _, trace.message = text.partition(": ")
        return "head", trace

    def _calls(self, stream: Stream, line: Line, at: int) -> Read | None:
        """Take a line that says in which order calls follow; None for one that belongs to a message."""
        text = line.text
        if text.startswith("last", at + len(CALLS)):
            before = text[:at].rstrip()
            if before.endswith("Traceback"):
                return self._head(stream, line, before[:-9])
            if not before.endswith("Stack"):
                return None
        elif "hread" not in text[:at] and not text.startswith("Stack"):
            return None
        if stream.mode in ("fatal", "crash", "thread") and stream.state == "stack" and stream.trace.kind:
            stream.mode = "crash" if text.startswith("Current thread") and not stream.trace.frames else "fatal"
            return "head", stream.trace
        # A stack that nothing was raised from: another thread's, or one that a program printed for information.
        if stream.state == "stack":
            self._finish(stream, None)
        trace = self._start(stream, line)
        stream.mode = "thread"
        return "head", trace

    def _special(self, stream: Stream, line: Line) -> Read:
        """Take a line within the dump of a crash, or after C++ threw."""
        trace, text = stream.trace, line.text
        stream.seen = line.number
        stream.foreign += 1
        if stream.mode == "thrown":
            bare = text.strip()
            if bare.startswith("what():"):
                trace.message = bare[7:].strip()
                trace.text, trace.raw, trace.number, trace.last = (
                    f"{trace.kind}: {trace.message}",
                    line.raw,
                    line.number,
                    line.number,
                )
                kept = self._kept.add(trace)
                self._await_message(stream, line, kept, trace)
                return "final", kept
            if stream.foreign > 2:
                self._finish(stream, None)
            return "", None
        if not text.strip():
            if stream.mode == "crash" and trace.frames:
                self._finish(stream, None)
            return "code", trace
        if stream.mode == "fatal" and stream.foreign <= MESSAGE_LINES:
            return "code", trace
        self._finish(stream, None)
        return "", None
