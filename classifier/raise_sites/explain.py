"""Explains an error by the place that raises it: what holds there, which options, keys and fields flow into that, and their values here."""

from __future__ import annotations

from ...corpus.records import Record, record
from ..facts.fingerprint import short_path
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...corpus.raise_sites import Card
    from ..lines.types import Frame, Trace
    from ..situation.releases import ReleaseBound

_WRAPPERS = LazyPattern(
    r"Engine core initialization failed|root cause|died unexpectedly|EngineCore encountered|Background loop"
)
"""Words of errors that only tell of another."""
_CAUGHT = LazyPattern(r"failed with (?:Base)?Exception|was raised before$")
"""Guards of what only passes another exception on: whatever failed is said there."""
_PURPOSE = ("raise", "assert")
_MOST = 2
"""Sources that are named."""
_VARIABLE = LazyPattern(r"[A-Z][A-Z0-9_]+")
_TOLD = LazyPattern(r"(?:^|and )(?P<name>\w+) is (?:set|true)(?= and |$)")
"""A guard that holds where something is asked for."""


@record(frozen=True, slots=True)
class Explained(Record):
    """Why an error was raised.

    Attributes:
        sentence: What holds where it is raised, and what flows into that.
        asked_for: The option that was given and must not be, for the error to stay away; "" where none is.
    """

    sentence: str
    asked_for: str = ""


def explain(text: str, trace: Trace | None, facts: Mapping[str, object], bound: ReleaseBound) -> Explained | None:
    """Return why vLLM raised an error; None where its sources do not tell it for sure.

    Args:
        text: Of the error's line.
        trace: The exception; None where a line alone tells of the error.
        facts: Of the server start.
        bound: The releases that can have written the log.
    """
    card = _card(text, trace, bound)
    if card is None or _CAUGHT.search(card.guard):
        return None
    given = facts.get("arguments")
    arguments: Mapping[str, object] = given if isinstance(given, dict) else {}
    sources = [_source(each, arguments, facts) for each in card.sources[:_MOST]]
    into = f"; into that flows {' and '.join(sources)}" if sources else ""
    where = f"{card.function} in {card.file}"
    return Explained(f"vLLM raises this in {where} where {card.guard}{into}.", _asked_for(card, arguments))


def _card(text: str, trace: Trace | None, bound: ReleaseBound) -> Card | None:
    """Return the card of an error, where all that fit agree."""
    from ...corpus.raise_sites import index

    message = " ".join((trace.message if trace is not None and trace.message.strip() else text).split())
    if _WRAPPERS.search(message):
        return None
    own = _raised_by(trace) if trace is not None and trace.frames else None
    if trace is not None and trace.frames and own is None:
        return None  # another package's, or no error that is raised on purpose
    found = index().by_message(message) if message else []
    if own is not None:
        path, frame = own
        file, function = path.rpartition("/")[2], frame.function.rpartition(".")[2]
        found = [each for each in found if (each.file, each.function) == (file, function)]
        found = found or index().by_line(file, function, frame.code)
    fitting = [each for each in found if _had_by(each, bound)] or found
    return fitting[-1] if fitting and len({(each.file, each.guard) for each in fitting}) == 1 else None


def _raised_by(trace: Trace) -> tuple[str, Frame] | None:
    """Return the frame of vLLM that raised an error on purpose, with its path; None where the innermost is no such frame."""
    frame = trace.frames[-1]
    path = short_path(frame.path)
    return (path, frame) if path and (not frame.code or frame.code.lstrip().startswith(_PURPOSE)) else None


def _had_by(card: Card, bound: ReleaseBound) -> bool:
    wanted = f">={card.first}" + (f",<={card.last}" if card.last else "")
    return bound.within(wanted) is not False


def _source(source: str, arguments: Mapping[str, object], facts: Mapping[str, object]) -> str:
    """Return where a value comes from, with what it is in this log."""
    kind, _, name = source.rpartition(" ")
    if source == "machine":
        return "what the machine or platform is"
    if kind == "config.json":
        return f"{name} of the model's config.json"
    if kind == "request":
        return f"{name} of the request"
    if _VARIABLE.fullmatch(source):
        return f"the variable {source}"
    key = source.lstrip("-").replace("-", "_")
    if key in arguments:
        return f"{source} ({_short(arguments[key])} as given)"
    return f"{source} ({_short(facts[key])} here)" if facts.get(key) is not None else source


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _asked_for(card: Card, arguments: Mapping[str, object]) -> str:
    """Return the one option that was given and for which alone the error is raised."""
    asked = {found["name"] for found in _TOLD.finditer(card.guard)}
    options = [
        each
        for each in card.sources
        if each.startswith("--") and each[2:].replace("-", "_") in asked & arguments.keys()
    ]
    return options[0] if len(options) == 1 else ""
