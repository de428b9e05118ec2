"""What a healthy log does not say: kinds of lines that have to be accounted for, whoever prints them and in whatever language."""

from __future__ import annotations

from ..lines.types import Line
from ..patterns.lazy import LazyPattern
from .case import QUIET

DEADLY = ("a native death", "a device's error code")
REFUSED = "a refused request"
_KINDS = (
    (DEADLY[0], True, (
        "LLVM ERROR", "terminate called", "Fatal Python", "***", "Segmentation fault", "core dumped", "panicked at ", "Assertion `",
        "Check failed: ", "fault by GPU", "Killed", "Aborted", "Bus error", "Illegal instruction",
    ), LazyPattern(
        r"LLVM ERROR|\bterminate called|Fatal Python error|\*\*\* (?:Aborted|stack smashing)|Segmentation fault|core dumped|panicked at "
        r"|Assertion `|Check failed: |fault by GPU|^(?:\S+: line \d+: +\d+ )?(?:Killed|Aborted|Bus error|Illegal instruction)\b"
    )),
    (DEADLY[1], True, ("ERR", "rror", "_STATUS_", "Xid", "NCCL WARN"), LazyPattern(
        r"\bERR\d{5}\b|(?:CUDA|HIP|cuBLAS|CUBLAS|CUDNN|NCCL|HSA) [eE]rror\b|\b(?:CUDA|CUBLAS|CUDNN|CUSPARSE|CUSOLVER)_(?:ERROR|STATUS)_(?!SUCCESS)[A-Z_]+"
        r"|\bNVRM: Xid|\bhipError[A-Z]\w+|\bcudaError[A-Z]\w+|\bnccl[A-Z]\w+Error\b|\bNCCL WARN (?!NET/|Call to (?:connect|bind))"
    )),
    ("a compiler's error", False, ("rror", "ptxas", "nvcc", "ninja: "), LazyPattern(
        r"^(?:\S+?[:(]\d+(?:[:,]\d+)?\)?: )?(?:fatal )?error: |^ptxas (?:fatal|error)|^nvcc (?:fatal|error)|ninja: build stopped|^CMake Error|^\W*error: "
        r"|^[\w.\-]+(?: [\w\-]+){0,2}: error: "
    )),
    ("an exit", False, ("xit", "XIT", "ied", "IED", "eturned", "ETURNED", "erminated", "ERMINATED", "ignal", "SIG"), LazyPattern(r"(?i)\b(?:exit(?:ed)?|died|returned|terminated)\b.{0,30}\b(?:code|status):? ?=?(?:-[1-9]\d*|[1-9]\d{0,2})\b|\bsignal (?:6|7|8|9|11)\b|\bSIG(?:KILL|SEGV|ABRT|BUS|ILL)\b")),
    (REFUSED, True, ("HTTP/", "curl: ("), LazyPattern(r"HTTP/\d(?:\.\d)?\"? [45]\d\d\b|^curl: \(\d+\) ")),
    ("an exception", False, ("Error", "Exception", "Value error, "), LazyPattern(r"(?<![\w.`'\"])(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?:: |\(|$)|^\s+Value error, ")),
)  # fmt: skip
"""From what says most to what says least; whether it counts at levels at which a process goes on, too; and words of which each match
holds one: looking for these takes a tenth of the time."""
_SOFT = LazyPattern(
    r"(?i)\b(?:failed|failure|fatal|could not|cannot|can't|unable to|not (?:found|supported|available|allowed|compatible)|unsupported|incompatible"
    r"|invalid|mismatch(?:ed)?|out of memory|timed out|timeout|refused|denied|exceeds?|too (?:long|large|small)|no such|undefined|corrupted|dead"
    r"|crash(?:ed|es)?|hangs?|stuck|error)\b"
)
"""Words with which programs tell of trouble; of a server at work they are told of much that it lives with."""


def kind_of(line: Line) -> str:
    """Return what kind of abnormal line this is; "" for one that a healthy server may print.

    What is told at a level at which a process goes on is abnormal only where the process had no words of its own for it.
    """
    text = line.text[:2000]
    loud = line.level not in QUIET
    for kind, quiet, words, pattern in _KINDS:
        if (quiet or loud) and any(word in text for word in words) and pattern.search(text):
            return kind
    return ""


def complains(line: Line) -> bool:
    """Return whether a line speaks of trouble in ordinary words: all that can be asked of an excerpt that shows no start."""
    return line.level != "DEBUG" and _SOFT.search(line.text[:2000]) is not None
