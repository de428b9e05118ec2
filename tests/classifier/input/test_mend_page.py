"""Pages give the log that they show; a log that speaks of tags stays."""

from __future__ import annotations

import html

import pytest

from tests.classifier.input.as_read import RECORD, read, texts

LINES = [
    f"{RECORD} Traceback (most recent call last):",
    f'{RECORD}   File "/a/b.py", line 3, in <module>',
    f"{RECORD}     x = {{'a': 1}} if y < 2 & z > 3 else 'b'",
    f"{RECORD} ValueError: größer & schöner",
]
PAGE = "\n".join(html.escape(line) for line in LINES)


@pytest.mark.parametrize(
    "page",
    [
        f"<pre>{PAGE}</pre>",
        f"<html><head><title>CI</title><style>a {{ b }}</style></head><body><pre><code>{PAGE}\n</code></pre></body></html>",
        PAGE.replace("\n", "<br>\n"),
        PAGE.replace("\n", "<br/>"),
        "".join(f"<div class='l'>{html.escape(line)}</div>" for line in LINES),
        "\n".join(
            f'<div class="line"><span class="n">{n}</span><span>{html.escape(line)}</span></div>'
            for n, line in enumerate(LINES, 9)
        ),
        "".join(f"<tr><td>{n}</td><td>{html.escape(line)}</td></tr>\n" for n, line in enumerate(LINES, 9)),
        PAGE,
        PAGE.replace("  ", "&nbsp; "),
        html.escape(PAGE),
    ],
    ids=["pre", "page", "br and newline", "br", "div", "numbered", "table", "entities", "blanks", "twice"],
)
def test_a_page_gives_its_text(page: str) -> None:
    """Tags go, elements that break lines break them, entities are characters."""
    assert [line.rstrip() for line in texts(page) if line.strip() and line != "CI"] == LINES


def test_lines_made_of_one_bear_its_number() -> None:
    """Line breaks that are elements make no new lines in the input."""
    assert {number for number, _ in read(PAGE.replace("\n", "<br>"))} == {1}


@pytest.mark.parametrize(
    "log",
    [
        '  File "/a/b.py", line 3, in <module>\n    x = "<br>".join("a &amp; b")\nValueError: <p>x</p>\n',
        "chat template: <|im_start|>user <b>bold</b> &lt;tool&gt; </think>\nINFO: <s>\n",
        f"{RECORD} <class 'int'> &quot;one entity\n",
    ],
)
def test_a_log_that_speaks_of_tags_stays(log: str) -> None:
    """What has its own angle brackets was not made part of a page."""
    assert texts(log) == log.rstrip("\n").split("\n")


def test_tags_alone_on_their_line_go() -> None:
    """Issue reports are partly HTML."""
    log = f"<details>\n<summary>log</summary>\n{LINES[1]}\n</details>\n"

    assert texts(log) == ["", "<summary>log</summary>", LINES[1], ""]
