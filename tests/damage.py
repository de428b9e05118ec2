# The prose is in several languages on purpose:
# ruff: noqa: RUF001
"""What happens to a log between the terminal and whoever is asked about it: sixteen ways, some in several forms.

Each form is a function of the log and of a seeded source of chance. Two forms take lines away; ``cut`` tells which, so that
a test leaves out the logs whose proof went with them.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from urllib.parse import quote

COLUMNS = 80
LAST = 40
_BEGIN = datetime(2026, 3, 4, 9, 14, 3, 104882, UTC)
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TRACE = re.compile(r"Traceback \(most recent call last\)")
_PREFIX = re.compile(
    r"(?:\([^)]*pid=\d+\) )?(?P<level>INFO|WARNING|ERROR|CRITICAL|DEBUG) (?P<date>\d\d-\d\d) (?P<clock>\d\d:\d\d:\d\d) "
    r"(?:\[(?:[\w/]*/)?(?P<module>\w+)\.py:\d+\] |(?:[\w./]+):\d+\] )"
)
_FRAME = re.compile(r'^(?:\[rank\d+\]: )?(?:\([^)]*\) )?(?:ERROR [^\]]*\] ?)?(?:\s|File "|\^)')

Damage = Callable[[str, Random], str]


@dataclass(frozen=True)
class Form:
    """One form of one way."""

    way: str
    name: str
    apply: Damage
    cut: bool = False
    """Whether lines are lost."""
    accuses: bool = False
    """Whether what stands around the log says that something failed: a healthy one is then answered otherwise, rightly."""


def lines_of(log: str) -> list[str]:
    """Return the lines of a log as a screen shows them: without colours, of a progress bar what was drawn last."""
    lines = _COLOURS.sub("", log).replace("\r\n", "\n").rstrip("\n").split("\n")
    return [line.rstrip("\r").rpartition("\r")[2] for line in lines]


def joined_by_blanks(log: str, _chance: Random) -> str:
    """Pasted into a field of one line: newlines become blanks, indentation stays."""
    return " ".join(lines_of(log))


def squeezed(log: str, _chance: Random) -> str:
    """As a browser shows text without a fence: every run of white space becomes one blank."""
    return " ".join(log.split())


def joined_by_nothing(log: str, _chance: Random) -> str:
    """Newlines taken out, indentation stays."""
    return "".join(lines_of(log))


def tracebacks_in_one_line(log: str, _chance: Random) -> str:
    """Only tracebacks have lost their newlines: the error of one log record, passed on by something that shows it in a line."""
    found: list[str] = []
    inside = False
    for line in lines_of(log):
        if inside:
            found[-1] += " " + line
            inside = bool(_FRAME.match(line))
            continue
        found.append(line)
        inside = bool(_TRACE.search(line))
    return "\n".join(found)


def head_cut(log: str, chance: Random) -> str:
    """The beginning is gone, in the middle of a line."""
    return log[chance.randrange(1, max(2, len(log) - 1)) :]


def last_lines(log: str, _chance: Random) -> str:
    """What a screen shows of it."""
    return "\n".join(lines_of(log)[-LAST:])


def quoted(log: str, _chance: Random) -> str:
    """Quoted in an answer."""
    return "\n".join(f"> {line}" for line in lines_of(log))


def quoted_twice(log: str, _chance: Random) -> str:
    """Quoted in an answer to an answer, empty lines without the blank."""
    return "\n".join(f"> > {line}".rstrip() for line in lines_of(log))


def wrapped_hard(log: str, _chance: Random) -> str:
    """Copied from a terminal that is 80 columns wide."""
    return "\n".join(
        line[start : start + COLUMNS] for line in lines_of(log) for start in range(0, max(1, len(line)), COLUMNS)
    )


def wrapped_soft(log: str, _chance: Random) -> str:
    """Wrapped at blanks by a mail program."""
    return "\n".join(piece for line in lines_of(log) for piece in _wrap(line))


def _wrap(line: str) -> list[str]:
    if len(line) <= COLUMNS:
        return [line]
    pieces = textwrap.wrap(
        line, COLUMNS, expand_tabs=False, replace_whitespace=False, break_long_words=False, break_on_hyphens=False
    )
    return pieces or [""]


def as_page(log: str, _chance: Random) -> str:
    """The source of a page that shows the log."""
    return f"<html><body><pre>\n{html.escape(log)}</pre></body></html>\n"


def as_breaks(log: str, _chance: Random) -> str:
    """From an editor that makes a line break an element, blanks entities."""
    lines = (html.escape(line).replace("  ", "&nbsp; ") for line in lines_of(log))
    return "<div>" + "<br>".join(lines) + "</div>"


def as_spans(log: str, _chance: Random) -> str:
    """As a CI system's page draws it: an element a line, colours as classes."""
    lines = (
        f'<div class="line"><span class="ansi-green-fg">{number}</span><span>{html.escape(line)}</span></div>'
        for number, line in enumerate(lines_of(log), 1)
    )
    return "\n".join(lines)


def as_viewer(log: str, _chance: Random) -> str:
    """A log viewer's export: every cell quoted."""
    rows = [["Date", "Host", "Service", "Status", "Message"]]
    rows += [[_stamp(at), "gpu-node-7", "vllm", "info", line] for at, line in enumerate(lines_of(log))]
    return _csv(rows, csv.QUOTE_ALL, ",")


def as_cells(log: str, _chance: Random) -> str:
    """Several lines in one cell, quotes only where needed: what a spreadsheet saves."""
    lines = lines_of(log)
    groups: list[list[str]] = []
    for line in lines:
        if groups and (line[:1] in (" ", "\t", "") or _TRACE.search(groups[-1][0])) and len(groups[-1]) < 12:
            groups[-1].append(line)
        else:
            groups.append([line])
    rows = [["timestamp", "message", "severity"]]
    rows += [[_stamp(at), "\n".join(group), "default"] for at, group in enumerate(groups)]
    return _csv(rows, csv.QUOTE_MINIMAL, ",")


def _csv(rows: list[list[str]], quoting: int, delimiter: str) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=quoting, delimiter=delimiter, lineterminator="\n").writerows(rows)  # type: ignore[arg-type]
    return out.getvalue()


def in_loki(log: str, _chance: Random) -> str:
    """`logcli --output=jsonl`, and what Grafana downloads."""
    labels = {"app": "vllm", "namespace": "llm", "pod": "vllm-7c9d8b6f5-x2k4q", "stream": "stderr"}
    return _records(log, lambda at, line: {"labels": labels, "line": line, "timestamp": _stamp(at)})


def in_fluentd(log: str, _chance: Random) -> str:
    """Fluent Bit's records of a Kubernetes pod."""
    pod = {"pod_name": "vllm-0", "namespace_name": "llm", "container_name": "vllm", "host": "gpu-node-7"}
    return _records(
        log, lambda at, line: {"time": _stamp(at), "stream": "stderr", "_p": "F", "log": line, "kubernetes": pod}
    )


def in_cloudwatch(log: str, _chance: Random) -> str:
    """`aws logs get-log-events`, as the command prints it."""
    events = [
        {"timestamp": 1772615643000 + at, "message": line, "ingestionTime": 1772615650000 + at}
        for at, line in enumerate(lines_of(log))
    ]
    return json.dumps({"events": events, "nextForwardToken": "f/3912"}, indent=4) + "\n"


def in_gcp(log: str, _chance: Random) -> str:
    """`gcloud logging read --format=json --order=asc`."""
    entries = [
        {"insertId": f"x{at}", "textPayload": line, "timestamp": _stamp(at), "severity": "ERROR",
         "resource": {"type": "k8s_container", "labels": {"container_name": "vllm"}}}
        for at, line in enumerate(lines_of(log))
    ]  # fmt: skip
    return json.dumps(entries, indent=2) + "\n"


def _records(log: str, record: Callable[[int, str], dict[str, object]]) -> str:
    return "".join(json.dumps(record(at, line)) + "\n" for at, line in enumerate(lines_of(log)))


def _stamp(at: int) -> str:
    return f"{_BEGIN + timedelta(milliseconds=137 * at):%Y-%m-%dT%H:%M:%S.%f}000Z"


def typeset(log: str, _chance: Random) -> str:
    """Through a word processor: typographic quotes, dashes, dots, blanks that do not break."""
    log = re.sub(r'(?m)(^|[\s(\[{=:,])"', "\\1\u201c", log).replace('"', "\u201d")
    log = re.sub(r"(?m)(^|[\s(\[{=:,])'", "\\1\u2018", log).replace("'", "\u2019")
    log = re.sub(r"(?<!-)--(?=[a-z])", "\u2014", log)
    log = re.sub(r"(?<= )-(?= )", "\u2013", log)
    return log.replace("...", "\u2026").replace("    ", "\u00a0\u00a0\u00a0 ")


def tabbed(log: str, _chance: Random) -> str:
    """Indented by tabs, as a block within a note."""
    return "\n".join(
        "\t" + re.sub(r"^(?: {4})+", lambda run: "\t" * (len(run[0]) // 4), line) for line in lines_of(log)
    )


def flush_left(log: str, _chance: Random) -> str:
    """Indentation lost: from a form, a chat, a screenshot."""
    return "\n".join(re.sub(r"(\] |^\[rank\d+\]: |^\([^)]*\) |^)[ \t]+", r"\1", line) for line in lines_of(log))


_FAILED = """\
$ vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 131072
(APIServer pid=301) INFO 11-02 09:14:03 [api_server.py:1839] vLLM API server version 0.11.0
(APIServer pid=301) INFO 11-02 09:14:03 [utils.py:233] non-default args: {'model_tag': 'Qwen/Qwen2.5-7B-Instruct', 'max_model_len': 131072}
(EngineCore_DP0 pid=412) INFO 11-02 09:14:19 [core.py:644] Waiting for init message from front-end.
(EngineCore_DP0 pid=412) ERROR 11-02 09:14:52 [core.py:708] EngineCore failed to start.
(EngineCore_DP0 pid=412) ERROR 11-02 09:14:52 [core.py:708] Traceback (most recent call last):
(EngineCore_DP0 pid=412) ERROR 11-02 09:14:52 [core.py:708]   File "/usr/local/lib/python3.12/dist-packages/vllm/v1/core/kv_cache_utils.py", line 676, in check_enough_kv_cache_memory
(EngineCore_DP0 pid=412) ERROR 11-02 09:14:52 [core.py:708]     raise ValueError(
(EngineCore_DP0 pid=412) ERROR 11-02 09:14:52 [core.py:708] ValueError: To serve at least one request with the models's max seq len (131072), (7.00 GiB KV cache is needed, which is larger than the available KV cache memory (5.12 GiB).
(APIServer pid=301) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
_STARTED = """\
$ vllm serve {model} --max-model-len 32768
INFO 11-02 10:02:11 [api_server.py:1839] vLLM API server version 0.11.0
"""


def second_attempt(log: str, _chance: Random) -> str:
    """One start that failed for another reason, then, in the same text, the start that the question is about."""
    return f"{_FAILED}\n{_STARTED.format(model='Qwen/Qwen2.5-7B-Instruct')}{log}"


def in_own_format(log: str, _chance: Random) -> str:
    """Printed by your own logging configuration: fields in brackets, of a record of several lines once."""
    found: list[str] = []
    last = ""
    for line in lines_of(log):
        prefix = _PREFIX.match(line)
        if prefix is None or prefix[0] == last:
            found.append(line[prefix.end() :] if prefix else line)
        else:
            level, date, clock, module = prefix["level"], prefix["date"], prefix["clock"], prefix["module"] or "engine"
            head = f"[2026-{date} {clock},104] [{level}] [MainThread] [vllm.{module}] >>> "
            found.append(head + line[prefix.end() :])
        last = prefix[0] if prefix else ""
    return "\n".join(found)


_BEFORE = (
    (
        "Hi all,\n\nI am trying to run this on our new machine (2x A100, driver 550, docker) and it does not come up. It\n"
        "worked with the release before. Has anybody seen this? Here is everything that it prints:\n\n```\n"
    ),
    "### Your current environment\n\n<details>\n<summary>The output</summary>\n\n```text\n",
    "大家好，我在服务器上启动服务的时候遇到了这个问题，请问怎么解决？日志如下：\n\n```\n",
    "Hallo zusammen, seit gestern läuft unser Server nicht mehr so, wie er soll. Das steht im Protokoll:\n\n~~~\n",
    "Привет! Не могу понять, что здесь происходит, помогите, пожалуйста. Вот лог:\n\n",
    "* run on Ubuntu 22.04\n* Python 3.12\n* log:\n\n",
)
_AFTER = (
    "```\n\nThanks a lot in advance for any help!\n",
    "```\n\n</details>\n\n### Before submitting a new issue...\n\n- [x] I have searched the documentation.\n",
    "```\n\n谢谢！\n",
    "~~~\n\nHat jemand eine Idee? Vielen Dank und schöne Grüße\n",
    "\nСпасибо заранее.\n",
    "\nAny pointer is welcome.\n",
)


def in_prose(log: str, chance: Random) -> str:
    """A question around it, in some language, with or without a fence."""
    which = chance.randrange(len(_BEFORE))
    return _BEFORE[which] + log.rstrip("\n") + "\n" + _AFTER[which]


def in_an_error(log: str, _chance: Random) -> str:
    """Within the message of a gateway's record, as its log shows it."""
    said = json.dumps({"object": "error", "message": "\n".join(lines_of(log)), "code": 500})
    return f"2026-03-01 10:00:00 gateway ERROR upstream said: {said}\n"


def in_a_record_twice(log: str, _chance: Random) -> str:
    """A record within a record, both as JSON in one line."""
    inner = json.dumps({"said": "\n".join(lines_of(log))})
    return json.dumps({"level": "error", "detail": inner}) + "\n"


def as_repr(log: str, _chance: Random) -> str:
    """As Python prints the list of its lines."""
    return f"{lines_of(log)!r}\n"


def in_a_call(log: str, _chance: Random) -> str:
    """As the text that another exception was raised with."""
    return f"raise RuntimeError({json.dumps(chr(10).join(lines_of(log)))})\n"


def as_list(log: str, _chance: Random) -> str:
    """Each line a point of a list."""
    return "\n".join(f"- {line}" for line in lines_of(log)) + "\n"


def as_code(log: str, _chance: Random) -> str:
    """Each line in inline code."""
    return "\n".join(f"`{line}`" for line in lines_of(log)) + "\n"


def as_added(log: str, _chance: Random) -> str:
    """As a diff shows a log that was committed."""
    return "\n".join(f"+{line}" for line in lines_of(log)) + "\n"


def in_a_chat(log: str, _chance: Random) -> str:
    """Line by line, with time and name."""
    return "\n".join(f"[{at // 60:02d}:{at % 60:02d}] anna: {line}" for at, line in enumerate(lines_of(log))) + "\n"


def in_a_table(log: str, _chance: Random) -> str:
    """A table in Markdown."""
    rows = "\n".join(f"| {at} | {line} |" for at, line in enumerate(lines_of(log)))
    return f"| n | line |\n|---|---|\n{rows}\n"


def laid_out(log: str, _chance: Random) -> str:
    """Deep within a record that is printed over several lines."""
    said = "\n".join(lines_of(log))
    return json.dumps({"status": 500, "errors": [{"ctx": {"stderr": said}}]}, indent=2) + "\n"


def in_an_address(log: str, _chance: Random) -> str:
    """As the parameter of a link holds it."""
    return quote("\n".join(lines_of(log))) + "\n"


def between_tabs(log: str, _chance: Random) -> str:
    """As a collector writes it: time, pod, line."""
    return "\n".join(f"2026-03-01T10:00:{at % 60:02d}Z\tpod-1\t{line}" for at, line in enumerate(lines_of(log))) + "\n"


def from_a_screenshot(log: str, chance: Random) -> str:
    """Letters that a reader of pictures takes for others, in one word of twelve."""

    def misread(word: re.Match[str]) -> str:
        one, two = chance.choice((("l", "1"), ("0", "O"), ("m", "rn"), ("I", "l")))
        return word.group().replace(one, two, 1) if chance.random() < 1 / 12 else word.group()

    return re.sub(r"\w{4,}", misread, log)


def below_its_name(log: str, _chance: Random) -> str:
    """Each exception's message on a line of its own below the name."""
    return re.sub(r"(?m)^(.*\b[A-Z]\w+(?:Error|Exception)): (?=\S)", r"\1:\n  ", log)


FORMS = (
    Form("newlines lost", "joined by blanks", joined_by_blanks),
    Form("newlines lost", "squeezed", squeezed),
    Form("newlines lost", "joined by nothing", joined_by_nothing),
    Form("newlines lost", "tracebacks in one line", tracebacks_in_one_line),
    Form("head cut", "head cut", head_cut, cut=True),
    Form("last lines", "last lines", last_lines, cut=True),
    Form("quoted", "quoted", quoted),
    Form("quoted", "quoted twice", quoted_twice),
    Form("wrapped", "hard", wrapped_hard),
    Form("wrapped", "soft", wrapped_soft),
    Form("HTML", "page", as_page),
    Form("HTML", "breaks", as_breaks),
    Form("HTML", "spans", as_spans),
    Form("CSV", "viewer", as_viewer),
    Form("CSV", "cells", as_cells),
    Form("JSON", "Loki", in_loki),
    Form("JSON", "fluentd", in_fluentd),
    Form("JSON", "CloudWatch", in_cloudwatch),
    Form("JSON", "GCP", in_gcp),
    Form("typeset", "typeset", typeset),
    Form("indentation", "tabs", tabbed),
    Form("indentation", "flush left", flush_left),
    Form("two attempts", "two attempts", second_attempt),
    Form("prose", "prose", in_prose, accuses=True),
    Form("record", "an error's message", in_an_error, accuses=True),
    Form("record", "a record within a record", in_a_record_twice),
    Form("record", "repr", as_repr),
    Form("record", "a call", in_a_call, accuses=True),
    Form("record", "laid out", laid_out, accuses=True),
    Form("record", "an address", in_an_address),
    Form("marked", "list", as_list),
    Form("marked", "inline code", as_code),
    Form("marked", "diff", as_added),
    Form("marked", "chat", in_a_chat),
    Form("marked", "table", in_a_table),
    Form("marked", "tabs between", between_tabs),
    Form("misread", "screenshot", from_a_screenshot),
    Form("misread", "message below its name", below_its_name),
    Form("own format", "own format", in_own_format),
)
"""The ways in all their forms; the last is an own format, which loses processes."""
