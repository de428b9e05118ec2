"""Cleaning makes plain lines of coloured, wrapped and flattened ones, and never adds or removes a newline."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.input.decode import Cleaner
from vllm_triage.classifier.input.json_lines import looks_like_json
from vllm_triage.classifier.input.rare_words import SMALL

RECORD = b"(EngineCore_DP0 pid=7) ERROR 11-02 10:00:00 [core.py:12] ValueError: boom"
BAR = b"Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.20it/s]"


def clean(data: bytes) -> bytes:
    """Return data cleaned as one block."""
    cleaner = Cleaner()
    decoded = cleaner.decode(data)
    cleaner.look(decoded)
    return cleaner.clean(decoded + cleaner.finish())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x1b[1;36m(EngineCore_0 pid=7)\x1b[0;0m ERROR", b"(EngineCore_0 pid=7) ERROR"),
        (b"\x1b[1;35mValueError\x1b[0m: \x1b[35mboom\x1b[0m", b"ValueError: boom"),
        (b"\x1b]0;title\x07text", b"text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ text", b"link text"),
        (b"\x1b_bk;t=1698888888123\x07text", b"text"),
        (b"\x1b[2K\x1b[1A\x1b[?25ltext", b"text"),
        (b"\x1bMINFO \x1b(BINFO \x1b7INFO", b"INFO INFO INFO"),
        (b"cut off \x1b[1;3\nnext", b"cut off \nnext"),
        (b"cut off \x1b", b"cut off "),
        (b"never ended \x1b]0;title\nValueError: x", b"never ended 0;title\nValueError: x"),
    ],
)
def test_terminal_sequences_go(data: bytes, expected: bytes) -> None:
    """Colours, cursor moves, titles and links go; the text beside them stays."""
    assert expected == clean(data)


@pytest.mark.parametrize("lost", [b"", b"\\x1b", b"\\u001b", b"\\033", b"^[", "␛".encode()])
def test_colours_without_their_escape_character_go(lost: bytes) -> None:
    """Logs that came through a clipboard keep the rest of each colour."""
    data = lost + b"[1;36m(EngineCore_0 pid=7)" + lost + b"[0;0m ERROR " + lost + b"[31mred" + lost + b"[0m"
    assert clean(data) == b"(EngineCore_0 pid=7) ERROR red"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"one\r\ntwo\r\n", b"one\ntwo\n"),
        (b"one\r\r\ntwo", b"one\ntwo"),
        (b"10%\r20%\ndone", b"10%\r20%\ndone"),
        (b"a\0\0\0b\0", b"ab"),
        (b"\xef\xbb\xbftext", b"text"),
        (b"\xff\xfe is no text \xe4", b"\xff\xfe is no text \xe4"),
    ],
)
def test_line_ends_and_holes(data: bytes, expected: bytes) -> None:
    """Windows line ends become newlines, bare carriage returns stay, NULs and marks go, broken UTF-8 is left for later."""
    cleaner = Cleaner()
    cleaner.look(b"")
    decoded = data if data.startswith(b"\xff") else cleaner.decode(data)
    assert expected == cleaner.clean(decoded)


@pytest.mark.parametrize(
    "record", [RECORD, b"INFO 11-02 10:00:00 [core.py:1] a", b"Traceback (most recent call last):", b"[rank0]: x"]
)
@pytest.mark.parametrize("bar", [BAR, BAR[:-5] + b"s/it]", BAR[:-1] + b", loss=1]"], ids=["it/s", "s/it", "postfix"])
def test_record_glued_after_a_progress_bar_stands_alone(bar: bytes, record: bytes) -> None:
    """What another process wrote while a bar was drawn becomes a line of its own, of the same number."""
    assert clean(bar + record) == bar + b"\r" + record


def test_traceback_with_written_out_newlines_is_split() -> None:
    """A traceback inside a quoted string becomes lines."""
    data = b"error: 'Traceback (most recent call last):\\n  File \\\"/a.py\\\", line 1, in f\\nValueError: boom'"
    assert clean(data).split(b"\r") == [
        b"error: 'Traceback (most recent call last):",
        b'  File "/a.py", line 1, in f',
        b"ValueError: boom'",
    ]


def test_prompts_of_logged_requests_go() -> None:
    """What users wrote is cut off the lines on which vLLM logs requests."""
    data = (
        b"INFO 11-02 10:00:00 [logger.py:42] Received request chatcmpl-"
        + b"0" * 40
        + b": prompt: 'CUDA out of memory'\nnext"
    )
    assert b"out of memory" not in clean(data)
    assert clean(data).endswith(b"\nnext")


def docker(text: str) -> dict[str, object]:
    """Wrap as docker's json-file driver does."""
    return {"log": text + "\n", "stream": "stderr", "time": "2025-11-02T10:00:00.1Z"}


WRAPS = {
    "docker": docker,
    "fluentd": lambda text: {"log": text, "kubernetes": {"pod_name": "vllm-0"}, "@timestamp": "2025-11-02T10:00:00Z"},
    "cloudwatch": lambda text: {"timestamp": 1762077600000, "message": text, "ingestionTime": 1762077600001},
    "gcp": lambda text: {
        "insertId": "x",
        "textPayload": text,
        "severity": "ERROR",
        "timestamp": "2025-11-02T10:00:00Z",
    },
    "gcp-json": lambda text: {"insertId": "x", "jsonPayload": {"message": text}, "severity": "ERROR"},
    "journald": lambda text: {"MESSAGE": text, "PRIORITY": "6", "__REALTIME_TIMESTAMP": "1", "_PID": "7"},
    "journald-bytes": lambda text: {"MESSAGE": list(text.encode()), "__REALTIME_TIMESTAMP": "1"},
    "logcli": lambda text: {"labels": {"pod": "x"}, "line": text, "timestamp": "2025-11-02T10:00:00Z"},
    "loki": lambda text: {"stream": {"pod": "x"}, "values": [["1", text]]},
    "elastic": lambda text: {
        "_index": "x",
        "_source": {"message": text, "@timestamp": "2025-11-02T10:00:00Z"},
        "labels": {},
    },
    "otlp": lambda text: {"severityText": "ERROR", "observedTimeUnixNano": "1", "body": {"stringValue": text}},
    "twice": lambda text: docker(json.dumps({"message": text, "timestamp": "2025-11-02T10:00:00Z"})),
}


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
@pytest.mark.parametrize(
    "text", [RECORD.decode(), '  File "/a/b.py", line 3, in f', "ValueError: größer", "\x1b[31mred\x1b[0m text"]
)
def test_collectors_records_give_the_programs_line(wrap: object, text: str) -> None:
    """Each collector's JSON around a line gives the line, whether all of the log is JSON or this line alone."""
    record = json.dumps(wrap(text)).encode()  # type: ignore[operator]
    plain = text.replace("\x1b[31m", "").replace("\x1b[0m", "").encode()
    assert plain == clean(record)
    assert b"\n".join([b"plain text"] * 9 + [plain]) == clean(b"\n".join([b"plain text"] * 9 + [record]))


def test_list_of_records_on_one_line_gives_all_messages() -> None:
    """An export as one JSON array is read record by record."""
    assert clean(json.dumps([docker("one"), docker("two")]).encode()) == b"one\r\rtwo"
    assert (
        clean(json.dumps({"events": [{"message": "one", "timestamp": 1}, {"message": "two", "timestamp": 2}]}).encode())
        == b"one\rtwo"
    )


def test_loki_answers_are_put_in_order() -> None:
    """Loki gives the newest line first; a log is read from its start."""
    answer = {"status": "success", "data": {"result": [{"stream": {}, "values": [["1800", "two"], ["900", "one"]]}]}}
    assert clean(json.dumps(answer).encode()) == b"one\rtwo"


def test_vllms_json_formatter_gives_its_plain_prefix() -> None:
    """Process, level, time and source stand before every line of the message and of the exception."""
    record = {
        "asctime": "11-02 10:00:00",
        "levelname": "ERROR",
        "name": "vllm.v1.engine.core",
        "processName": "EngineCore",
        "process": 12,
        "message": "EngineCore failed",
        "exc_info": "Traceback (most recent call last):\nValueError: boom",
    }
    prefix = b"(EngineCore pid=12) ERROR 11-02 10:00:00 [core.py:0] "
    expected = [
        prefix + text for text in (b"EngineCore failed", b"Traceback (most recent call last):", b"ValueError: boom")
    ]
    assert expected == clean(json.dumps(record).encode()).split(b"\r")


def test_rays_json_keeps_its_date_and_source() -> None:
    """A record with a full date and with file and line gives the same prefix."""
    record = {
        "asctime": "2025-11-02 10:00:00,123",
        "levelname": "WARNING",
        "message": "x",
        "filename": "replica.py",
        "lineno": 9,
        "process": 5,
    }
    assert clean(json.dumps(record).encode()) == b"WARNING 11-02 10:00:00 [replica.py:9] x"


@pytest.mark.parametrize(
    "line",
    [
        b'{"object":"error","message":"no such model","code":404}',
        b'{"text": "the answer of a model", "index": 0}',
        b'{"log": "cut off',
        b'{"log": 1}',
        b"{'log': 'a dict of Python', 'time': 1}",
        b'{"time": ' + b"1" * 5000 + b"}",
        b"[" * 3000 + b'{"log":"x","time":1}' + b"]" * 3000,
    ],
    ids=range(7),
)
def test_json_that_is_no_log_record_stays(line: bytes) -> None:
    """Amid plain lines, answers to clients and broken objects are left as they are."""
    data = b"\n".join([*[b"plain text"] * 9, line])
    assert data == clean(data)


@given(
    st.lists(
        st.sampled_from(
            [
                b"\n",
                b"\r\n",
                b"\r",
                b"\x1b[0m",
                b"\x1b]",
                b"\0",
                b'{"log":"a\\nb","time":1}',
                b"it/s]",
                b"(a pid=1) ",
                b"[0m",
                RECORD,
                b"\xff",
                b" Received request ",
                b'\\n  File "',
                b"x" * 400,
            ]
        ),
        max_size=60,
    )
)
def test_number_of_newlines_never_changes(pieces: list[bytes]) -> None:
    """Whatever is cleaned away, line numbers stay those of the input."""
    data = b"".join(pieces)
    assert data.count(b"\n") == clean(data).count(b"\n")


@given(st.binary(max_size=600))
def test_any_bytes_can_be_cleaned(data: bytes) -> None:
    """No bytes make the cleaner fail, and escape characters and NULs are gone after it."""
    cleaned = clean(data)
    assert b"\0" not in cleaned
    assert b"\x1b" not in cleaned


@given(
    st.lists(
        st.fixed_dictionaries(
            {}, optional={"log": st.text(), "message": st.text(), "time": st.text(), "x": st.integers()}
        ),
        min_size=1,
        max_size=30,
    )
)
def test_json_lines_stay_as_many(records: list[dict[str, object]]) -> None:
    """Messages with newlines in them do not become more lines."""
    data = "\n".join(json.dumps(record) for record in records).encode()
    assert looks_like_json(data) in (True, False)
    assert data.count(b"\n") == clean(data).count(b"\n")


COLOURS = (
    b"\x1b[0;36m(APIServer pid=41)\x1b[0;0m ",
    b"\x1b[1;36m(Worker pid=7)\x1b[0;0m ",
    b"\x1b[3",
    b"\x1b[0m",
    b"1m",
    b"\x1b",
    b"\x07",
)


@given(st.lists(st.sampled_from([*COLOURS, b"\n", b"\x1b]x", b"INFO one"]), max_size=60))
def test_colours_of_a_large_block_go_as_those_of_its_lines_do(pieces: list[bytes]) -> None:
    """What is taken off all over a block at once leaves what each line alone would."""
    data = b"\n".join([b"".join(pieces)] * (SMALL // (len(b"".join(pieces)) + 1) + 2))
    assert b"\n".join(clean(line) for line in data.split(b"\n")) == clean(data)
