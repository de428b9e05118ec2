"""What the very message asks for: the correction of what it names, and what the catalogue advises, before what its cause has for all."""

from __future__ import annotations

import re

from ....corpus.records import Record, record, replace
from ....corpus.store import Corpus
from ....corpus.types import Fix as Template
from ...fix import MESSAGE, Fix
from ...matching.types import Hit
from ...patterns.lazy import LazyPattern
from .cause import advise, led_by_the_log, worked_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..context import Context

_KNOWS = ("certain", "strong")
"""Strengths of rules that know more than the words of a library, which vLLM's own rules look at from vLLM's side."""
FRAMES = 3
"""Innermost frames of which one must be the message's own, where its words are anybody's."""
LONGEST = 2000
"""Characters of a message that are looked at."""
_OF_PYDANTIC = LazyPattern(r"[ \t]*\[type=\w+(?:, [^\n]*)?\]?$", re.MULTILINE)
"""What pydantic puts behind a message."""
_NATIVE = LazyPattern(r"\w\.(?:cc|cpp|cu|cuh|c|h|hpp):\d+[\]):]")
_UNEXPECTED = "got an unexpected keyword argument"
_FILLED = ("/", "vllm/config", "vllm/engine/arg_utils", "vllm/entrypoints/")
"""Where arguments come from that a person wrote: files of your own program, and what reads the command line."""
_SLOT = LazyPattern(r"\{(v\d+)\}")
"""A slot without a fallback."""
_PLATFORM = LazyPattern(r"vllm/platforms/(?P<name>cpu|cuda|hpu|neuron|rocm|tpu|xpu)$")
_CLAUSE = LazyPattern(r"(?:;|(?<=[a-z)])\.)\s+")


@record(slots=True, frozen=True)
class Remedy(Record):
    """The fixes of a message, and the values that stand in it."""

    fixes: tuple[Template, ...]
    values: Mapping[str, str]
    words: str
    """Who says the message, and its template: for those who ask why."""

    @property
    def plain(self) -> bool:
        """Return whether the first fix is a sentence: what a value worked out by the cause's says better."""
        return self.fixes[0].kind == "step"


def propose(context: Context) -> Iterator[Fix]:
    """Yield the correction of what the error names, where it settles what was meant; and what is advised for the very message."""
    if context.failed and context.hit is not None and not context.of_request:
        from ...complaints import correct

        yield from correct(context.case)
    remedy = context.remedy
    if remedy is None or context.cause is None:
        return
    own = replace(context.cause, fixes=remedy.fixes)
    captures = {**context.captures, **remedy.values}
    for fix in advise(own, context.facts, captures, context.bound, context.gone, context.say):
        yield replace(fix, tier=MESSAGE)


def remedy_of(context: Context) -> Remedy | None:
    """Return what is advised for the very message; None where nothing is.

    Nor where the log shows which of the cause's fixes to begin with, or has the numbers for the first.
    """
    if context.corpus is None or context.cause is None:
        return None
    remedy = remedy_for(context.hit, context.corpus, str(context.facts.get("platform") or ""))
    if remedy is None or led_by_the_log(context.cause, context.facts, context.captures, context.say):
        return None
    return None if remedy.plain and worked_out(context.cause, context.values, context.say) else remedy


def remedy_for(hit: Hit | None, corpus: Corpus, platform: str = "") -> Remedy | None:
    """Return what is advised for the message of a hit; None where nothing is.

    Args:
        hit: The one that decided; of an exception its own text counts.
        corpus: Holds the remedies.
        platform: ``cuda``, ``rocm`` …; "" where the log does not tell. What another platform says in these words does not count.
    """
    if hit is None or hit.quoted:
        return None
    trace = hit.trace
    text = trace.message if trace is not None and trace.message.strip() else hit.line.text
    places = [frame.path for frame in trace.frames[-FRAMES:]] if trace is not None else ()
    found = corpus.remedies().find(_OF_PYDANTIC.sub("", text[:LONGEST]), places)
    if found is None or (hit.rule.id and hit.rule.strength in _KNOWS and not found.package.startswith("vllm")):
        return None
    if found.package == "python" and _not_pythons(found.template, text, places):
        return None
    if places and _elsewhere(places[-1], found.path):
        return None
    of_platform = _PLATFORM.match(found.path)
    if of_platform and platform and of_platform["name"] != platform:
        return None
    fixes = tuple(fix for each in found.fixes if (fix := _with(each, found.values)) is not None)
    return Remedy(fixes, found.values, f"{found.package} says '{found.template}'") if fixes else None


def _not_pythons(template: str, text: str, places: Sequence[str]) -> bool:
    """Return whether somebody else said what Python says as well, or one package calls another: nobody wrote that argument here."""
    # A C++ library tells of its own sockets and files in the system's words.
    called = _UNEXPECTED in template and bool(places) and not places[-1].startswith(_FILLED)
    return called or _NATIVE.search(text) is not None


def _elsewhere(raised: str, known: str) -> bool:
    """Return whether the same words were raised in another file than the one beside which the fixes were written.

    Files move between folders from release to release; their names stay as a rule.
    """
    inside = known.partition("/")[0]
    if not raised.startswith(f"{inside}/") or raised.endswith("/utils.py"):
        return False
    name = raised.rpartition("/")[2].removesuffix(".py")
    folder = raised.rpartition("/")[0].rpartition("/")[2]
    last = known.rpartition("/")[2]
    return last not in (name, folder) and not (last == "__init__" and known.split("/")[-2] in (name, folder))


def _with(fix: Template, values: Mapping[str, str]) -> Template | None:
    """Return a fix without what hangs on values that could not be read; None where nothing is left of it."""
    texts = [fix.title, *(text for _, *fields in fix.does for each in fields for text in _texts(each))]
    unread = [found for text in texts for found in _SLOT.findall(text) if found not in values]
    if not unread:
        return fix
    slots = [f"{{{name}}}" for name in unread]
    if fix.kind != "step" or any(slot in fix.title for slot in slots):
        return None
    rows = []
    for name, sentence, *rest in fix.does:
        clauses = _CLAUSE.made.split(str(sentence))
        if kept := [clause for clause in clauses if not any(slot in clause for slot in slots)]:
            rows.append((name, sentence if len(kept) == len(clauses) else "; ".join(kept), *rest))
    return replace(fix, does=tuple(rows)) if rows else None


def _texts(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()
