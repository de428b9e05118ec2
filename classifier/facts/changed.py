"""Whether vLLM's code was changed: a frame shows a line that no release has in that function."""

from __future__ import annotations

from collections.abc import Sequence

from ..patterns.lazy import LazyPattern
from .fingerprint import short_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..lines.types import Frame

INDEXED = ">=0.5.3"
"""Releases whose lines of code are known, as are those of the one before."""
INNERMOST = 8
"""Frames that are looked at: what was changed fails near to where the error is raised."""
KNOWN = 3
"""Lines of the same stack that releases must have: else its release is not among those that are known."""
_TOLD = LazyPattern(r"(?!raise\b|(?:async )?def |import |from |yield\b|[\d\[-])[^…]*\([^…]*(?<!\.\.\.)$")
"""Lines of calls that are whole: what raises and what defines is not in the index, what was cut or wrapped is in no release."""


def changed_in(frames: Sequence[Frame]) -> str:
    """Return file and function of the innermost line that no release has; "" where the stack shows none, or mostly such.

    Args:
        frames: Of one exception, the innermost last.
    """
    from ...corpus.code_lines import index

    lines = index()
    known, odd = 0, []
    for frame in reversed(frames[-INNERMOST:]):
        path = short_path(frame.path)
        if (
            not path
            or not frame.code
            or not frame.function.isidentifier()
            or not lines.has(path[:-3].replace("/", "."))
        ):
            continue
        if not _TOLD.match(frame.code):
            continue
        if lines.fate(path, frame.function, frame.code) is not None:
            known += 1
        elif frame.code.count("(") >= frame.code.count(")") and (frame.code[-1].isalnum() or frame.code[-1] in "(),]:"):
            odd.append(f"{path}:{frame.function}")
    return odd[0] if odd and known >= max(KNOWN, len(odd)) else ""
