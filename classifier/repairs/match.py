"""Holds a failing stack and its message against what each repair changed: the same line or name is not enough, its condition must be."""

from __future__ import annotations

import re

from ...corpus.records import Record, record
from ..facts.fingerprint import short_path
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern
from .error import (
    ASSERT,
    ATTRIBUTE,
    DEVICE,
    DTYPE,
    GIVEN,
    IMPORT,
    INDEX,
    KEY,
    LACKING,
    NAME,
    NONE,
    RAISED,
    SHAPE,
    UNPACK,
    ZERO,
    Wrong,
    wrong,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...corpus.repairs import Found, Repair
    from ..lines.types import Frame

SURE, LIKELY = 3, 2
"""How well a repair fits: it changed the very thing that the error names; it changed the line in the way that the error asks for."""
_CALLERS = 4
"""Frames of vLLM, from the innermost on, whose lines are looked at."""
_WORD = LazyPattern(r"[^\W\d]\w*")
_VALUES = LazyPattern(r"(?:['\"`]|:\s*)([A-Za-z][\w./-]{3,60})(?=['\"`.,]|\s|$)")
_MOST_VALUES = 24
_FROM = LazyPattern(r"\s*from\s+(?P<module>[\w.]+)\s+import\s+(?P<names>.*)")
_COMMON = LazyPattern(
    r"CUDA error|CUDA out of memory|illegal memory|NCCL error|Engine core|root cause|Encoder cache miss|out of memory|device-side|Connection|HTTP|"
    r"background loop|asyncio|timed out|CUBLAS|cuDNN|Input should be|validation error"
)
"""Words of errors that many causes share."""
_TESTS = frozenset(
    ["None", "hasattr", "getattr", "isinstance", "get", "len", "not", "is", "max", "min", "any", "all", "or"]
)
_PARTS = frozenset(["weight", "bias", "model", "layers"])
"""Parts of the names of most weights."""
_ASKS = frozenset(["getattr", "hasattr"])
_LEAVES = frozenset(["continue", "return", "break", "if", "in"])
_UNMEANT = frozenset(
    ["TypeError", "NotImplementedError", "RecursionError", "UnicodeDecodeError", "JSONDecodeError", "StopIteration"]
)
"""Exceptions that nobody raises on purpose where they are."""
_ONE_OF_A_KIND = _UNMEANT | {
    "KeyError",
    "IndexError",
    "UnboundLocalError",
    "AssertionError",
    "ZeroDivisionError",
    "FileNotFoundError",
}
"""Those by which, in one function, a failure is known."""
_CIRCULAR = LazyPattern(r"partially initialized|circular import")
_UNKNOWN = LazyPattern(
    r"[Uu]nknown|[Uu]nsupported|not (?:supported|found|recogni[sz]ed|registered|valid|defined)|[Ii]nvalid|[Uu]nrecogni[sz]ed"
)
_ANYBODYS = LazyPattern(
    r"required positional|unexpected keyword|has no attribute|object is not|out of range|not implemented|NoneType"
)
"""Words of Python's own errors: a commit that quotes no more than these quotes anybody's."""
_ANYBODYS_NAMES = frozenset(["NoneType"])
_LIMIT = LazyPattern(
    r"not (?:yet )?(?:be )?(?:support|implement|compatible|allow)|unsupported|incompatible|cannot be|can't be|\bonly\b|does ?n.t (?:yet )?support",
    re.IGNORECASE,
)
"""Words of what vLLM cannot do: a later release may."""
_FAMILIES = {
    DTYPE: frozenset(
        ["dtype", "to", "float", "half", "bfloat16", "float16", "float32", "float8_e4m3fn", "type", "astype", "view", "cast", "torch_dtype", "long", "int32", "int64", "bool", "uint8", "params_dtype", "quant_dtype", "out_dtype", "activation_dtype", "type_as"]
    ),
    DEVICE: frozenset(["device", "to", "cuda", "cpu", "meta", "pin_memory", "non_blocking", "current_device", "local_rank", "is_pin_memory_available"]),
    SHAPE: frozenset(
        ["view", "reshape", "shape", "size", "pad", "expand", "unsqueeze", "squeeze", "flatten", "contiguous", "chunk", "split", "narrow", "permute", "transpose", "stack", "cat", "head_size", "head_dim", "num_heads", "num_kv_heads", "hidden_size", "numel", "stride", "ndim", "dim", "empty", "zeros", "new_empty", "flattened", "repeat", "repeat_interleave", "num_tokens"]
    ),
}  # fmt: skip
_BENEATH = LazyPattern(
    r"^(?:torch|asyncio|concurrent|contextlib|functools|typing|enum|json|copy|collections|multiprocessing|threading|importlib)[/.]|^<"
)


@record(frozen=True, slots=True)
class Match(Record):
    """A repair of what failed.

    Attributes:
        repair: It.
        fit: ``SURE`` or ``LIKELY``.
        found: The facet by which it was found.
        wrong: What had failed.
        place: ``function in file`` of the frame; "" where it was found without one.
    """

    repair: Repair
    fit: int
    found: Found
    wrong: Wrong
    place: str = ""


def matches(kind: str, message: str, frames: Sequence[Frame], release: str = "", platform: str = "") -> list[Match]:
    """Return the repairs of what failed, the best first, of each its best match.

    Args:
        kind: The exception's class.
        message: Its text.
        frames: Its stack, outermost first.
        release: Of the server; repairs that it has are left out. "" where it is not known.
        platform: Of the server; repairs of what only other platforms do are left out. "" where it is not known.
    """
    from ...corpus.repairs import LINE, index

    if _COMMON.search(message):
        return []
    asked = _Asked(kind, message, frames)
    best: dict[int, Match] = {}
    had = set[str]()
    for match in (*asked.by_line(), *asked.by_name(), *asked.by_message(), *asked.by_title()):
        repair = match.repair
        if not _holds(repair, release, platform):
            had.add(match.place if repair.release and match.found.kind == LINE else "")
            continue
        known = best.get(repair.number)
        if known is None or match.fit > known.fit:
            best[repair.number] = match
    # The server fails on a line that was mended before: which later change mends it, the line does not tell.
    best = {
        number: each
        for number, each in best.items()
        if each.wrong.name or each.found.kind != LINE or each.place not in had
    }
    order = {each: at for at, each in enumerate(index().releases)}
    return sorted(
        best.values(), key=lambda each: (-each.fit, order.get(each.repair.release, len(order)), each.repair.number)
    )


def _holds(repair: Repair, release: str, platform: str) -> bool:
    if repair.needs and platform and platform not in repair.needs:
        return False
    return not (release and repair.release) or in_range(release, f"<{repair.release}") is True


class _Asked:
    """An exception, and what the index is asked for it."""

    def __init__(self, kind: str, message: str, frames: Sequence[Frame]) -> None:
        from ...corpus.repairs import index

        self._index = index()
        self._kind = kind
        self._message = " ".join(message.split())[:2000]
        self._wrong = wrong(kind, message)
        own = [(frame, short_path(frame.path)) for frame in frames if short_path(frame.path)]
        self._own = own[::-1][:_CALLERS]
        self._files = {path.rpartition("/")[2] for _, path in own}
        self._functions = {_function(frame) for frame, _ in own}
        inner = next((frame for frame in reversed(frames) if not _BENEATH.search(frame.path)), None)
        # What another package raised is vLLM's fault only in what it was given.
        self._theirs = inner is not None and not short_path(inner.path)

    def by_line(self) -> Iterator[Match]:
        """Yield the repairs of the lines in the stack."""
        from ...corpus.code_lines import plain
        from ...corpus.repairs import LINE

        for at, (frame, path) in enumerate(self._own):
            if not frame.code:
                continue
            code = re.sub(r"^\d+\s+", "", frame.code)
            words = frozenset(_WORD.made.findall(code))
            for function in dict.fromkeys(
                (_function(frame), *(_function(each) for each, there in self._own if there == path))
            ):
                key = f"{path.rpartition('/')[2]}\0{function}\0{plain(code)}"
                for found in self._index.find(LINE, key):
                    if fit := self._fits(found, code, words, at):
                        yield Match(found.repair, fit, found, self._wrong, f"{_function(frame)} in {path}")

    def _fits(self, found: Found, code: str, words: frozenset[str], at: int) -> int:  # noqa: PLR0911 - one for each way to fail
        """Tell how well a change of a line fits the error: not at all (0), ``LIKELY`` or ``SURE``."""
        error, lost, gained, how = self._wrong, found.lost, found.gained, found.how
        if how == "t" or (how == "c" and self._kind in gained):
            return SURE if self._kind in gained else LIKELY if "Exception" in gained and at == 0 else 0
        changed = lost | gained
        guarded = bool(gained & words - _TESTS) if how == "g" else bool(gained & _TESTS)
        if error.way in (ATTRIBUTE, GIVEN, LACKING, NAME):
            return self._fits_name(found, code, words)
        if error.way == KEY:
            return 0 if at or "[" not in code else self._fits_key(found, code, words)
        if error.way == IMPORT:
            return LIKELY if _CIRCULAR.search(self._message) and how == "c" and lost else 0
        if error.way == NONE:
            fed = how in "gs" and gained & words
            return LIKELY if (not at or self._theirs) and (fed or (how == "c" and (guarded or lost))) else 0
        if error.way == ASSERT and code.lstrip().startswith("assert"):
            return 0 if at else SURE if how in "cg" and changed else LIKELY if gained & words else 0
        if error.way in (INDEX, ZERO, UNPACK):
            return LIKELY if not at and how in "cg" and (guarded or lost) else 0
        if error.way in _FAMILIES:
            resized = error.way == SHAPE and not at and how == "c" and gained & {"len", "min", "max"}
            return LIKELY if resized or (at <= 1 and changed & _FAMILIES[error.way]) else 0
        if at or how not in "cg":
            return 0
        named = {word for word in _WORD.findall(self._message) if "_" in word}
        return LIKELY if changed & named or (changed and self._kind in _UNMEANT and not self._theirs) else 0

    def _fits_name(self, found: Found, code: str, words: frozenset[str]) -> int:  # noqa: PLR0911 - one for each way
        """Tell how well a change of a line fits an error that names an attribute, an argument or a variable."""
        error, lost, gained = self._wrong, found.lost, found.gained
        if error.way == LACKING:
            return SURE if error.name in gained else 0
        if error.way == NAME:
            return SURE if error.name in lost | gained else 0
        if error.way == GIVEN and not error.name:
            return LIKELY if found.how == "c" and error.owner.rpartition(".")[2] in words and lost | gained else 0
        if error.way == GIVEN:
            return SURE if error.name in lost else 0
        if error.name not in words:
            return LIKELY if "getattr" in words and found.how == "c" and gained & _TESTS else 0
        if found.how == "c" and gained & _ASKS:
            return SURE
        operand = _operand(code, error.name)
        if error.name in lost or (operand and operand in lost | gained) or (error.name in gained and gained & _TESTS):
            return SURE
        return LIKELY if error.owner == "NoneType" and found.how == "c" and gained & _TESTS else 0

    def _fits_key(self, found: Found, code: str, words: frozenset[str]) -> int:
        """Tell how well a change of a line fits a key that is not there."""
        error, changed = self._wrong, found.lost | found.gained
        parts = frozenset(_WORD.findall(error.name))
        container = next(iter(re.findall(r"(\w+)\[", code)), "")
        if error.name in changed or changed & parts - words - _PARTS:
            return SURE
        if found.how == "g":
            # Tests of other things let other keys through.
            return LIKELY if container in found.gained and found.gained <= words | _TESTS | _LEAVES else 0
        return (
            LIKELY
            if found.gained & {"get", "setdefault", "defaultdict", "pop", "KeyError"}
            or (found.how == "c" and found.lost)
            else 0
        )

    def by_name(self) -> Iterator[Match]:
        """Yield the repairs that brought the name that was missing."""
        from ...corpus.repairs import ARGUMENT
        from ...corpus.repairs import KEY as TEXT
        from ...corpus.repairs import NAME as NAMED

        error, index = self._wrong, self._index
        last = error.owner.rpartition(".")[2]
        found: list[Found] = []
        if error.way == ATTRIBUTE and error.owner != "NoneType":
            found = [each for each in index.find(NAMED, error.name) if each.how == "+" and _of(error.owner, each.lost)]
        elif error.way in (GIVEN, LACKING) and error.name:
            owner = error.owner.rpartition(".")[0].rpartition(".")[2]
            wanted = "+" if error.way == GIVEN else "-"
            each_of = index.find(ARGUMENT, f"{last}\0{error.name}")
            found = [each for each in each_of if each.how == wanted and (not owner or owner in each.lost)]
            if last == "__init__" and not owner:
                found = []
        elif error.way == NAME:
            found = [each for each in index.find(NAMED, error.name) if each.how == "i" and each.lost & self._files]
        elif error.way == IMPORT:
            found = list(self._imports())
        elif error.way == KEY and self._own:
            file, words = self._own[0][1].rpartition("/")[2], frozenset(_WORD.findall(self._own[0][0].code))
            found = [each for each in index.find(TEXT, error.name) if file in each.lost or each.gained & words]
        elif error.way == RAISED and self._own and _UNKNOWN.search(self._message):
            file, values = self._own[0][1].rpartition("/")[2], dict.fromkeys(_VALUES.findall(self._message))
            found = [
                each for value in list(values)[:_MOST_VALUES] for each in index.find(TEXT, value) if file in each.lost
            ]
        for each in found:
            yield Match(each.repair, SURE, each, error)

    def _imports(self) -> Iterator[Found]:
        from ...corpus.repairs import IMPORT as IMPORTED

        error = self._wrong
        wanted = [(error.owner, error.name)]
        frame, path = self._own[0] if self._own else (None, "")
        if frame is not None and (line := _FROM.match(frame.code)):
            wanted += [(line["module"], name.strip()) for name in line["names"].strip("()").split(",")]
        for module, name in dict.fromkeys(wanted):
            for each in self._index.find(IMPORTED, f"{module}\0{name}"):
                if path.rpartition("/")[2] in each.lost:
                    yield each

    def by_message(self) -> Iterator[Match]:
        """Yield the repairs of a message that was raised on purpose, and those that quote the error."""
        from ...corpus.repairs import ERROR, MESSAGE

        for found in self._index.said(self._message):
            if found.kind == MESSAGE and not self._theirs and found.lost & self._files and self._gone():
                yield Match(found.repair, SURE if _LIMIT.search(self._message) else LIKELY, found, self._wrong)
            elif found.kind == ERROR and found.how == self._kind:
                quoted = found.lost - _ANYBODYS_NAMES
                words = frozenset(_WORD.findall(self._message))
                if quoted <= words and (
                    quoted or (found.gained & self._functions and not _ANYBODYS.search(self._message))
                ):
                    yield Match(found.repair, SURE if quoted else LIKELY, found, self._wrong)

    def _gone(self) -> bool:
        """Return whether a later release says the message no more: else the commit only moved it."""
        from .since import first_without

        return bool(first_without(self._message))

    def by_title(self) -> Iterator[Match]:
        """Yield the repairs whose titles name the exception, and a name of its message or the function that failed."""
        from ...corpus.repairs import TITLE

        said = frozenset(_WORD.made.findall(self._message))
        for frame, path in self._own[:2]:
            for found in self._index.find(TITLE, f"{self._kind}\0{path.rpartition('/')[2]}"):
                named = bool(found.gained & said - {self._kind})
                same = frame is self._own[0][0] and _function(frame) in found.lost and not self._theirs
                if named or (same and self._kind in _ONE_OF_A_KIND):
                    place = f"{_function(frame)} in {path}"
                    yield Match(found.repair, SURE if named else LIKELY, found, self._wrong, place)


def _of(owner: str, classes: frozenset[str]) -> bool:
    return owner in classes or owner.rpartition(".")[2] in classes


def _operand(code: str, name: str) -> str:
    """Return the name of what a line asks for an attribute: ``pool`` of ``self.pool.size``."""
    found = re.search(rf"(\w+)(?:\(\)|\[[^\]]*\])?\.{re.escape(name)}\b", code) if name else None
    return found[1] if found else ""


def _function(frame: Frame) -> str:
    return frame.function.rpartition(".")[2]
