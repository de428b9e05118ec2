"""Explains errors that Python, its packages, compilers and kernels raise whatever the program (``corpus/idioms.toml``).

Asked where no rule speaks: what the words of the error say of its cause, and the next step.
"""

# ruff: noqa: PTH100, PTH118, PTH120, PTH123 - pathlib takes longer to import than the table to read
from __future__ import annotations

import os
import re
from functools import lru_cache

from ..corpus.records import Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TABLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "corpus", "idioms.toml")
_LONGEST = 4000
_SLOT = re.compile(r"\{(\w+)\}")
_COMMANDS = re.compile(
    r"(?:pip|python|export|ulimit|apt-get|ls|ss|ip|df|free|getent|quota|dmesg|command|ldconfig|nvcc) "
)
_TITLES = (
    ("pip show", "See which version is installed"), ("pip", "Install the package anew"), ("python -m pip", "Install the package"),
    ("python", "See which one is loaded"), ("export", "Set the variable"), ("ulimit", "Raise the limit"), ("apt-get", "Install what is missing"),
)  # fmt: skip
"""What a command is for, by its beginning; the others look at something."""
_PACKAGES = {
    "yaml": "pyyaml", "PIL": "pillow", "cv2": "opencv-python-headless", "sklearn": "scikit-learn", "google": "protobuf", "bs4": "beautifulsoup4",
    "skimage": "scikit-image", "dateutil": "python-dateutil", "attr": "attrs", "zmq": "pyzmq", "pkg_resources": "setuptools", "flash_attn": "flash-attn",
    "flashinfer": "flashinfer-python",
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
class Idiom(Record):
    """What an error says whatever the program.

    Attributes:
        id: Of its row.
        says: What its words say of the cause.
        do: The next step, a sentence or a command.
        then: What comes behind a command; "" where nothing does.
    """

    id: str
    says: str
    do: str
    then: str = ""

    @property
    def title(self) -> str:
        """The next step in a few words."""
        if not self.is_command:
            return self.do
        verb = next((title for begin, title in _TITLES if self.do.startswith(begin)), "Look")
        return f"{verb}. {self.then}".rstrip(" .") if self.then else verb

    @property
    def is_command(self) -> bool:
        """Whether the next step can be pasted into a shell."""
        return _COMMANDS.match(self.do) is not None


def idiom_of(text: str) -> Idiom | None:
    """Return what an error says whatever the program; None where no row has its words.

    Args:
        text: Of the error: class, colon, message.
    """
    text = text[:_LONGEST]
    for row, words in _rows():
        if found := words.search(text):
            values = {name: value for name, value in found.groupdict().items() if value}
            return Idiom(row["id"], *(_filled(row.get(key, ""), values) for key in ("says", "do", "then")))
    return None


def _filled(template: str, values: Mapping[str, str]) -> str:
    def put(found: re.Match[str]) -> str:
        name = found[1]
        return WORKED_OUT[name](values) if name in WORKED_OUT else values.get(name, "")

    return _SLOT.sub(put, template)


def _package(values: Mapping[str, str]) -> str:
    """Return the package that a module comes with."""
    top = values.get("module", "").partition(".")[0]
    return _PACKAGES.get(top, top)


def _ratio(values: Mapping[str, str]) -> str:
    """Return how many times one size is the other, where it is a whole number."""
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
    code = int(values["code"])
    if code in (126, 127):
        return "a shell that found no such program" if code == 127 else "a shell that may not run the program"
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
    "floor": lambda values: _FLOORS.get(values.get("typed", ""), "3.11"),
    "ratio": _ratio,
    "signal": _signal,
    "of_symbol": _of_symbol,
    "magic": lambda values: f", as {_MAGIC[values['byte']]} has it" if values.get("byte") in _MAGIC else "",
    "status_means": lambda values: _STATUS[values["status"]],
}
"""Slots that are worked out from the groups of the words."""


@lru_cache(maxsize=1)
def _rows() -> list[tuple[dict[str, str], re.Pattern[str]]]:
    """Return the rows in order, read when first asked for."""
    import tomllib

    with open(TABLE, "rb") as file:
        return [(row, re.compile(row["words"])) for row in tomllib.load(file)["idiom"]]
