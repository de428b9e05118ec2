"""What somebody else concludes from a pack, a language model above all: data that a report takes, checks and shows as what it is.

The form is closed: a sentence, line numbers, at most three fixes as typed actions. Nothing of it is run, and words are shown as words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..corpus.actions import KINDS, Action, ActionError, from_json
from ..corpus.records import Record, fields_of, record
from .errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    Schema = dict[str, object]

OVERRULED = "it mends another cause than the proposal names that stands first"
BEHIND = "such advice is seldom right behind a proposal"
"""Why a rule's fix is not shown beside a proposal."""
FIXES = 3
"""Most fixes of a proposal."""
LINES = 12
"""Most lines that prove it."""
ACTIONS = 8
"""Most actions of one fix."""
SENTENCE = 600
"""Characters of a text, from which on it is cut."""
TITLE = 120
FORM = {
    "set_option": ("name", "values"), "drop_option": ("name",), "drop_words": ("words",), "set_variable": ("name", "value"),
    "drop_variable": ("name",), "install": ("package", "spec"), "uninstall": ("package",), "use_image": ("image",), "run": ("shell",),
    "change_request": ("text",), "wait": ("text",), "look": ("text",), "step": ("text",),
}  # fmt: skip
"""Actions that may be proposed, with the keys that each has; other keys of an action are the compiler's."""


@record(slots=True, frozen=True)
class ProposedFix(Record):
    """One fix of a proposal, as it was proposed: nobody has checked it."""

    title: str
    actions: tuple[Action, ...]
    why: str = ""
    predicts: str = ""
    """What will be seen if it is right."""
    problem: str = ""
    """Why it has no actions: what was proposed is none of those that there are."""


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
    candidate: str = ""
    """The cause of the rules that it holds to be right, by id; empty where none is."""
    texts: tuple[str, ...] = ()
    """What the lines said when it was made, one for each; empty where nobody noted it down."""

    @classmethod
    def from_json(cls, data: object, source: str) -> Proposal:
        """Return the proposal that a JSON object holds.

        Args:
            data: An object of the form that ``schema`` describes.
            source: Who proposes.

        Raises:
            InputError: It has another form. A fix whose actions have is kept without them, with its ``problem``.
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
            candidate=_sentence(data.get("candidate", ""), "candidate", TITLE),
        )

    def to_dict(self) -> dict[str, object]:
        """Return the object that ``from_json`` reads, but for fixes that were none."""
        fixes = [
            {"title": fix.title, "actions": [_told(each) for each in fix.actions], "why": fix.why, "predicts": fix.predicts}
            for fix in self.fixes
            if fix.actions
        ]  # fmt: skip
        return {
            "cause": self.cause, "candidate": self.candidate, "lines": list(self.lines), "fixes": fixes, "confidence": self.confidence,
            "missing": self.missing,
        }  # fmt: skip


@record(slots=True, frozen=True)
class Heard(Record):
    """A proposal, held against the lines that were shown to who made it."""

    proposal: Proposal
    lines: tuple[tuple[int, str], ...] = ()
    """Of those that it names, the ones that were shown: numbers and texts."""
    problem: str = ""
    """Why no line proves it; empty where one does."""
    variables: frozenset[str] = frozenset()
    """Of vLLM or a fork of it, that those lines name which were shown."""


def schema() -> Schema:
    """Return the JSON Schema of a proposal, as structured outputs take it: every key is named, none may be added."""
    text = {"type": "string"}
    kinds = [
        _closed(do={"const": name}, **{key: _list_of(text) if key in ("values", "words") else text for key in keys})
        for name, keys in FORM.items()
    ]
    fix = _closed(title=text, actions=_list_of({"anyOf": kinds}, ACTIONS, minItems=1), why=text, predicts=text)
    return _closed(
        cause=text,
        candidate=text,
        lines=_list_of({"type": "integer", "minimum": 1}, LINES),
        fixes=_list_of(fix, FIXES),
        confidence={"type": "number", "minimum": 0, "maximum": 1},
        missing=text,
    )


def _closed(**properties: object) -> Schema:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _list_of(items: object, most: int = ACTIONS, **more: object) -> Schema:
    return {"type": "array", "items": items, "maxItems": most, **more}


def _fix(data: object) -> ProposedFix:
    if not isinstance(data, Mapping):
        raise InputError("a proposed fix is a JSON object")
    title = _sentence(data.get("title", ""), "title", TITLE)
    why, predicts = (_sentence(data.get(name, ""), name) for name in ("why", "predicts"))
    items = data.get("actions")
    try:
        made = from_json([_item(each) for each in items[:ACTIONS]] if isinstance(items, list) else items)
        return ProposedFix(title, made, why, predicts, "" if made else "it has no action")
    except ActionError as error:
        return ProposedFix(title, (), why, predicts, _sentence(str(error), "problem"))


def _item(item: object) -> object:
    """Return an action as JSON has it, with the keys that may be proposed alone, and numbers as texts.

    Raises:
        ActionError: It is none that may be proposed.
    """
    if not isinstance(item, Mapping) or str(item.get("do")) not in FORM:
        raise ActionError(f"'do' must be one of {', '.join(FORM)}")
    keys = FORM[str(item["do"])]
    if strange := next((name for name in item if name not in ("do", *keys)), ""):
        raise ActionError(f"{item['do']} has no {strange!r} (known: {', '.join(keys)})")
    return {name: list(map(_text, value)) if isinstance(value, list) else _text(value) for name, value in item.items()}


def _text(value: object) -> object:
    """Return a value as a text: servers without structured outputs answer with numbers and JSON, too."""
    text = value if isinstance(value, str) or value is None else json.dumps(value)
    return _line(text)[:SENTENCE] if isinstance(text, str) else text


def _told(action: Action) -> dict[str, object]:
    name = next(name for name, kind in KINDS.items() if kind is type(action))
    told = {own.name: getattr(action, own.name) for own in fields_of(type(action)) if own.name in FORM[name]}
    return {"do": name, **{key: list(value) if isinstance(value, tuple) else value for key, value in told.items()}}


def _sentence(value: object, name: str, most: int = SENTENCE) -> str:
    """Return a text on one line, without what a terminal or a page would take for more than words."""
    if not isinstance(value, str):
        raise InputError(f"a proposal's {name} is a text")
    text = _line(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in " ".join(text.split()))
