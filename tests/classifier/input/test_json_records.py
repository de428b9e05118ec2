"""Records of collectors: each key that holds a message, each sign of a record, each level, each limit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.input.json_lines import looks_like_json, unwrap_json


def unwrapped(record: Any, strict: bool = False) -> str:
    """Return what a record on one line becomes."""
    return unwrap_json(json.dumps(record).encode(), strict).decode()


@pytest.mark.parametrize(
    "key", ["log", "message", "msg", "MESSAGE", "line", "textPayload", "body", "@message", "event", "text", "LogMessage", "LogEntry"]
)  # fmt: skip
def test_keys_of_messages(key: str) -> None:
    """Among other keys; OpenTelemetry wraps the text, journald may give bytes."""
    assert unwrapped({"other": 1, key: "one\n"}) == "one"
    assert unwrapped({key: {"stringValue": "one"}}) == "one"
    assert unwrapped({key: list(b"one")}) == "one"
    others: tuple[Any, ...] = (1, None, [], {}, [256], ["a"], [-1])
    for nothing in others:
        assert unwrapped({key: nothing}) == json.dumps({key: nothing})


@pytest.mark.parametrize("key", ["jsonPayload", "attributes", "_source", "fields", "content", "record"])
def test_keys_of_what_holds_the_message(key: str) -> None:
    """An object within the record."""
    assert unwrapped({"severity": "ERROR", key: {"message": "one"}}) == "one"


@pytest.mark.parametrize(
    "key", ["events", "entries", "records", "logs", "hits", "result", "data", "resourceLogs", "scopeLogs", "logRecords"]
)  # fmt: skip
def test_keys_of_lists(key: str) -> None:
    """Each record's message, in order."""
    assert unwrapped({key: [{"message": "one"}, {"message": "two"}]}) == "one\rtwo"


@pytest.mark.parametrize(
    "key", ["exc_info", "exc_text", "stack_trace", "exception", "traceback", "stacktrace", "error.stack_trace"]
)  # fmt: skip
def test_keys_of_stacks(key: str) -> None:
    """Behind the message, where it does not hold them."""
    assert unwrapped({"message": "one", key: "Traceback\nValueError: x"}) == "one\rTraceback\rValueError: x"
    assert unwrapped({"message": "one Traceback", key: "Traceback"}) == "one Traceback"
    assert unwrapped({"message": "one", key: ""}) == "one"
    assert unwrapped({"message": "one", key: 1}) == "one"


@pytest.mark.parametrize(
    "key",
    [
        "time", "timestamp", "ts", "@timestamp", "asctime", "level", "levelname", "severity", "stream", "__REALTIME_TIMESTAMP", "insertId",
        "logStreamName", "labels", "kubernetes", "TimeGenerated", "observedTimeUnixNano",
    ],
)  # fmt: skip
def test_signs_of_a_record_amid_other_lines(key: str) -> None:
    """Without one, an object may be an answer to a client."""
    assert unwrapped({"message": "one", key: "x"}, strict=True) == "one"
    assert unwrapped({"message": "one", f"{key}_": "x"}, strict=True) != "one"
    assert unwrapped([{"message": "one", key: "x"}], strict=True) != "one"


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("CRITICAL", "CRITICAL"), ("FATAL", "CRITICAL"), ("ERROR", "ERROR"), ("ERR", "ERROR"), ("WARNING", "WARNING"), ("WARN", "WARNING"),
        ("INFO", "INFO"), ("NOTICE", "INFO"), ("DEBUG", "DEBUG"), ("TRACE", "DEBUG"), ("error", "ERROR"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["levelname", "level", "severity"])
@pytest.mark.parametrize("logger", ["logger", "name", "funcName", "module", "lineno", "logger_name", "filename"])
def test_levels_of_python_loggers(level: str, shown: str, key: str, logger: str) -> None:
    """Of a record that a logger of Python's wrote, before the first of its lines."""
    assert unwrapped({"message": "one\ntwo", key: level, logger: "x"}) == f"{shown}: one\rtwo"


def test_levels_of_collectors_are_guesses() -> None:
    """They are left out, and so are words that are no levels."""
    assert unwrapped({"message": "one", "level": "ERROR"}) == "one"
    assert unwrapped({"message": "one", "name": "x", "level": "loud"}) == "one"
    assert unwrapped({"message": "one", "name": "x"}) == "one"
    assert unwrapped({"message": "one", "levelname": "ERROR"}) == "ERROR: one"


@pytest.mark.parametrize(
    ("keys", "prefix"),
    [
        ({"name": "vllm.v1.core", "processName": "EngineCore", "process": 7, "lineno": 3}, "(EngineCore pid=7) ERROR 11-02 10:00:00 [core.py:3] "),
        ({"filename": "core.py", "lineno": 3, "name": "x"}, "ERROR 11-02 10:00:00 [core.py:3] "),
        ({"processName": "EngineCore"}, "(EngineCore pid=0) ERROR 11-02 10:00:00 [.py:0] "),
        ({"processName": 7, "filename": "a.py"}, "ERROR 11-02 10:00:00 [a.py:0] "),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stamp", ["11-02 10:00:00", "2025-11-02T10:00:00,123"])
def test_records_of_vllms_formatter(keys: dict[str, Any], prefix: str, stamp: str) -> None:
    """Every line gets the prefix."""
    record = {"message": "one\r\ntwo", "levelname": "ERROR", "asctime": stamp} | keys
    assert unwrapped(record) == f"{prefix}one\r{prefix}two"


def test_records_within_records() -> None:
    """A collector's around the program's own, where that is a record; other JSON is the message."""
    assert unwrapped({"log": json.dumps({"message": "one", "time": 1})}) == "one"
    assert unwrapped({"log": json.dumps({"answer": "one"})}) == '{"answer": "one"}'
    assert unwrapped({"log": "{one}"}) == "{one}"


def nested(depth: int) -> Any:
    """Return a record within so many lists."""
    value: Any = {"message": "one"}
    for _ in range(depth):
        value = {"data": value}
    return value


def test_how_deep_records_are_looked_for() -> None:
    """Six levels."""
    assert unwrapped(nested(6)) == "one"
    assert unwrapped(nested(7)) == json.dumps(nested(7))


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        ([["2", "two"], ["1", "one"]], "one\rtwo"), ([["10", "ten"], ["9", "nine"]], "nine\rten"), ([["1", "one"], ["2"], "3"], "one"),
        ([[10, "ten"], [9, "nine"]], "nine\rten"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["stream", "metric"])
def test_lokis_streams(values: list[Any], lines: str, key: str) -> None:
    """In the order of their times."""
    assert unwrapped({key: {"pod": "x"}, "values": values}) == lines


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('2025-11-02T10:00:00Z pod-1 {"log": "one"}', "one"), ('{"log": "one"},', "one"), ('  {"log": "one"}  \r', "one"), ('{ "log": "one"}', "one"),
        ('[{"log": "one"}, {"log": "two"}]', "one\rtwo"), ('x [{"log": "one"}]', None), ('{"log": "one"} x', None), ("{'log': \"one\"}", None),
        ('{"log": "one"', None), ('{   "log": "one"}', None), ("x" * 120 + '{"log": "one"}', "one"), ("x" * 121 + '{"log": "one"}', None),
    ],
)  # fmt: skip
def test_where_a_record_stands_on_its_line(line: str, text: str | None) -> None:
    """Behind a stamp or a name; no further than 120 characters, and at the end."""
    shown = unwrap_json(line.encode()).decode()
    assert shown == (line if text is None else shown[: len(shown) - len(text)] + text)
    assert text is None or "log" not in shown


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [(3, 2, True), (2, 2, True), (1, 2, True), (2, 3, False), (1, 1, True), (0, 1, False), (0, 0, False), (12, 8, True), (11, 9, False)],
)  # fmt: skip
def test_a_log_of_records(good: int, bad: int, expected: bool) -> None:
    """Three of five lines, or the only one; empty lines do not count."""
    lines = ['{"log": "one"}'] * good + ["plain"] * bad
    assert looks_like_json("\n\n".join(lines).encode()[:100000]) is expected or good + bad > 10
    assert looks_like_json("\n".join(lines).encode()) is expected


def test_an_object_that_an_error_quotes_is_no_record() -> None:
    """Its message is but a part of what the line says."""
    line = b'Run failed: PluginInvokeError: {"args": {"description": "400: \\"auto\\" tool choice"}, "message": "400"}'
    assert unwrap_json(line) == line
    assert unwrap_json(b'web-1: {"log": "one"}') == b"one"


@pytest.mark.parametrize(
    "keys",
    [
        {"object": "error", "message": "no cog"},
        {"message": "no cog", "type": "BadRequestError", "param": None, "code": 400},
    ],
)
def test_the_answer_to_a_request_that_failed_is_no_record(keys: dict[str, Any]) -> None:
    """Its type and code say as much as its message."""
    line = json.dumps(keys).encode()
    assert not looks_like_json(line)
    assert unwrap_json(line) == line
    assert unwrap_json(json.dumps({**keys, "object": "log", "time": "10:00"}).encode()) == b"no cog"


def test_only_the_first_twenty_lines_tell() -> None:
    """What follows may be anything."""
    assert looks_like_json(b"\n".join([b'{"log": "one"}'] * 20 + [b"plain"] * 100))
    assert not looks_like_json(b"\n".join([b"plain"] * 20 + [b'{"log": "one"}'] * 100))


def test_halves_of_characters_in_a_record_are_kept_as_they_are() -> None:
    """Also in a record within a record; they are replaced later, where text is made of them."""
    assert unwrap_json(b'{"log": "a\\ud83d"}') == b"a\xed\xa0\xbd"
    assert unwrap_json(b'{"log": "{\\"time\\": 1, \\"log\\": \\"a\\ud83d\\"}"}') == b"a\xed\xa0\xbd"


PIECES = ["INFO ", '"', "\\", "\n", "\r", "\t", '{"a": 1}', "}", "{", "é", "\x1b[0m", "/", '","stream":"stderr']


@given(
    message=st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    end=st.sampled_from(["", "\n", "\r\n"]),
    behind=st.sampled_from(["", " ", ",", "x", "\r"]),
    strict=st.booleans(),
)
def test_records_of_docker_are_read_as_any_json(message: str, end: str, behind: str, strict: bool) -> None:
    """Plain ones are told by their bytes; the same record in another layout is not."""
    record = {"log": message + end, "stream": "stderr", "time": "2026-11-02T10:00:00Z"}
    tight, loose = (
        (json.dumps(record, separators=separators) + behind + "\n").encode()
        for separators in ((",", ":"), (", ", ": "))
    )
    one, other = unwrap_json(tight, strict), unwrap_json(loose, strict)
    assert (one == tight) == (other == loose)
    assert one in (other, tight)
