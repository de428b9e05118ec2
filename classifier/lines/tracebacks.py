"""Reads tracebacks out of interleaved processes: one small state machine for each stream of lines."""

from __future__ import annotations

import re
from typing import TypeAlias

from .traceback_limits import FOREIGN, FRAMES, GIVE_UP, MESSAGE_LINES, NATIVE_FRAMES, OVER, STREAMS
from .traceback_patterns import (
    BOXED,
    BOXED_CODE,
    CALLS,
    FINAL,
    FRAME,
    LINKED,
    LOOSE,
    MARGIN,
    NATIVE,
    NOTEBOOK,
    NOTEBOOK_CODE,
    RAISE,
    THROWN,
    link_of,
    looks_like_exception,
    notebook_frame,
    short_path,
)
from .traceback_state import NOTHING, Kept, Stream, is_moved_exception, link, note_code, origin
from .types import Frame, Line, Trace

_MARKS = ("--- Logging error ---", "Fatal Python error: ", "terminate called after throwing")
_MARK_STARTS = frozenset("-Ft")
_POINTERS = ("^", "~", "---->")

_RAISED = ("", "ERROR", "CRITICAL")
"""Levels of lines that can be an exception's own."""

Read: TypeAlias = tuple[str, Trace | None]
"""What a line is within a traceback, and which exception that is."""
_OUTSIDE: Read = ("", None)


class TraceReader:
    """Feed it lines in order; it collects the exceptions that they print."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], Stream] = {}
        self._kept = Kept()
        self.open = 0
        """Streams within a traceback: while there are any, every line must be fed."""

    @property
    def traces(self) -> list[Trace]:
        """The exceptions found, in the order in which they were first printed."""
        return self._kept.traces

    def close_all(self) -> None:
        """Close what is open, at the end of the input."""
        for stream in self._streams.values():
            if stream.state == "stack":
                self._finish(stream, None)
            self._leave(stream)

    def sweep(self, number: int) -> None:
        """Close streams that have been silent for long before line ``number``."""
        for stream in self._streams.values():
            if stream.state and number - stream.seen > (GIVE_UP if stream.state == "stack" else OVER):
                if stream.state == "stack":
                    self._finish(stream, None)
                self._leave(stream)

    def feed(self, line: Line) -> Read:  # noqa: PLR0911 - one cheap question after the other
        """Take the next line; tell what it is within a traceback.

        Returns:
            ``("head" | "frame" | "code" | "final" | "more" | "", trace)``.
        """
        stream = self._stream_of(line)
        text = line.text
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
        return self._alone(stream, line) if line.level in _RAISED else _OUTSIDE

    def _stream_of(self, line: Line) -> Stream:
        """Return the stream that a line belongs to: that of its process, and of its logger, which names each line."""
        kind = f"{line.level}{line.source}" if line.logged else ""
        raw = line.raw
        if len(raw) != len(line.text) and raw[0] not in "(IEW" and (container := origin(raw)):
            kind += container
        key = (line.process, kind)
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= STREAMS:
                self.close_all()
                self._streams.clear()
            stream = self._streams[key] = Stream()
        return stream

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

    def _head(self, stream: Stream, line: Line, before: str) -> Read:
        if stream.state == "stack" and (stream.trace.frames or stream.mode):
            self._finish(stream, None)
        if stream.outer is not None and not stream.outer.kind.endswith("Group"):
            stream.outer = None
        trace = self._start(stream, line)
        before = before.strip(" |+")
        if before and not before.endswith("Group") and looks_like_exception(before.split(" ")[0]):
            trace.kind = before.split(" ")[0].rpartition(".")[2]
        return "head", trace

    def _chain(self, stream: Stream, link: str) -> Read:
        if stream.state == "stack":
            self._finish(stream, None)
        self._leave(stream)
        stream.link = link
        return "head", None

    def _start(self, stream: Stream, line: Line) -> Trace:
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
        stream.mode = ""
        stream.seen = line.number
        stream.foreign = 0
        return trace

    def _frame(self, stream: Stream, line: Line, found: re.Match[str]) -> Read:
        if stream.state == "message":
            self._leave(stream)
        if stream.mode == "thrown":
            self._finish(stream, None)
        if stream.state != "stack":
            self._start(stream, line)
        trace = stream.trace
        stream.seen = line.number
        stream.foreign = 0
        if len(trace.frames) < FRAMES and stream.mode in ("", "crash"):
            number = found.group("number")
            trace.frames.append(
                Frame(
                    short_path(found.group("path")),
                    (found.group("function") or "").strip(),
                    "",
                    int(number) if number else 0,
                    line.number,
                    line.raw,
                )
            )
        return "frame", trace

    def _inside(self, stream: Stream, line: Line) -> Read:  # noqa: PLR0911 - as above
        """Take a line below the head of a traceback."""
        trace, text = stream.trace, line.text
        stream.seen = line.number
        if not text.isascii() and ("│" in text[:12] or text.lstrip()[:1] in ("╭", "╰")):
            return self._boxed(stream, line)
        if line.level and not line.logged and line.level not in ("ERROR", "CRITICAL"):
            return self._foreign(stream)
        bare = MARGIN.sub("", text) if text[:40].lstrip()[:1] in ("|", "+") else text
        if not bare.strip("+- \t"):
            return "code", trace
        if found := notebook_frame(bare):
            return self._frame(stream, line, found)
        if bare[0] in " \t\xa0" or bare.startswith(_POINTERS) or NOTEBOOK_CODE.match(bare):
            bare = bare.strip()
            note_code(trace, bare, line)
            if not is_moved_exception(trace, bare):
                return "code", trace
        bare = bare.strip()
        if looks_like_exception(bare):
            return self._finish(stream, line, bare)
        return self._foreign(stream)

    def _foreign(self, stream: Stream) -> Read:
        """Count a line of somebody else's within a traceback."""
        trace = stream.trace
        stream.foreign += 1
        if stream.foreign > FOREIGN:
            self._finish(stream, None)
        return "", trace

    def _boxed(self, stream: Stream, line: Line) -> Read:
        """Take a line of a traceback that rich has drawn a box around."""
        found = BOXED.match(line.text)
        if found:
            return self._frame(stream, line, found)
        trace = stream.trace
        found = BOXED_CODE.match(line.text)
        if found and trace.frames:
            frame = trace.frames[-1]
            frame.code, frame.code_line, frame.code_raw = found.group("code").strip(), line.number, line.raw
        return "code", trace

    def _finish(self, stream: Stream, line: Line | None, text: str = "") -> Read:
        trace = stream.trace
        mode, stream.mode = stream.mode, ""
        if mode == "thread":
            self._leave(stream)
            return "", None
        if mode == "crash":
            trace.frames.reverse()
        if mode:
            stream.previous = self._kept.add(trace)
            self._leave(stream)
            return "", stream.previous
        stream.trace = NOTHING
        if line is not None:
            found = FINAL.match(text)
            assert found is not None  # noqa: S101 - the caller asked looks_like_exception
            trace.kind = found.group("name").rpartition(".")[2]
            if found.group("inner"):
                trace.kind = found.group("inner").strip("()").rpartition(".")[2]
            trace.message = found.group("message") or ""
            trace.text, trace.raw, trace.number, trace.last = text, line.raw, line.number, line.number
            trace.level = line.level
        else:
            trace.number = trace.last = stream.seen or trace.first
            trace.kind = _raised_by(trace)
        kept = self._kept.add(trace)
        if line is None:
            stream.previous = kept
            self._leave(stream)
            return "", kept
        self._await_message(stream, line, kept, trace)
        return "final", kept

    def _await_message(self, stream: Stream, line: Line, kept: Trace, trace: Trace) -> None:
        """Note an exception whose message may go on over the next lines, and what it is linked with."""
        if not stream.state:
            self.open += 1
        stream.state, stream.mode, stream.trace, stream.previous = "message", "", kept, kept
        stream.more, stream.closed, stream.seen = MESSAGE_LINES, line.number, line.number
        # A repetition adds nothing to the message of the first.
        stream.fresh = kept is trace
        if stream.outer is not None and stream.outer is not kept:
            link(stream.outer, kept)
            stream.outer = None
        # What follows is the cause: Ray prints the remote stack, an exception group its members.
        if kept.kind.endswith("Group") or "ray::" in kept.message:
            stream.outer = kept

    def _message(self, stream: Stream, line: Line) -> Read:
        trace = stream.trace
        text = line.text.strip()
        stream.seen = line.number
        stream.more -= 1
        if text.startswith("frame #") and (found := NATIVE.match(text)):
            if stream.fresh and len(trace.frames) < NATIVE_FRAMES and all(not frame.number for frame in trace.frames):
                trace.frames.insert(
                    0,
                    Frame(
                        found.group("path").rpartition("/")[2], found.group("function"), "", 0, line.number, line.raw
                    ),
                )
            return "more", trace
        if text[:1] in ("|", "+"):
            # The rules between an exception group's members are numbered.
            text = MARGIN.sub("", text).strip("+-0123456789. ")
        if not text or stream.more <= 0 or line.number - stream.closed > OVER:
            self._leave(stream)
            return "", None
        if line.level and not line.logged:
            self._leave(stream)
            return "", None
        if looks_like_exception(text) and line.text[:1] not in " \t":
            # Another exception line: printed bare by somebody else.
            self._leave(stream)
            return self._alone(stream, line)
        if stream.fresh and len(trace.message) < 4000:
            trace.message += "\n" + line.text[:500]
        trace.last = max(trace.last, line.number)
        return "more", trace

    def _alone(self, stream: Stream, line: Line) -> Read:
        """Keep an exception that stands on a line without its stack."""
        text = line.text.strip()
        found = FINAL.match(text) if looks_like_exception(text) else None
        loose = None if found else LOOSE.search(text[:2000])
        match = found or loose
        if match is None or not match.group("message"):
            return "", None
        name = match.group("name").rpartition(".")[2]
        trace = Trace(
            line.number, line.number, line.process, name, match.group("message"),
            level=line.level, text=text, raw=line.raw, last=line.number,
        )  # fmt: skip
        if stream.link and stream.previous is not None:
            trace.raised_from, trace.direct, stream.link = stream.previous, stream.link == "direct", ""
        kept = self._kept.add(trace)
        stream.previous = kept
        if found:
            self._await_message(stream, line, kept, trace)
        return "final", kept

    def _leave(self, stream: Stream) -> None:
        if stream.state:
            self.open -= 1
        stream.state = stream.mode = ""
        stream.trace = NOTHING


def _raised_by(trace: Trace) -> str:
    """Return what the last code of a stack raises where the log is cut before the exception's own line; "" for anything else."""
    code = trace.frames[-1].code.strip() if trace.frames else ""
    if code.startswith("assert "):
        return "AssertionError"
    found = RAISE.match(code)
    return found["name"].rpartition(".")[2] if found is not None else ""
