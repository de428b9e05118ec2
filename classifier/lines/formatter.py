"""Peels off what a logging configuration of somebody's own prints before a message, field by field.

vLLM takes any format from VLLM_LOGGING_CONFIG_PATH: ``[2025-01-01 10:00:00,123] [ERROR] [MainThread] [vllm.engine] >>> ``. The
fields are those of Python's ``logging``; their order, brackets and what stands between them are free.
"""

from __future__ import annotations

from ...corpus.records import Mutable, record
from ..patterns.lazy import LazyPattern

LONGEST = 240
"""Characters that fields may take."""
LEVELS = {
    "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL", "D": "DEBUG", "C": "CRITICAL",
    "WARN": "WARNING", "FATAL": "CRITICAL", "ERR": "ERROR",
}  # fmt: skip
_TIME = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d)?"
    r"|\d\d[-/]\d\d[-/](?:\d\d){1,2} \d\d:\d\d:\d\d(?:[.,]\d{1,6})?"
)
_LEVEL = r"INFO|WARNING|WARN|ERROR|ERR|DEBUG|CRITICAL|FATAL"
_THREAD = r"MainThread|MainProcess|Thread-\d+(?: \([\w.]+\))?|ThreadPoolExecutor-\d+_\d+|Dummy-\d+|asyncio_\d+|(?:Spawn|Fork)?Process-\d+(?::\d+)*"
_PLACE = (
    r"[\w./-]{1,120}\.py(?:[: ](?:[\w<>]{1,60}:)?\d{1,6}|:[\w<>]{1,60}\(?\)?)?"
    r"|[a-z_]\w{0,40}(?:\.[a-z_]\w{0,60}){1,8}(?:[: ](?:[\w<>]{1,60}:)?\d{1,6})?"
    r"|(?:vllm|root|uvicorn|__main__|[a-z]\w{0,40}:\d{1,6}|[a-z]\w{0,40}:[\w<>]{1,60}:\d{1,6})"
)
_BRACKETED = LazyPattern(
    rf"(?:[\[<(] ?(?:(?P<time>{_TIME})|(?P<level>{_LEVEL}) {{0,4}}|(?P<thread>{_THREAD}|(?:pid[=: ])?\d{{1,8}})|(?P<place>{_PLACE})) ?[\])>])"
    r"(?: ?(?:-|[|]|:|>>>|=>|->|::|\u00bb)(?= |$))?(?: |$|(?=[\[<(]))"
)
_BARE = LazyPattern(
    rf"(?:(?P<time>{_TIME})(?: ?(?:[|:-](?= ))? +)"
    rf"|(?P<level>{_LEVEL})(?: *(?:[|:-]|>>>)? +|:(?=[a-z]))"
    rf"|(?P<thread>{_THREAD}) *[|:-]? +|(?P<pid>\d{{1,8}}) (?:[|-] |(?=\[))"
    rf"|(?P<place>{_PLACE})(?: *[|-] |[:\]] | (?<=\d )))"
)
_ARROW = LazyPattern(r"(?:>>>|=>|->|::|[|:-]) ")
_GLOG = LazyPattern(
    r"(?P<level>[IWEF])\d{4} (?P<time>\d\d:\d\d:\d\d\.\d{1,9}) +\d{1,8} (?P<place>[\w./-]{1,120}\.py:\d{1,6})\] ?"
)
_TORNADO = LazyPattern(rf"\[(?P<level>[IWEDC]) (?P<time>{_TIME}) (?P<place>[\w./-]{{1,80}}:\d{{1,6}})\] ?")
_FAULTS = ("error", "timeout", "exception", "herror")
"""Last names of exceptions of Python's own that look like a module: ``socket.gaierror: …``."""


@record()
class Header(Mutable):
    """What stood before a message."""

    end: int
    """Where the message begins."""
    level: str
    time: str
    place: str
    """``vllm.engine.core:12``, ``core.py:12``; "" where none was told."""


def read_header(text: str, level: str, time: str) -> Header | None:
    """Return the fields at the start of a line; None where they are too few to be sure.

    Args:
        text: A line without what is known of wrappers.
        level: What was peeled off already, as ``time``; "" for nothing.
        time: See there.
    """
    whole = _GLOG.match(text) or _TORNADO.match(text)
    if whole is not None:
        return Header(whole.end(), LEVELS[whole["level"]], whole["time"], whole["place"])
    at, place = 0, ""
    found = {"level": level, "time": time, "thread": ""}
    while at < LONGEST:
        field = _BRACKETED.match(text, at) or _BARE.match(text, at)
        kind = field.lastgroup if field is not None else None
        if field is None or kind is None:
            break
        if kind == "place":
            name = field["place"]
            if place or name.rpartition(".")[2].endswith(_FAULTS):
                break
            place = name
        elif kind != "pid":
            if found[kind] and not (kind == "time" and not at):
                break
            found[kind] = LEVELS.get(field[kind].strip(), field[kind].strip())
        at = field.end()
    if arrow := _ARROW.match(text, at) if at else None:
        at = arrow.end()
    told = bool(found["time"]) + bool(place) + bool(found["thread"])
    if not at or not found["level"] or not told:
        return None
    return Header(at, found["level"], found["time"], place)
