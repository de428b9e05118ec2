"""What was tested and failed, where a cause's own words hold no value of this log: by the error's words, its raise site, its place."""

from __future__ import annotations

from ...corpus.clues import IDIOM
from ..patterns.lazy import LazyPattern
from ..templates import fill, parted
from .guards import other_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..raise_sites.explain import Explained
    from .context import Context

_LONGEST, _LINE = 90, 200
"""Characters of a line of code and of a compiler's line that are shown."""
_OF_COMPILER = LazyPattern(
    r"(?m)(?:^|[\s/'\"])(?P<said>[\w.\-]{1,120}\.(?:cuh?|cpp|cc|c|h|hpp|py|mlir|ttir|ptx)[:(]\d+(?:[:,]\d+)?\)?: (?:fatal )?error: [^\n]{4,}|ptxas (?:fatal|error) *: (?!Ptx assembly aborted)[^\n]{4,})"
)


def mechanism(context: Context, site: Explained | None) -> str:
    """Return what the error's words mean and which test raised it, else the line of code that failed; "" where nothing tells.

    Args:
        context: Of the failed start.
        site: Why vLLM raised the error, where its sources tell.
    """
    said = [_memory(context) or _compiler(context) or _meaning(context), site.sentence if site is not None else ""]
    return " ".join(filter(None, said)) or _place(context)


def leading(context: Context) -> tuple[str, str]:
    """Return what the clue says that goes before the fixes of a cause: its first sentence, as a title, and the rest."""
    clue = next((found for found in context.clues if found.clue.leads), None)
    if clue is None:
        return "", ""
    values = {**context.captures, **clue.values}
    parts = [text for text, whole in (fill(part, values) for part in parted(clue.clue.says)) if whole]
    return ("".join(parts[:1]).removesuffix("."), " ".join(parts[1:]))


def _memory(context: Context) -> str:
    """Return what was asked for, what was free and who holds the rest, where torch refused an allocation."""
    text, whole = fill(
        "An allocation of {oom_tried} failed: {oom_free} of the GPU's {oom_total} were free.", context.captures
    )
    if not whole:
        return ""
    number, held, _ = other_process(context)
    return f"{text} Process {number} holds {held:g} GiB of it." if held >= 1 else text


def _compiler(context: Context) -> str:
    """Return the first error of a compiler among the words: that a build ended is not why it did."""
    found = _OF_COMPILER.search(context.words) if "error: " in context.words or "ptxas" in context.words else None
    return f"The compiler says: {found['said'].strip()[:_LINE]}" if found is not None else ""


def _meaning(context: Context) -> str:
    """Return what the first clue of the error itself says that is about this error: of a place that can be exchanged the surest alone."""
    for found in context.clues:
        clue = found.clue
        text, whole = fill(clue.says, {**context.captures, **found.values})
        if whole and not clue.own and not found.around and (clue.kind == IDIOM or (clue.sure and not found.depth)):
            return text
    return ""


def _place(context: Context) -> str:
    """Return where the error was raised, with the line of code that did; "" where the stack is cut before that."""
    trace, place = context.trace, str(context.captures.get("frame") or "")
    if trace is None or not trace.kind or "/" not in place:
        return ""
    code = next((each.code.strip() for each in reversed(trace.frames) if f"{each.path}:{each.function}" == place), "")
    part = f", which is part of {context.captures['raised_in']}" if context.captures.get("raised_in") else ""
    by = f", by `{code[:_LONGEST]}`" if code and not code.startswith("raise") else ""
    return f"{trace.kind} was raised at {place}{part}{by}."
