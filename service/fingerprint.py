"""Tells whether two reports are of the same failure: a short digest of what does not change from one start to the next.

What goes in, and why:

- **bucket and cause**: the answer itself. A log that is answered otherwise is another failure to whoever looks after it.
- **the deciding line, as a template**: the first words of its message, with values taken out. The cause alone
  would put every 'assertion failed' and every unrecognised error of a service into one incident, and the second kind would
  never be noticed, as it would count as the first one happening again. Values are what differs between two occurrences of
  one failure: numbers, sizes, addresses, paths, links, ids, and what is quoted or listed. Only the first words count: tails
  list what happens to be there (processes that share a GPU, names of architectures, advice that releases reword).
- **the exception's class and the innermost frame of vLLM's, where the message says next to nothing** (``AssertionError``,
  ``KeyError: 'x'``): then kind and place are what tells two failures apart. Elsewhere both are left out: the same message
  comes plain, as a ValueError, in pydantic's words and wrapped into a RuntimeError, and releases move code about.

What stays out:

- **the model**: a server whose weights do not fit has the same failure with the next model that does not fit; what is to be
  done is the same, and the report of the latest occurrence has the model's figures. Servers are told apart by the service label.
- **vLLM's version**: 'still there after the update' is what people want to see. Where a release rewords the message the
  fingerprint changes with it; that is one incident more, once.
- pids, times, ports, addresses, request ids, temporary folders, ranks, process names, line numbers, counts, confidence.

The number in front is that of these rules: change it with them, and known failures begin anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from ..classifier.lines.prefix import split_line
from ..classifier.lines.traceback_patterns import short_path
from ..classifier.patterns.lazy import LazyPattern
from ..classifier.report.model import ContextLine, Evidence, Report

RULES = 1
WORDS = 16
"""Words of the deciding line that count."""
TELLING = 3
"""With fewer words than this a message does not tell failures apart."""
READ = 4000
"""Characters of a line that are looked at; answers show fewer."""
NESTED = 6
"""Lists within lists that are taken out."""

_CLASS = LazyPattern(
    r"^(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Warning))(?=:|$)(?P<colon>: ?)?"
)
"""An exception's class; its package stays out: releases of torch and pydantic move their classes."""
_PYDANTIC = LazyPattern(r"^(?P<name>Value error|Assertion error), ")
_VALUES = LazyPattern(
    # What is quoted; the apostrophe within a word quotes nothing.
    r"(?<!\w)[rub]?'[^'\n]{0,400}'(?!\w)|\"[^\"\n]{0,400}\""
    r"|\w{1,20}://[^\s'\"<>]+"
    # Paths, names of repositories, endpoints: whatever has a slash within.
    r"|(?<![\w<])(?:[A-Za-z]:)?[~.\w@+%=-]{0,200}(?:[/\\][~.\w@+%=:-]+)+[/\\]?"
    # Whatever has a figure within: numbers, sizes, times, addresses, ids, names of devices, dtypes, models, processes.
    r"|(?<![\w.:+%@~-])[\w.:+%@~-]{0,80}?\d[\w.:+%@~-]*(?:\s?(?:[KMGT]i?B|bytes?|tokens?|seconds?|[mun]?s|%)(?!\w))?"
    # IPv6 addresses without figures, and hex ids that happen to have none.
    r"|(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])|\b[a-f]{8,}\b"
)
_LISTED = LazyPattern(r"\[[^\[\]{}]*\]|\{[^\[\]{}]*\}")
_OPEN = LazyPattern(r"[\[{]")
_WORD = LazyPattern(r"[^\W\d_][\w-]*|#")
_FRAME = LazyPattern(r"""^\s*File "(?P<path>[^"]+)", line \d+, in (?P<function>\S+)""")
_OURS = LazyPattern(r"^vllm\w*/[\w/]+\.py$")


def fingerprint(report: Report) -> str:
    """Return 16 hex digits, the same for reports of the same failure."""
    deciding = next(iter(report.evidence), None)
    name, words = template(deciding.text) if deciding else ("", [])
    place = ""
    if deciding and sum(word != "#" for word in words) < TELLING:
        place = f"{name} {_place(report.context, deciding)}"
    parts = (str(RULES), report.bucket, report.cause, " ".join(words), place)
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def template(line: str) -> tuple[str, list[str]]:
    """Return what a log line says without its values: the class of an exception, and the first words of the message.

    What stands in front of the message is left out; ``#`` stands for one or more values.
    """
    text = split_line(1, line[:READ]).text.strip()
    name = ""
    if found := _CLASS.match(text):
        name, text = found["name"], text[found.end() :]
    elif found := _PYDANTIC.match(text):
        name, text = found["name"].replace(" e", "E"), text[found.end() :]
    if text[:1] in ("'", '"') and " " in text and text[-1] in (text[0], "…"):
        # KeyError quotes its messages as a whole.
        text = text[1:-1]
    text = _VALUES.sub(" # ", text)
    for _ in range(NESTED):
        fewer = _LISTED.sub(" # ", text)
        if fewer == text:
            break
        text = fewer
    if found := _OPEN.search(text):
        # A list that was cut off with its line.
        text = text[: found.start()]
    words: list[str] = []
    for word in _WORD.findall(text.lower()):
        if word != "#" or words[-1:] != ["#"]:
            words.append(word)
    words = words[:WORDS]
    # A list at the end may be whole, or cut off, or not there.
    return name, words[:-1] if words[-1:] == ["#"] else words


def _place(context: Iterable[ContextLine], deciding: Evidence) -> str:
    """Return file and function of vLLM's last frame before the deciding line, in the same process."""
    place = ""
    for line in context:
        if line.line >= deciding.line:
            break
        found = _FRAME.match(split_line(1, line.text).text)
        if found and line.process == deciding.process and _OURS.match(path := short_path(found["path"])):
            place = f"{path}:{found['function']}"
    return place
