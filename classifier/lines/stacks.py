"""The state machine of one stream of lines: a stack, its exception, the message below it."""

from __future__ import annotations

import re

from .traceback_limits import FOREIGN, FRAMES, MESSAGE_LINES, NATIVE_FRAMES, OVER
from .traceback_patterns import (
    ANOTHER,
    BOXED,
    BOXED_CODE,
    FINAL,
    FURTHER,
    LOOSE,
    MARGIN,
    NATIVE,
    NOTEBOOK_CODE,
    RAISE,
    exception_of,
    looks_like_exception,
    name_and_code,
    notebook_frame,
    short_path,
)
from .traceback_state import NOTHING, Kept, Stream, is_moved_exception, link, note_code
from .types import Frame, Line, Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

_POINTERS = ("^", "~", "---->")

Read: TypeAlias = tuple[str, Trace | None]
"""What a line is within a traceback, and which exception that is."""


def _frame_of(found: re.Match[str], line: Line) -> Frame:
    number = found.group("number")
    function, code = (found.group("function") or "").partition(ANOTHER)[0].strip(), ""
    if " " in function or "\\" in function:
        function, code = name_and_code(function)
    return Frame(
        short_path(found.group("path")),
        function,
        code,
        int(number) if number else 0,
        line.number,
        line.raw,
    )


class Stacks:
    """Reads the parts of a traceback, of whichever stream."""

    def __init__(self) -> None:
        self._kept = Kept()
        self.open = 0
        """Streams within a traceback: while there are any, every line must be fed."""

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
            trace.frames.append(_frame_of(found, line))
            if ANOTHER in found.string[found.start("path") :]:
                more = FURTHER.finditer(found.string, found.end("path"))
                trace.frames += [_frame_of(each, line) for each in more][: FRAMES - len(trace.frames)]
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

    def _read_skipped(self, stream: Stream) -> None:
        """Read the lines of a stack that were skipped, now that they may be the begin of another one than was thought."""
        step, frames = stream.resume, stream.trace.frames
        for lines, numbers, prefixed in stream.skipped:
            for raw, number in zip(lines, numbers, strict=True):
                step = step.then[raw.partition(b"] ")[2] if prefixed else raw] if step is not None else None
                if step is not None:
                    step.add_to(frames, number, raw)
                    stream.foreign = 0 if step.frame is not None else stream.foreign
        stream.skipped = []

    def _finish(self, stream: Stream, line: Line | None, text: str = "") -> Read:
        if stream.skipped:
            self._read_skipped(stream)
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
            trace.kind, trace.message = parts_of(text)
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
        self._expect_message(stream, kept, line.number)
        # A repetition adds nothing to the message of the first.
        stream.fresh = kept is trace
        if stream.outer is not None and stream.outer is not kept:
            link(stream.outer, kept)
            stream.outer = None
        # What follows is the cause: Ray prints the remote stack, an exception group its members.
        if kept.kind.endswith("Group") or "ray::" in kept.message:
            stream.outer = kept

    def _expect_message(self, stream: Stream, trace: Trace, number: int) -> None:
        if not stream.state:
            self.open += 1
        stream.state, stream.mode, stream.trace, stream.previous = "message", "", trace, trace
        stream.more, stream.closed, stream.seen, stream.fresh = MESSAGE_LINES, number, number, False

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
        if (found := exception_of(text)) is not None and line.text[:1] not in " \t":
            # Another exception line: printed bare by somebody else.
            self._leave(stream)
            return self._alone(stream, line, found)
        if stream.fresh and len(trace.message) < 4000:
            trace.message += "\n" + line.text[:500]
        trace.last = max(trace.last, line.number)
        return "more", trace

    def _alone(self, stream: Stream, line: Line, found: re.Match[str] | None = None) -> Read:
        """Keep an exception that stands on a line without its stack."""
        text = line.text.strip()
        found = found or exception_of(text)
        loose = None if found else LOOSE.search(text[:2000])
        match = found or loose
        # A class of a package with nothing behind its colon: its message stands below.
        below = found is not None and "." in found.group("name") and text.endswith(":")
        if match is None or not (match.group("message") or below):
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


def parts_of(text: str) -> tuple[str, str]:
    """Return the class and the message of an exception's own line, which ``looks_like_exception``."""
    found = FINAL.match(text)
    assert found is not None  # noqa: S101 - the caller asked
    name = (found.group("inner") or "").strip("()") or found.group("name")
    return name.rpartition(".")[2], found.group("message") or ""


def _raised_by(trace: Trace) -> str:
    """Return what the last code of a stack raises where the log is cut before the exception's own line; "" for anything else."""
    code = trace.frames[-1].code.strip() if trace.frames else ""
    if code.startswith("assert "):
        return "AssertionError"
    found = RAISE.match(code)
    return found["name"].rpartition(".")[2] if found is not None else ""
