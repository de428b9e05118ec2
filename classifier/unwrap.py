"""JSON-wrapped log lines (docker json-file, fluentd, Loki, CloudWatch, vLLM's own JSON formatter) back to plain lines."""
from __future__ import annotations

import json
from typing import Any

_KEYS = ("log", "message", "msg", "MESSAGE", "line", "textPayload", "body", "@message", "event", "text")
_LEVELS = ("levelname", "level", "severity", "PRIORITY")
_PRIORITIES = {"0": "CRITICAL", "1": "CRITICAL", "2": "CRITICAL", "3": "ERROR", "4": "WARNING"}


def looks_like_json(data: bytes) -> bool:
    """Tell whether most of the first lines are JSON objects with a message in them."""
    lines = [line for line in data[:65536].split(b"\n")[:20] if line.strip()]
    if not lines:
        return False
    good = sum(1 for line in lines if _message(line) is not None)
    return good >= max(1, len(lines) * 3 // 5)


def unwrap_json(data: bytes) -> bytes:
    """Replace each JSON line by its message; newlines inside a message become carriage returns."""
    return b"\n".join(_plain(line) for line in data.split(b"\n"))


def _plain(line: bytes) -> bytes:
    message = _message(line)
    if message is None:
        return line
    return message.rstrip("\r\n").replace("\r\n", "\r").replace("\n", "\r").encode("utf-8", "surrogatepass")


def _message(line: bytes) -> str | None:
    line = line.strip()
    if not line.startswith(b"{") or not line.endswith(b"}"):
        start = line.find(b"{")
        # Prefixed records: a time stamp or a pod's name before the object.
        if not 0 < start < 120 or not line.endswith(b"}") or b'"' not in line[start : start + 3]:
            return None
        line = line[start:]
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _text_of(record) if isinstance(record, dict) else None


def _text_of(record: dict[str, Any]) -> str | None:
    values = record.get("values")
    if isinstance(values, list) and isinstance(record.get("stream"), dict):
        return "\n".join(str(item[1]) for item in values if isinstance(item, list) and len(item) > 1)
    text = next((record[key] for key in _KEYS if isinstance(record.get(key), str)), None)
    if text is None:
        payload = record.get("jsonPayload") or record.get("attributes")
        return _text_of(payload) if isinstance(payload, dict) else None
    level = next((str(record[key]) for key in _LEVELS if isinstance(record.get(key), (str, int))), "")
    level = _PRIORITIES.get(level, level).upper()
    if record.get("levelname") and "asctime" in record:
        name, process = str(record.get("name", "")), str(record.get("processName", ""))
        where = f"({process} pid={record.get('process', 0)}) " if process else ""
        text = f"{where}{level} {str(record['asctime'])[-14:]} [{name.rpartition('.')[2] or 'log'}.py:0] {text}"
    extra = record.get("exc_info") or record.get("exc_text") or record.get("stack_trace")
    return f"{text}\n{extra}" if isinstance(extra, str) else text
