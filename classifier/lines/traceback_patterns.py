"""What the lines of a traceback look like: Python's own, IPython's, rich's, and C++ stacks."""

from __future__ import annotations

import re

from ..patterns.lazy import LazyPattern

CALLS = "(most recent call "
FRAME = LazyPattern(
    r'^[\s|+]*File "(?P<path>[^"\n]{1,400})", line (?P<number>\d{1,9})(?:,? in (?P<function>[^\n(]{1,200}))?'
)
# Several frames on one line: what joins lines to paragraphs leaves them so.
FURTHER = LazyPattern(
    r'(?<=[\s)])File "(?P<path>[^"\n]{1,400})", line (?P<number>\d{1,9}), in (?P<function>[^\n(]{1,200})'
)
ANOTHER = ' File "'
# Reports put the line of code behind the name: in forward\n x = self.mlp(x) … in forward x = self.mlp(x)
NAME_AND_CODE = LazyPattern(r"(?P<name>[A-Za-z_]\w*|<[a-z]+>)(?:\s|\\n)+(?P<code>[^\s\[=.,:].*)")
# IPython: File /a/b.py:12, in f(x) … /a/b.py in f(x) … [/a/b.py](https://…) in f(x) … Input In [3], in <cell line: 1>()
NOTEBOOK = LazyPattern(
    r"^\s*(?:File |\[)?(?P<path>(?:[~/.]|[A-Za-z]:\\)[^\s:\]()]{1,300}\.pyx?|<ipython[^>]{1,80}>"
    r"|(?:Cell|Input) In ?\[\d{1,6}\])"
    r"\]?(?:\([^)\s]{0,300}\))?"
    r"(?::(?P<number>\d{1,9}))?,?(?: line \d{1,9})?,? in (?P<function>[\w.<>]{1,120}|<cell line: \d{1,6}>)(?:\(|$)"
)
# The same outside a function, known as a frame only within a traceback.
NOTEBOOK_PLACE = LazyPattern(
    r"^(?:File )?(?P<path>(?<=File )(?:[A-Za-z]:)?[^\s:\"][^:\"]{0,300}(?=:\d)|(?:Cell|Input) In ?\[\d{1,6}\])"
    r"(?::(?P<number>\d{1,9}))?(?:, line \d{1,9})?(?:,? in (?P<function>[^\n(]{1,200}).*)?$"
)
PLACES = ("File ", "Cell In", "Input In", "<ipython")
NOTEBOOK_CODE = LazyPattern(r"^\s*(?:-+>\s*)?\d{1,6}(?:\s|$)")
ARROW = LazyPattern(r"^-+>\s*\d*\s*")
# rich: │ /a/b.py:12 in f │ and │ ❱ 12 │   code │
BOXED = LazyPattern(r"^\s*│\s+(?P<path>\S{1,400}\.py):(?P<number>\d{1,9}) in (?P<function>[\w.<>]{1,200})")
BOXED_CODE = LazyPattern(r"^\s*│\s+❱\s*\d{1,7}\s*│?\s?(?P<code>[^│]{0,300})")
NATIVE = LazyPattern(
    r"^\s*frame #\d{1,4}: (?P<function>[^\n]{1,400}?)"
    r"(?: \+ 0x[0-9a-f]{1,16})? \(0x[0-9a-f]{1,16} in (?P<path>[^)\n]{1,300})\)$"
)
THROWN = LazyPattern(r"terminate called after throwing an instance of '(?P<name>[^'\n]{1,200})'")
FINAL = LazyPattern(
    r"^(?:\[?(?:rank\d+|pid \d+)\]?:? )?(?P<name>(?:[A-Za-z_]\w*\.){0,8}[A-Za-z_]\w*)"
    r"(?P<inner>\([\w.]{1,80}\))?(?::(?: |$)(?P<message>.*))?$",
    re.DOTALL,
)
NAME = LazyPattern(
    r"(?:Error|Exception|Exit|Interrupt|Warning|Failure|Fault|Failed|Timeout|Killed|NotFound|Unavailable|Died|"
    r"OutOfResources|Dead|Full|Empty|Abort|Unsupported|BackendError|Iteration|"
    r"Invalid|Mismatch|Disconnected|Closed|Cancelled|Terminated|Stop|Group)$"
)
LOOSE = LazyPattern(
    r"(?:^|[\s'\"(:])(?P<name>(?:[a-z_]\w*\.){0,8}[A-Z]\w*(?:Error|Exception))(?:\([\w.]{1,80}\))?: (?P<message>\S.*)$",
    re.DOTALL,
)
RAISE = LazyPattern(r"raise (?P<name>(?:[a-z_]\w*\.){0,4}[A-Z]\w*(?:Error|Exception))\(")
LINKED = "above exception"
DIRECT = "The above exception was the direct cause of the following exception"
DURING = "During handling of the above exception, another exception occurred"
MARGIN = LazyPattern(r"^[ ]{0,40}[|+] ?")
PACKAGES = LazyPattern(
    r"^.*(?:site-packages|dist-packages)/(?:[^/]{1,120}\.egg/(?=.))?|^.*/python3(?:\.\d+)?/(?:lib-dynload/)?"
)


def short_path(path: str) -> str:
    """Return a frame's path from the package's folder on: ``vllm/v1/engine/core.py``."""
    path = path.replace("\\", "/")
    found = PACKAGES.match(path)
    if found and found.end() < len(path):
        return path[found.end() :]
    at = path.rfind("/vllm/")
    return path[at + 1 :] if at >= 0 else path


def name_and_code(words: str) -> tuple[str, str]:
    """Return a frame's function and its line of code, where a report has both on one line; else the words, and no code."""
    found = NAME_AND_CODE.match(words)
    return (found["name"], found["code"]) if found else (words, "")


def looks_like_exception(text: str) -> bool:
    """Return whether a line without indentation can be an exception's own line."""
    return exception_of(text) is not None


def exception_of(text: str) -> re.Match[str] | None:
    """Return the parts of a line without indentation that can be an exception's own line, else None."""
    found = FINAL.match(text)
    if not found:
        return None
    full = found.group("name")
    name = full.rpartition(".")[2]
    if name[:1].islower() and not full.startswith(("torch.", "zmq.", "concurrent.", "asyncio.")):
        return None
    # An exception of a package counts under any name: dotted, or alone on its line.
    fits = NAME.search(name) or ("." in full and name[:1].isupper() and found.group("message") is not None)
    return found if fits else None


def link_of(text: str) -> str:
    """Return how an exception is linked with the one before, where a line says so; else ""."""
    if DIRECT in text:
        return "direct"
    return "during" if DURING in text else ""


def notebook_frame(text: str) -> re.Match[str] | None:
    """Return the frame that a line without margin shows as IPython does, which are some more within a traceback."""
    found: re.Match[str] | None = NOTEBOOK.match(text) if ".py" in text else None
    if found is None and text.startswith(PLACES):
        found = NOTEBOOK.match(text) or NOTEBOOK_PLACE.match(text)
    return found
