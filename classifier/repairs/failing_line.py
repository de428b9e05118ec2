"""What became of the line of vLLM that failed, in the releases after: rewritten, gone with its function, or the same.

A line that a later release has no longer is no proof that it was mended there, so it is told as what it is.
"""

from __future__ import annotations

from ...corpus.records import Record, record, replace
from ..facts.fingerprint import FrameMark, short_path
from ..facts.versions import in_range
from ..lines.mistakes import MISTAKES
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..lines.types import Frame, Trace
    from ..situation.releases import ReleaseBound

_FAULTS = MISTAKES - {"NotImplementedError"}
"""Exceptions that a mistake in Python code raises."""
_OPEN = ("RuntimeError", "ValueError")
"""Exceptions of which only these words tell of a mistake in Python code."""
_MISTAKEN = LazyPattern(
    r"\b(?:shapes?|sizes?|dimensions?|strides?|broadcast|unpack|empty (?:sequence|iterable)|is not in list|invalid literal|dtypes?|"
    r"out of bounds|multiplied|same device|main thread|inference tensor|in-?place|equal number|changed size)\b"
)
_MACHINE = LazyPattern(
    r"CUDA|HIP|NCCL|cuBLAS|CUDNN|NVML|out of memory|alloc|Triton|Engine core|worker|address|driver|_OpNamespace"
)
"""Words of what no line of Python code is to blame for."""
_LOADERS = LazyPattern(r"\b\w*?(?:load_weights|weight_loader|_load_param|load_param|load_module)\w*")
"""Functions that fail on what a checkpoint holds: whether a release can read it does not hang on the line."""
_BELOW = LazyPattern(
    r"^(?:torch|asyncio|argparse|cachetools|signal|concurrent|contextlib|functools|typing|enum|json|copy|collections)[/.]|^<"
    r"|^transformers/configuration_utils\.py$"
)
"""Frames in which the mistakes of their callers come to light."""
_GENERIC = LazyPattern(
    r"vllm/(?:_\w*ops|model_executor/custom_op|compilation/\w+|utils/\w+|utils|tracing\w{0,60}/?\w{0,60}|triton_utils/\w+|platforms/\w+"
    r"|model_executor/(?:utils|parameter)|model_executor/layers/(?:linear|layernorm|activation|vocab_parallel_embedding|utils)"
    r"|model_executor/layers/(?:quantization/unquant|rotary_embedding)\w*(?:/\w+)?|distributed/(?:parallel_state|communication_op))\.py"
)
"""Files of vLLM in which the mistakes of their callers come to light."""
_KERNELS = "vllm/_custom_ops.py"
"""What calls vLLM's own kernels, and chooses between them."""
_LACKING = LazyPattern(r"(?:has no attribute ['\"]?|(?<!\w)(?:name|variable) ['\"])(?P<name>\w+)")
"""What an error says is missing: the line that asked for it holds its name."""
_NAMED = LazyPattern(r"(?:['\"`]|has no attribute )(\w{1,80})\b")
_INNER = LazyPattern(r"<\w+>")
_NUMBER = LazyPattern(r"^\d+\s+")
"""With which IPython begins lines of code."""


@record(frozen=True, slots=True)
class Failure(Record):
    """What failed, as vLLM's sources are asked about it.

    Attributes:
        trace: The exception; None where none was read.
        text: The error's lines.
        bound: The releases that can have written the log.
        release: The newest of them.
        told: As the log prints it; "" where it does not.
        platform: "" where the log does not tell.
        own_build: Tells whether it is not a release of the registry; asked of few.
    """

    trace: Trace | None
    text: str
    bound: ReleaseBound
    release: str
    told: str
    platform: str
    own_build: Callable[[], bool]


class FailingLine:
    """The line of vLLM's own code at which an exception was raised.

    Attributes:
        mark: Where it stands.
        rewritten: The first release without it, from which on none has it; "" where the newest has it.
        with_function: Whether the whole function is gone, not the line alone.
        newest: The newest release that is known.
    """

    __slots__ = ("mark", "newest", "rewritten", "with_function")

    def __init__(self, mark: FrameMark, rewritten: str, with_function: bool, newest: str) -> None:
        self.mark = mark
        self.rewritten = rewritten
        self.with_function = with_function
        self.newest = newest

    @property
    def place(self) -> str:
        """The function and its file: ``schedule in vllm/v1/core/sched/scheduler.py``."""
        return place_of(self.mark)


def place_of(mark: FrameMark) -> str:
    """Return the function and its file: ``schedule in vllm/v1/core/sched/scheduler.py``."""
    return f"{mark.function} in {mark.path}"


def failing_mark(failure: Failure) -> tuple[FrameMark | None, bool]:
    """Return the frame whose mistake an exception can be, and whether it came to light in a wrapper that it called.

    Args:
        failure: Of the failed start.
    """
    trace = failure.trace
    if trace is None or not _mistaken(trace):
        return None, False
    mark, wrapped = _raised_at(trace)
    if mark is None or not mark.code or _LOADERS.fullmatch(mark.function):
        return None, False
    lacking = _LACKING.search(trace.message)
    if lacking is not None and lacking["name"] not in mark.code:
        return None, False  # raised further in, by frames that the log leaves out
    return mark, wrapped


def fate_of(mark: FrameMark | None, wrapped: bool, failure: Failure) -> FailingLine | None:
    """Return what became of the line that failed; None where the log does not have it, or its code is not a release's.

    Args:
        mark: The frame that :func:`failing_mark` found.
        wrapped: Whether the mistake came to light in a wrapper that it called.
        failure: Of the failed start.
    """
    trace = failure.trace
    if mark is None or trace is None:
        return None
    from ...corpus.code_lines import FILE, FUNCTION, index

    known = index()
    told = failure.told.partition("+")[0]
    if told and in_range(told, f">={known.releases[0]}") is not True:
        return None
    names = [found[1] for found in _NAMED.finditer(trace.message)]
    fate = known.fate(mark.path, mark.function, mark.code, told or failure.release, names)
    if fate is None and not told:
        # The newest that can have written the log no longer has it: the line tells that an older one did.
        fate = known.fate(mark.path, mark.function, mark.code, "", names)
    if fate is None or fate.gone == FILE or (wrapped and not fate.release):
        # A file goes with what it was for, and that is no cure; behind a wrapper of vLLM's own the cure may be in there.
        return None
    return FailingLine(mark, fate.release, fate.gone == FUNCTION, known.releases[-1])


def _mistaken(trace: Trace) -> bool:
    """Return whether an exception can be that of a mistake in Python code."""
    if _MACHINE.search(trace.message):
        return False
    return trace.kind in _FAULTS or (trace.kind in _OPEN and _MISTAKEN.search(trace.message) is not None)


def _raised_at(trace: Trace) -> tuple[FrameMark | None, bool]:
    """Return the innermost frame of vLLM, where nothing but Python and torch was called from there, and whether a wrapper was."""
    frames = trace.frames
    wrapped = False
    for at in range(len(frames) - 1, -1, -1):
        if _BELOW.search(frames[at].path):
            continue
        mark = own_mark(frames[at])
        code = _NUMBER.sub("", mark.code) if mark is not None else ""
        if mark is None or code.startswith("raise "):
            # Another package's, or raised on purpose: the words tell more than the line.
            return None, False
        if not _GENERIC.fullmatch(mark.path) or (mark.path == _KERNELS and code.startswith("assert")):
            return replace(mark, function=_function(frames, at), code=code), wrapped
        wrapped = True
    return None, False


def own_mark(frame: Frame) -> FrameMark | None:
    """Return where in vLLM a frame stands, also where it has no line number; None where it is another package's."""
    path = short_path(frame.path)
    return FrameMark(path, frame.function, frame.number, frame.code) if path else None


def _function(frames: Sequence[Frame], at: int) -> str:
    """Return the function in which a line stands: of a comprehension, the one around it."""
    path = frames[at].path
    while at > 0 and _INNER.fullmatch(frames[at].function) and frames[at - 1].path == path:
        at -= 1
    return frames[at].function.rpartition(".")[2]
