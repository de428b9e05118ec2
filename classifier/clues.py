"""What an error tells by its words or by its place, whichever cause it has (``corpus/domains.toml``, ``corpus/idioms.toml``, ``corpus/components.toml``).

Idioms are read of the words alone, components of the frame that failed too: the innermost that belongs to one counts.
"""

from __future__ import annotations

import re

from ..corpus.clues import IDIOM
from ..corpus.records import Record, record, replace
from .patterns.lazy import LazyPattern
from .patterns.precompiled import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..corpus.clues import Clue, Clues

_LONGEST = 4000
BY_LINE = 8
"""``re.MULTILINE``: with which expressions on frames are compiled."""
_INNERMOST = 8
"""Frames, from the innermost on, that may tell of a component."""
_IMPORTS = LazyPattern(
    r"^(?:\w+\.)*(?:ImportError|ModuleNotFoundError)|partially initialized|circular import|out of memory"
)
"""Errors whose stacks tell who imported or allocated last, not whose fault it is."""
_PACKAGES = {
    "yaml": "pyyaml", "PIL": "pillow", "cv2": "opencv-python-headless", "sklearn": "scikit-learn", "google": "protobuf", "bs4": "beautifulsoup4",
    "skimage": "scikit-image", "dateutil": "python-dateutil", "attr": "attrs", "zmq": "pyzmq", "pkg_resources": "setuptools", "flash_attn": "flash-attn",
    "flashinfer": "flashinfer-python", "cutlass": "nvidia-cutlass-dsl", "deep_gemm": "deep-gemm", "tvm_ffi": "apache-tvm-ffi",
}  # fmt: skip
"""Packages that are not called what they are imported as."""
_FLOORS = {
    "TypeAlias": "3.10", "ParamSpec": "3.10", "Concatenate": "3.10", "TypeGuard": "3.10", "override": "3.12", "TypeIs": "3.13", "ReadOnly": "3.13",
}  # fmt: skip
"""Python's releases that first have names of typing; the others came with 3.11."""
_SIGNALS = {
    1: "SIGHUP (its terminal went)", 2: "SIGINT (stopped from outside)", 3: "SIGQUIT", 4: "SIGILL (code for another processor)", 6: "SIGABRT (it gave up by itself: an assertion of native code)",
    7: "SIGBUS (often /dev/shm that is full)", 8: "SIGFPE", 9: "SIGKILL (from outside, often for want of memory)", 11: "SIGSEGV (a fault in native code)", 13: "SIGPIPE", 15: "SIGTERM (stopped from outside)",
}  # fmt: skip
_MAGIC = {
    "0x1f": "gzip",
    "0x8b": "gzip",
    "0x80": "a pickle, or an archive of one",
    "0x89": "a PNG image",
    "0xff": "UTF-16, or a JPEG image",
    "0xfe": "UTF-16",
}
_STATUS = {
    "401": "no valid token was sent",
    "403": "the token may not do that",
    "404": "there is nothing of that name",
    "429": "too many requests came from here",
}


@record(frozen=True, slots=True)
class Found(Record):
    """A clue that an error holds.

    Attributes:
        clue: The row.
        values: What its words captured, and what is worked out from them.
        around: Whether other conspicuous words of the log hold it, not the error that decided.
        depth: How far its place is from the innermost frame; 0 where words alone tell.
    """

    clue: Clue
    values: Mapping[str, str]
    around: bool = False
    depth: int = 0


def clues_of(rows: Clues, error: str, stack: str = "", around: str = "", all_words: str = "") -> list[Found]:
    """Return what an error tells: the first idiom that it holds, then the innermost components, surest first.

    Args:
        rows: Of the corpus.
        error: Class, colon, message; or the line.
        stack: Its frames, one a line, outermost first.
        around: Other conspicuous words of the log: asked where the error holds nothing.
        all_words: What the log says of the failure, for what speaks against a row.
    """
    error, around = error[:_LONGEST], around[: 2 * _LONGEST]
    stack = "" if _IMPORTS.search(error) else stack
    found = list(_held(rows, error, stack, all_words))
    if all(each.clue.own for each in found):
        # An error that only tells of another: that one may stand around it.
        others = (replace(each, around=True) for each in _held(rows, around, "", all_words) if not each.clue.own)
        found = [*others, *found]
    idioms = sorted(
        (each for each in found if each.clue.kind == IDIOM), key=lambda each: (not each.clue.leads, each.clue.own)
    )[:1]
    parts = sorted((each for each in found if each.clue.kind != IDIOM), key=lambda each: each.depth)
    # What holds for any place is asked behind the part, which may not be in use here.
    components = [*[each for each in parts if not each.clue.own][:1], *[each for each in parts if each.clue.own][:1]]
    return sorted([*idioms, *components], key=lambda each: not each.clue.sure)


def _held(rows: Clues, error: str, stack: str, all_words: str) -> Iterator[Found]:
    frames = stack.splitlines()[: -_INNERMOST - 1 : -1]
    joined = "\n".join(frames)
    for clue in rows.possible(error, joined, all_words):
        words = compiled(clue.words).search(error) if clue.words else None
        if clue.words and words is None:
            continue
        depth = _depth(clue.frames, frames, joined) if clue.frames else 0
        if depth is None or (clue.unless and compiled(clue.unless).search(all_words)):
            continue
        beside = compiled(clue.log).search(all_words) if clue.log else None
        if clue.log and beside is None:
            continue
        groups = {
            **(beside.groupdict() if beside is not None else {}),
            **(words.groupdict() if words is not None else {}),
        }
        yield Found(clue, _values(groups), depth=depth)


def _depth(expression: str, frames: list[str], joined: str) -> int | None:
    """Return how far the innermost frame of a component is from the innermost of all; None where there is none."""
    search = compiled(expression, BY_LINE).search
    if not search(joined):  # as nearly always
        return None
    return next((at for at, frame in enumerate(frames) if search(frame)), None)


def _values(groups: Mapping[str, str | None]) -> dict[str, str]:
    values = {name: value for name, value in groups.items() if value}
    for name, work_out in WORKED_OUT.items():
        if text := work_out(values):
            values[name] = text
    return values


def _package(values: Mapping[str, str]) -> str:
    """Return the package that a module comes with."""
    top = values.get("module", "").partition(".")[0]
    return _PACKAGES.get(top, top)


def _beyond(values: Mapping[str, str]) -> str:
    """Return the first minor version behind one that is the last allowed."""
    major, _, minor = values.get("most", "").partition(".")
    return f"{major}.{int(minor) + 1}" if minor.isdigit() else ""


def _ratio(values: Mapping[str, str]) -> str:
    """Return how many times one size is the other, where it is a whole number."""
    if "left" not in values or "right" not in values:
        return ""
    small, large = sorted((int(values["left"]), int(values["right"])))
    if not small or large % small or large == small:
        return ""
    times = large // small
    hint = (
        ": two ranks, or two 4-bit weights in a byte"
        if times == 2
        else f": {times} ranks, or heads that are shared"
        if times < 65
        else ""
    )
    return f", exactly {times} times apart{hint}"


def _signal(values: Mapping[str, str]) -> str:
    """Return what an exit code means."""
    if "code" not in values:
        return ""
    code = int(values["code"])
    number = -code if code < 0 else code - 128
    return f"signal {number}, {_SIGNALS[number]}" if number in _SIGNALS else f"signal {number}"


def _of_symbol(values: Mapping[str, str]) -> str:
    """Return whose symbol a mangled name is."""
    symbol = values.get("symbol", "")
    owner = (
        "torch"
        if re.match(r"_ZNK?(?:3c10|2at|5torch)", symbol)
        else "CUDA"
        if re.match(r"cu[A-Z]|cuda[A-Z]", symbol)
        else ""
    )
    return f" ({owner})" if owner else ""


WORKED_OUT: dict[str, Callable[[Mapping[str, str]], str]] = {
    "package": _package,
    "floor": lambda values: _FLOORS.get(values["typed"], "3.11") if "typed" in values else "",
    "beyond": _beyond,
    "ratio": _ratio,
    "signal": _signal,
    "of_symbol": _of_symbol,
    "magic": lambda values: f", as {_MAGIC[values['byte']]} has it" if values.get("byte") in _MAGIC else "",
    "status_means": lambda values: _STATUS.get(values.get("status", ""), ""),
}
"""Slots that are worked out from the groups of the words."""
