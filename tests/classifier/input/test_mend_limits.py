"""Mending, form by form: each name and sign that is known, and where damage begins to be damage."""

from __future__ import annotations

import json

import pytest

from tests.classifier.input.as_read import RECORD, texts
from vllm_triage.classifier.input.mending.characters import straighten, unescape
from vllm_triage.classifier.input.mending.glued import split_glued, unglue
from vllm_triage.classifier.input.mending.layout import unnumber, unquote
from vllm_triage.classifier.input.mending.page import unpage
from vllm_triage.classifier.input.mending.records import unrecord
from vllm_triage.classifier.input.mending.table import untable
from vllm_triage.classifier.input.mending.types import Form
from vllm_triage.classifier.input.mending.wrapped import begins, unwrap


def done(form: Form, *lines: str) -> list[str] | None:
    """Return what a form makes of lines, without their numbers; None where it sees no damage."""
    found = form(list(enumerate(lines, 1)))
    return None if found is None else [line for _, line in found]


@pytest.mark.parametrize(
    "name",
    [
        "message", "@message", "log", "msg", "line", "textPayload", "text", "Log Message", "LogMessage", "log_message", "body", "content", "event", "_raw", "raw",
        "jsonPayload.message", "log line", "log.message", "description",
    ],
)  # fmt: skip
@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_columns_of_messages(name: str, sign: str) -> None:
    """In whatever case, with a mark of the byte order, beside any other."""
    rows = [f"\ufeff{name.upper()}{sign}x", f"one{sign}1", f'"two{sign}a ""b"""{sign}2']
    assert done(untable, *rows) == ["one", f'two{sign}a "b"']
    assert done(untable, f"{name}s{sign}x", *rows[1:]) is None


@pytest.mark.parametrize(
    "name", ["timestamp", "@timestamp", "time", "date", "_time", "datetime", "timegenerated", "receivetimestamp", "ts"]
)
def test_columns_of_times(name: str) -> None:
    """They tell which way round the rows are."""
    rows = [f"{time},line {time}" for time in "321"]
    assert done(untable, f"{name},message", *rows) == ["line 1", "line 2", "line 3"]
    assert done(untable, f"{name}s,message", *rows) == ["line 3", "line 2", "line 1"]


def test_the_surest_of_several_columns() -> None:
    """The message goes before the text."""
    assert done(untable, "text,message", "a,b", "c,d") == ["b", "d"]


@pytest.mark.parametrize(
    ("stamp", "told"),
    [("2026-03-04T09:14:00Z", True), ("2026-03-04 09:14", True), ("2026-03-04 09:14:00.5+01:00", True), ("1700000000", True), ("170000000", False), ("noon", False)],
)  # fmt: skip
def test_tables_without_a_head(stamp: str, told: bool) -> None:
    """By times in the first cell, and lines of a log in another."""
    rows = [f"{stamp},{RECORD} {word}" for word in ("one", "two", "three")]
    assert done(untable, *rows) == ([f"{RECORD} {word}" for word in ("one", "two", "three")] if told else None)
    assert done(untable, *[f"{stamp},{word}" for word in ("one", "two", "three")]) is None
    assert done(untable, *rows[:2]) is None


@pytest.mark.parametrize(("open_cells", "given_up"), [(3, False), (4, True)])
def test_quotes_that_are_never_closed(open_cells: int, given_up: bool) -> None:
    """After three of them it is no table."""
    rows = ["message,x", "one,1", *[f'"open {number}' for number in range(open_cells)]]
    assert (done(untable, *rows) is None) is given_up


def test_how_many_lines_a_cell_may_have() -> None:
    """Four hundred."""
    for count, whole in ((400, True), (401, False)):
        found = done(untable, "message,x", '"a', *["b"] * (count - 2), 'c",1')
        assert found is not None
        assert (found[0] == "a") is whole


@pytest.mark.parametrize(
    "tag",
    ["br", "p", "div", "tr", "li", "pre", "table", "ul", "ol", "hr", "details", "summary", "blockquote", "title"],
)
def test_elements_that_break_lines(tag: str) -> None:
    """Each part is a line."""
    assert done(unpage, f"one<{tag}>two</{tag}>three") == ["one", "two", "three"]
    assert done(unpage, f"one<{tag.upper()} class='x'>two") == ["one", "two"]


@pytest.mark.parametrize(
    "tag",
    [
        "html", "body", "code", "span", "tbody", "thead", "a", "b", "i", "em", "strong", "font", "img", "h1", "h6", "kbd", "samp", "tt", "button", "section", "article", "main",
        "header", "footer", "nav", "path", "input", "label", "meta", "link", "small", "sub", "sup", "time", "figure", "form", "clipboard-copy", "tool-tip", "relative-time",
    ],
)  # fmt: skip
def test_elements_that_break_none(tag: str) -> None:
    """They go without a trace."""
    assert done(unpage, f"one<{tag} x='y'>two</{tag}>") == ["onetwo"]
    assert done(unpage, f"one<{tag}x7>two") is None


@pytest.mark.parametrize("tag", ["td", "th"])
def test_cells(tag: str) -> None:
    """A tab behind each but the last."""
    assert done(unpage, f"<tr><{tag}>one</{tag}><{tag}>two</{tag}></tr>") == ["one\ttwo"]


@pytest.mark.parametrize("tag", ["script", "style", "svg", "head"])
def test_what_a_page_does_not_show(tag: str) -> None:
    """Lines stay lines."""
    assert done(unpage, f"one<{tag} x>", "two", f"</{tag}>three<br>four") == ["one", "", "three", "four"]


@pytest.mark.parametrize(
    ("entity", "sign"),
    [
        ("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("&nbsp;", " "), ("&apos;", "'"), ("&#39;", "'"), ("&#x27;", "'"), ("&#160;", " "), ("&#31;", " "), ("&#32;", " "),
        ("&#x1F600;", "\U0001f600"), ("&#xD800;", ""), ("&#xDFFF;", ""), ("&#xE000;", "\ue000"), ("&#999999;", chr(999999)), ("&amp;amp;lt;", "<"),
    ],
)  # fmt: skip
def test_entities(entity: str, sign: str) -> None:
    """Two of them, or one that only a page has; controls are blanks, halves of characters nothing."""
    assert done(unpage, f"{entity}a{entity}") == [f"{sign}a{sign}"]
    assert done(unpage, f"{entity}<br>") == [sign] if sign.strip() else True


def test_logs_that_speak_of_entities() -> None:
    """One is none, nor are several beside other ampersands; proof goes before doubt."""
    assert done(unpage, "a &lt; b") is None
    assert done(unpage, "a &lt; b & c &gt;") is None
    assert done(unpage, "a < b &lt; c &gt;") is None
    assert done(unpage, "File &quot;/a.py&quot; & x") == ['File "/a.py" & x']
    for proof in (
        "&lt;module",
        "&lt;frozen",
        "&lt;lambda",
        "&lt;listcomp",
        "&lt;class",
        "&#39;",
        "&#x27;",
        "&#34;",
        "&#x22;",
    ):
        assert done(unpage, f"{proof} & x") is not None
    assert done(unpage, "plain") is None


@pytest.mark.parametrize(
    "key", ["message", "@message", "log", "msg", "line", "textPayload", "MESSAGE", "LogEntry", "text", "event"]
)
@pytest.mark.parametrize("time", ["timestamp", "@timestamp", "time", "ts"])
def test_keys_of_records_laid_out(key: str, time: str) -> None:
    """Newest first is turned round, by the time before or behind the message."""
    behind = [{key: f"line {at}\n", time: f"100{at}"} for at in (5, 4, 3, 2, 1)]
    before = [{time: f"100{at}", key: f"line {at}\n"} for at in (5, 4, 3, 2, 1)]
    for records in (behind, before):
        assert done(unrecord, *json.dumps(records, indent=1).split("\n")) == [f"line {at}" for at in range(1, 6)]
    strange = [{f"{key}x": "line"} for _ in range(3)]
    assert done(unrecord, *json.dumps(strange, indent=1).split("\n")) is None


def test_how_much_of_a_text_must_be_records() -> None:
    """Nine lines of ten, and three at least."""
    record = ["{", '"message": "one"', "}"]
    assert done(unrecord, *record * 4, "a strange line") == ["one"] * 4
    assert done(unrecord, *record * 4, "a strange line", "another one") is None
    assert done(unrecord, *record) == ["one"]
    assert done(unrecord, *record[1:]) is None


@pytest.mark.parametrize(
    ("text", "line"), [("'it''s'", "it's"), ('"a\\tb"', "a\tb"), ("plain", "plain"), ("'", "'"), ('"a\\qb"', '"a\\qb"')]
)
def test_messages_of_yaml(text: str, line: str) -> None:
    """In single quotes, in double ones, in none."""
    head = ["---", "insertId: x", "jsonPayload:", "  app: y", "timestamp: '2026'"]
    assert done(unrecord, *head, f"textPayload: {text}") == [line]
    assert done(unrecord, *head[1:], f"  message: {text}") == [line]
    assert done(unrecord, *head, f"other: {text}") is None


@pytest.mark.parametrize(
    ("typed", "straight"),
    [
        ("\u201ca\u201d", '"a"'), ("\u201ea\u201f", '"a"'), ("\u2018a\u2019", "'a'"), ("\u201aa\u201b \u2018", "'a' '"), ("a\u00a0b", "a b"), ("\u201c\u202f\u2007\u2026\u201d", '"  ..."'),
        ("x^M", "x"), ("x \u2014port 1", "x --port 1"), ("\u2013port=1", "--port=1"), ("'\u2013port_x", "'--port_x"), ("x \u2014Port 1", None), ("x\u2014port 1", None), ("x \u2014 y", None),
        ("\u201ca\u201d \u2014 b \u2013 c", '"a" - b - c'), ('"a \u201cb\u201d', '"a "b"'), ('"a" "b" \u201cc\u201d', None), ("'a \u2018b\u2019", "'a 'b'"), ('File \u201e/a\u201c """', 'File "/a" """'),
        ("plain", None),
    ],
)  # fmt: skip
def test_characters(typed: str, straight: str | None) -> None:
    """Curly ones where straight ones are fewer, or where only Python's can stand."""
    assert done(straighten, typed) == (None if straight is None else [straight])


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("a\\nINFO x", ["a", "INFO x"]), ("a\\r\\nINFO x", ["a", "INFO x"]), ("a\\\\nINFO \\tx", ["a", "INFO \tx"]), ("a\\n', 'INFO x", ["a", "INFO x"]), ("a\\nINFO \\\"x\\'", ["a", "INFO \"x'"]),
        ('{"a": "x\\nINFO y"}', None), ('[{"a": "x\\nINFO y"}', None), ('[ {"a": "x\\nINFO y"}', None), ('{ "a": "x\\nINFO y"}', None), ("a\\nb", None), ("a", None),
    ],
)  # fmt: skip
def test_newlines_that_were_written_out(line: str, lines: list[str] | None) -> None:
    """Where lines of a log begin behind them; records are read as what they are."""
    assert done(unescape, line) == lines


@pytest.mark.parametrize(
    ("quoted", "plain"),
    [
        (4, ["line"] * 4 + ["x"]), (3, None), (5, ["line"] * 5),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mark", ["> ", ">", "  > ", "&gt; ", "> > ", ">\t"])
def test_marks_of_quotation(quoted: int, plain: list[str] | None, mark: str) -> None:
    """Four lines of five bear one."""
    assert done(unquote, *[f"{mark}line"] * quoted, *["x"] * (5 - quoted)) == plain


def test_line_numbers() -> None:
    """Four that count up; one of five may be missing."""
    assert done(unnumber, "7 a", "8 b", "9 c", "10 d") == ["a", "b", "c", "d"]
    assert done(unnumber, "7 a", "8 b", "9 c") is None
    assert done(unnumber, "7 a", "8 b", "x", "10 d", "11 e") == ["a", "b", "x", "d", "e"]
    assert done(unnumber, "7 a", "x", "y", "10 d", "11 e") is None
    assert done(unnumber, "71", "82", "93", "104") == ["1", "2", "3", "4"]


TRACE = 'Traceback (most recent call last): File "/a/b.py", line 3, in f return g() ValueError: boom'


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (TRACE, ["Traceback (most recent call last):", 'File "/a/b.py", line 3, in f', "return g()", "ValueError: boom"]),
        (f"{RECORD} a INFO 11-02 10:00:00 [a.py:1] b INFO 11-02 10:00:01 [a.py:2] c", [f"{RECORD} a", "INFO 11-02 10:00:00 [a.py:1] b", "INFO 11-02 10:00:01 [a.py:2] c"]),
        (f"{RECORD} a INFO 11-02 10:00:00 [a.py:1] b", None), ("INFO:     a INFO:     b INFO:     c", None),
        ("x [rank0]: a [rank1]: b [rank2]: c [rank3]: d", ["x", "[rank0]: a", "[rank1]: b", "[rank2]: c", "[rank3]: d"]), ("x [rank0]: a [rank1]: b [rank2]: c", None),
        ("INFO:     Started a (pid=1) b Killed c Bus error d", ["INFO:     Started a", "(pid=1) b", "Killed c", "Bus error d"][:0] or None),
    ],
)  # fmt: skip
def test_beginnings_within_a_line(line: str, lines: list[str] | None) -> None:
    """Four points: two for a record, a frame, a head, an exception, one for the rest."""
    found = [part.strip() for part in split_glued(line)]
    assert found == (lines or [line])


def test_the_only_line_needs_fewer_points() -> None:
    """Two of them; short lines are never taken apart."""
    line = f"{RECORD} a INFO 11-02 10:00:00 [a.py:1] b"
    assert split_glued(line, alone=True) == [f"{RECORD} a", "INFO 11-02 10:00:00 [a.py:1] b"]
    assert done(unglue, line) == split_glued(line, alone=True)
    assert done(unglue, line, "x") is None
    assert done(unglue, TRACE, "x") is not None
    short = "[rank0]: a [rank1]: b [rank2]: c [rank3]: d [rank4]: eeeeeee"
    assert (len(short), done(unglue, short[:59], "x") is None, done(unglue, short, "x") is None) == (60, True, False)


@pytest.mark.parametrize(
    "text", ["  indented", "\tx", "", "   ", " ^^^^", "~~", "INFO x", "Traceback (most recent call last):"]
)
def test_lines_of_their_own(text: str) -> None:
    """By their words, their indentation, or as nothing at all."""
    assert begins(text)
    assert not begins(" one blank")


def cut(width: int, count: int = 1, rest: str = "goes on here") -> list[str]:
    """Return lines that are cut at a width, and go on in the next."""
    return [part for sign in "xyz"[:count] for part in (f"{RECORD} ".ljust(width, sign), rest)]


@pytest.mark.parametrize(
    ("width", "count", "joined"),
    [(80, 1, True), (100, 1, True), (120, 1, True), (132, 1, True), (160, 1, True), (81, 1, False), (81, 2, False), (81, 3, True), (250, 3, True), (251, 3, False), (79, 3, True)],
)  # fmt: skip
def test_widths_at_which_lines_are_cut(width: int, count: int, joined: bool) -> None:
    """One line is enough at a terminal's usual width, three at any other up to 250."""
    lines = cut(width, count)
    found = done(unwrap, *lines)
    assert (found == [f"{first}{rest}" for first, rest in zip(lines[::2], lines[1::2], strict=True)]) is joined


def test_a_word_that_begins_large_was_not_cut() -> None:
    """Nor one behind a full stop: two lines that are only as long as a terminal is wide."""
    assert done(unwrap, *cut(80, rest="Goes on")) is None
    assert done(unwrap, *cut(80, rest="(goes on")) is None


@pytest.mark.parametrize(("width", "joined"), [(63, False), (64, True), (79, True), (81, False)])
def test_widths_of_mails(width: int, joined: bool) -> None:
    """Words are whole: of so few lines all must go on as a sentence does."""
    first = "INFO 11-02 10:00:00 [a.py:1] the engine".ljust(width, "x")
    assert (
        done(unwrap, first, "could not be started because of it") == [f"{first} could not be started because of it"]
    ) is joined
    assert done(unwrap, f"{first[:-1]}.", "could not be started because of it") is None or not joined
    assert done(unwrap, first, "OneWord") is None


@pytest.mark.parametrize("lone", ["[rank0]:", "[rank0]: ", "[rank1234]:"])
def test_ranks_alone(lone: str) -> None:
    """Their line was broken off behind them."""
    assert done(unwrap, lone, "  x", "[rank0]: y") == [f"{lone.rstrip()}   x", "[rank0]: y"]
    assert done(unwrap, lone, "", "x") is None
    assert done(unwrap, lone, "[rank0]: y") is None


def test_mended_texts_are_read_whole() -> None:
    """Form after form, as long as there is damage."""
    page = "<pre>" + TRACE.replace('"', "&quot;") + "</pre>"
    assert [line.strip() for line in texts(page) if line.strip()] == [
        "Traceback (most recent call last):", 'File "/a/b.py", line 3, in f', "return g()", "ValueError: boom",
    ]  # fmt: skip
