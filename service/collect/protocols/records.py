"""Records as JSON: Fluent Bit and Vector (``http``), Docker's JSON files, whatever can post an array or lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime

from ..entries import NAMES, Entry, StreamName, name_of
from ..registry import FormError

PATH = "/v1/collect"
ABOUT = "Fluent Bit (`http`), Vector (`http`), Docker's JSON files"
TYPES = ("application/json", "application/x-ndjson", "application/jsonlines", "text/plain", "application/octet-stream")
STATUS = 200
TEXTS = ("log", "message", "MESSAGE", "msg", "body", "line")
"""Fields of which the first one that is a text is the line."""
TIMES = ("time", "timestamp", "@timestamp", "date", "ts")


def read(body: bytes, media_type: str, query: Mapping[str, str], most: int) -> list[Entry]:
    """Return the records of an array, or of lines of JSON. What a record does not tell of its stream, the query may."""
    del media_type, most
    told = {name: query[name] for name in NAMES if query.get(name)}
    default = name_of(told)
    return [entry for record in _records(body) if (entry := _entry(record, default)) is not None]


def reply(media_type: str) -> bytes:
    """Return that all was taken."""
    del media_type
    return b"{}"


def _records(body: bytes) -> Iterator[Mapping[str, object]]:
    try:
        text = body.decode("utf-8", "replace").lstrip()
        decoder = json.JSONDecoder()
        place = 0
        while place < len(text):
            value, place = decoder.raw_decode(text, place)
            for record in value if isinstance(value, list) else [value]:
                if not isinstance(record, dict):
                    raise FormError("a record is an object")
                yield record
            while place < len(text) and text[place] in " \t\r\n,":
                place += 1
    except (ValueError, RecursionError):
        raise FormError("the body is neither an array of objects nor lines of JSON") from None


def _entry(record: Mapping[str, object], default: StreamName) -> Entry | None:
    line = next((value for name in TEXTS if isinstance(value := record.get(name), str)), None)
    if line is None:
        return None
    fields = dict(record)
    for inner in ("kubernetes", "docker", "labels", "container", "attributes"):
        nested = record.get(inner)
        if isinstance(nested, dict):
            fields = {**nested, **fields}
    own = {name: fields[name] for names in NAMES.values() for name in names if name in fields}
    found = name_of(own) if own else StreamName()
    named = StreamName(*(one or other for one, other in zip(found, default, strict=True)))
    return Entry(named, _time(record), line)


def _time(record: Mapping[str, object]) -> int:
    value = next((record[name] for name in TIMES if name in record), None)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e19:
        # Seconds, milliseconds, microseconds or nanoseconds, by their size: this century has ten digits of seconds.
        scale = next(power for power, limit in ((9, 1e11), (6, 1e14), (3, 1e17), (0, 1e20)) if value < limit)
        return int(value * 10**scale)
    if isinstance(value, str):
        try:
            return int(
                datetime.fromisoformat(value[:26].rstrip("Z") + "+00:00" if value.endswith("Z") else value).timestamp()
                * 1e9
            )
        except (ValueError, OverflowError):
            return 0
    return 0
