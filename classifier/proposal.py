"""What somebody else concludes from a pack, a language model above all: data that a report takes, checks and shows as what it is.

The form is closed: a sentence, line numbers, at most three fixes as typed actions. Nothing of it is run, and words are shown as words.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..corpus.actions import KINDS, Action, ActionError, Expand, from_json
from ..corpus.records import Record, fields_of, record
from .errors import InputError
from .report.shown import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    Schema = dict[str, object]

FIXES = 3
"""Most fixes of a proposal."""
LINES = 12
"""Most lines that prove it."""
ACTIONS = 8
"""Most actions of one fix."""
SENTENCE = 600
"""Characters of a text, from which on it is cut."""
TITLE = 120
_SIMPLE = frozenset({"name", "values", "value", "package", "spec", "image", "shell", "text"})
"""Fields of actions that are asked for; the others are the compiler's."""


@record(slots=True, frozen=True)
class ProposedFix(Record):
    """One fix of a proposal, as it was proposed: nobody has checked it."""

    title: str
    actions: tuple[Action, ...]
    why: str = ""
    predicts: str = ""
    """What will be seen if it is right."""


@record(slots=True, frozen=True)
class Proposal(Record):
    """What a source outside the rules concludes from a log."""

    source: str
    """Who: the name of a model."""
    cause: str
    """In a sentence; empty where it says that the log does not tell."""
    lines: tuple[int, ...] = ()
    """Numbers of the lines that prove it, from 1."""
    fixes: tuple[ProposedFix, ...] = ()
    confidence: float = 0.0
    """0 to 1, by its own word."""
    missing: str = ""
    """What would have to be seen, where the log does not tell."""

    @classmethod
    def from_json(cls, data: object, source: str) -> Proposal:
        """Return the proposal that a JSON object holds.

        Args:
            data: An object of the form that ``schema`` describes.
            source: Who proposes.

        Raises:
            InputError: It has another form.
        """
        if not isinstance(data, Mapping):
            raise InputError("a proposal is a JSON object")
        confidence = data.get("confidence", 0.0)
        if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
            raise InputError("a proposal's confidence is a number from 0 to 1")
        lines = data.get("lines", [])
        if not isinstance(lines, list) or not all(type(line) is int and line > 0 for line in lines):
            raise InputError("a proposal's lines are numbers from 1")
        fixes = data.get("fixes", [])
        if not isinstance(fixes, list):
            raise InputError("a proposal's fixes are a list")
        return cls(
            source=_sentence(source, "source", TITLE),
            cause=_sentence(data.get("cause", ""), "cause"),
            lines=tuple(dict.fromkeys(lines[:LINES])),
            fixes=tuple(_fix(fix) for fix in fixes[:FIXES]),
            confidence=float(confidence),
            missing=_sentence(data.get("missing", ""), "missing"),
        )


def schema() -> Schema:
    """Return the JSON Schema of a proposal, as structured outputs take it: every key is named, none may be added."""
    text = {"type": "string"}
    kinds = [_action_schema(name, kind) for name, kind in KINDS.items() if kind is not Expand]
    fix = _closed(
        title=text,
        actions={"type": "array", "items": {"anyOf": kinds}, "minItems": 1, "maxItems": ACTIONS},
        why=text,
        predicts=text,
    )
    return _closed(
        cause=text,
        lines={"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": LINES},
        fixes={"type": "array", "items": fix, "maxItems": FIXES},
        confidence={"type": "number", "minimum": 0, "maximum": 1},
        missing=text,
    )


def _closed(**properties: object) -> Schema:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _action_schema(name: str, kind: type[Action]) -> Schema:
    words = {"type": "array", "items": {"type": "string"}}
    asked = {
        own.name: words if own.type.startswith("tuple") else {"type": "string"}
        for own in fields_of(kind)
        if own.name in _SIMPLE or (own.name == "words" and kind.__name__ == "DropWords")
    }
    return _closed(do={"const": name}, **asked)


def _fix(data: object) -> ProposedFix:
    if not isinstance(data, Mapping):
        raise InputError("a proposed fix is a JSON object")
    actions = data.get("actions")
    try:
        made = from_json(actions[:ACTIONS] if isinstance(actions, list) else actions)
    except ActionError as error:
        raise InputError(f"a proposed fix: {error}") from None
    if not made:
        raise InputError("a proposed fix has no action")
    return ProposedFix(
        title=_sentence(data.get("title", ""), "title", TITLE),
        actions=made,
        why=_sentence(data.get("why", ""), "why"),
        predicts=_sentence(data.get("predicts", ""), "predicts"),
    )


def _sentence(value: object, name: str, most: int = SENTENCE) -> str:
    """Return a text on one line, without what a terminal or a page would take for more than words."""
    if not isinstance(value, str):
        raise InputError(f"a proposal's {name} is a text")
    text = shown(" ".join(value.split()))
    return text if len(text) <= most else f"{text[: most - 1]}…"
