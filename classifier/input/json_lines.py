"""JSON-wrapped log lines (docker, fluentd, Loki, CloudWatch, journald, vLLM's own formatter) back to plain lines."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

_KEYS = (
    "log",
    "message",
    "msg",
    "MESSAGE",
    "line",
    "textPayload",
    "body",
    "@message",
    "event",
    "text",
    "LogMessage",
    "LogEntry",
)
_INNER = ("jsonPayload", "attributes", "_source", "fields", "content", "record")
_LISTS = ("events", "entries", "records", "logs", "hits", "result", "data", "resourceLogs", "scopeLogs", "logRecords")
_EXTRA = ("exc_info", "exc_text", "stack_trace", "exception", "traceback", "stacktrace", "error.stack_trace")
# Only log records carry these; without one of them a JSON object amid other lines may be anything (a request, an answer
# to a client).
_STAMPS = (
    "time", "timestamp", "ts", "@timestamp", "asctime", "level", "levelname", "severity", "stream",
    "__REALTIME_TIMESTAMP", "insertId", "logStreamName", "labels", "kubernetes", "TimeGenerated", "observedTimeUnixNano",
)  # fmt: skip
_LOGGERS = ("logger", "name", "funcName", "module", "lineno", "logger_name", "filename", "levelname")
_LEVELS = {
    "CRITICAL": "CRITICAL", "FATAL": "CRITICAL", "ERROR": "ERROR", "ERR": "ERROR", "WARNING": "WARNING",
    "WARN": "WARNING", "INFO": "INFO", "NOTICE": "INFO", "DEBUG": "DEBUG", "TRACE": "DEBUG",
}  # fmt: skip
# Docker's own records, whose message escapes nothing but quotation marks; most of them.
_DOCKER = LazyPattern(
    rb'\{"log":"((?:[ !#-\[\]-~]++|\\")*+)(?:\\[rn])*","stream":"std(?:out|err)","time":"[ !#-\[\]-~]*"\}'
)
_DOCKER_START = b'{"log":"'
_ERROR = LazyPattern(rb"(?:Error|Exception|error|failed|text): *$")
"""What stands before an object that an error's words quote: all of it is the error, not its ``message`` alone."""
_ASCTIME = LazyPattern(r"(\d\d-\d\d)[ T](\d\d:\d\d:\d\d)")
_LIMIT = 20_000
"""Messages taken from one JSON value."""
DEPTH = 6
"""How deep lists of records are searched for."""

Record: TypeAlias = dict[str, object]
"""A log record of whatever collector."""


def looks_like_json(data: bytes) -> bool:
    """Return whether most of the first lines are JSON objects with a message in them."""
    lines = [line for line in data.split(b"\n")[:20] if line.strip()]
    if not lines:
        return False
    good = sum(1 for line in lines if _message(line, strict=False) is not None)
    return good >= max(1, len(lines) * 3 // 5)


def unwrap_json(data: bytes, strict: bool = False) -> bytes:
    """Replace each JSON line by its message; newlines inside a message become carriage returns.

    Args:
        data: Lines.
        strict: Take only what is a log record beyond doubt: the log as a whole is not JSON.
    """
    parts: list[bytes] = []
    done = position = 0
    sign = b'{"' if strict else b"{"
    while (brace := data.find(sign, position)) >= 0:
        start = data.rfind(b"\n", done, brace) + 1 or done
        end = data.find(b"\n", brace)
        end = len(data) if end < 0 else end
        position = end
        # Prefixed records: a time stamp or a pod's name may stand before the object.
        if brace - start > 120:
            continue
        if brace == start and (words := _docker_message(data, start, end)) is not None:
            parts += (data[done:start], words)
            done = end
            continue
        message = _message(data[start:end], strict)
        if message is not None:
            parts += (data[done:start], _one_line(message))
            done = end
    if not parts:
        return data
    parts.append(data[done:])
    return b"".join(parts)


def _docker_message(data: bytes, start: int, end: int) -> bytes | None:
    """Return the message of a record that Docker wrote; None where it has to be read as JSON."""
    if not data.startswith(_DOCKER_START, start):
        return None
    found = _DOCKER.fullmatch(data, start, end)
    if found is None or found[1][:1] == b"{":
        return None
    return found[1].replace(b'\\"', b'"')


def _one_line(message: str) -> bytes:
    return message.rstrip("\r\n").replace("\r\n", "\r").replace("\n", "\r").encode("utf-8", "surrogatepass")


def _message(line: bytes, strict: bool) -> str | None:
    """Return the message of a line that is a record (or a list of records), else None."""
    line = line.strip(b" \t\r,")
    if not line.endswith((b"}", b"]")):
        return None
    start = line.find(b"{")
    if start < 0 or b'"' not in line[start : start + 3] or _ERROR.search(line[:start]):
        return None
    if line.startswith(b"[") and line.endswith(b"]"):
        start = 0
    elif not line.endswith(b"}"):
        return None
    try:
        record: object = json.loads(line[start:])
    except (ValueError, RecursionError):
        return None
    if _is_refusal(record) or (strict and not (isinstance(record, dict) and any(key in record for key in _STAMPS))):
        return None
    messages = [text for _, text in zip(range(_LIMIT), _texts(record, DEPTH), strict=False)]
    return "\n".join(messages) if messages else None


def _is_refusal(record: object) -> bool:
    """Return whether a value is what a server answers to a request that failed: all of it tells, not its message alone."""
    if not isinstance(record, dict):
        return False
    return record.get("object") == "error" or (
        "message" in record and "type" in record and "code" in record and not any(key in record for key in _STAMPS)
    )


def _texts(value: object, depth: int) -> Iterator[str]:
    """Yield the messages of a record, or of all records in a service's answer."""
    if isinstance(value, list):
        for item in value if depth else ():
            yield from _texts(item, depth - 1)
        return
    if not isinstance(value, dict):
        return
    values = value.get("values")
    if isinstance(values, list) and isinstance(value.get("stream", value.get("metric")), dict):
        # Loki answers newest first.
        pairs = [item for item in values if isinstance(item, list) and len(item) > 1]
        pairs.sort(key=lambda item: str(item[0]).rjust(24))
        for item in pairs:
            yield str(item[1])
        return
    text = _text_of(value)
    if text is not None:
        yield text
        return
    for key in (*_LISTS, *_INNER):
        inner = value.get(key)
        if depth and isinstance(inner, (list, dict)):
            yield from _texts(inner, depth - 1)


def _text_of(record: Record) -> str | None:
    text = next((found for key in _KEYS if (found := _plain(record.get(key))) is not None), None)
    if text is None:
        return None
    if text[:1] == "{" and text.rstrip().endswith("}"):
        # A collector's record around the program's own.
        inner = _message(text.strip().encode("utf-8", "surrogatepass"), strict=True)
        if inner is not None:
            return inner
    extra = next((more for key in _EXTRA if isinstance(more := record.get(key), str) and more), None)
    if extra is not None and extra not in text:
        text = f"{text}\n{extra}"
    prefix, every = _prefix(record)
    if not prefix:
        return text
    lines = text.rstrip("\r\n").replace("\r\n", "\n").split("\n")
    return "\n".join(prefix + line if every or not index else line for index, line in enumerate(lines))


def _plain(value: object) -> str | None:
    """Return a message as text: OpenTelemetry wraps it, journald gives bytes where they are not plain."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("stringValue"), str):
        return str(value["stringValue"])
    if isinstance(value, list) and value and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode("utf-8", "replace")
    return None


def _prefix(record: Record) -> tuple[str, bool]:
    """Return what a Python logger's record says beside its message, and whether every line of it begins so.

    Process, level and time are written in the shape of vLLM's own prefix, the level alone as uvicorn does.
    """
    if not any(key in record for key in _LOGGERS):
        # Collectors guess levels, or call all of stderr an error.
        return "", False
    level = _LEVELS.get(str(record.get("levelname") or record.get("level") or record.get("severity") or "").upper(), "")
    if not level:
        return "", False
    found = _ASCTIME.search(str(record.get("asctime", "")))
    if found is None:
        return f"{level}: ", False
    process = record.get("processName")
    where = f"({process} pid={record.get('process', 0)}) " if process and isinstance(process, str) else ""
    name = str(record.get("filename") or str(record.get("name", "")).rpartition(".")[2] + ".py")
    return f"{where}{level} {found.group(1)} {found.group(2)} [{name}:{record.get('lineno', 0)}] ", True
