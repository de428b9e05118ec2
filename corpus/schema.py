"""Reads a rule file into the classes of types.py; what docs/rules.md does not allow is refused with words that say why.

What a key may hold follows from the type of the attribute that it fills: nothing is listed a second time.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from importlib.resources import files
from types import UnionType
from typing import Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from . import actions, kinds
from .actions import packed
from .fact_keys import CONTINUATIONS, READERS, SPEAKERS, STARTS
from .kinds import Level, Role
from .places import CorpusError, Path, Place, complaint, lines_of
from .types import Bucket, Cause, Fix, Rule

__all__ = (
    "FAILURE_LEVELS", "KEYS", "REQUIRED", "ROLES", "CorpusError", "Table", "choices_of", "parse_bucket",
    "parse_text", "table_in",
)  # fmt: skip

ROLES: tuple[Role, ...] = get_args(Role)
FAILURE_LEVELS: tuple[Level, ...] = ("", "ERROR", "CRITICAL")
"""Levels on which a rule for a failure fires where it names none."""

_VERSIONS = re.compile(
    r"^(?:[<>]=?|==|!=)\s*\d+(?:\.\d+)*(?:\.?(?:post|rc|dev)\d+)?(?:\s*,\s*(?:[<>]=?|==|!=)\s*\d+(?:\.\d+)*(?:\.?(?:post|rc|dev)\d+)?)*$"
)
CONDITION = re.compile(r"^[\w:\-\.]+ (?:present|absent|(?:==|!=|<=|>=|<|>|in) .+)$")
_RULE_ID = re.compile(r"^[a-z0-9_\-]+/[a-z0-9][a-z0-9_.\-]*$")
_OF_CAUSE = ("confirmed_by", "refuted_by")
"""Attributes of a rule that its cause's table tells."""
_SLUG = re.compile(r"^[a-z0-9][a-z0-9_.\-]*$")
_TABLES = {"causes": "cause", "rules": "rule", "fixes": "fix"}
"""Attributes that hold tables, and the keys under which these stand in a file."""
_TEXTS = {"does": "change"}
"""Attributes that a file holds as text of their own form."""
_PLAIN: dict[type, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"), int: ((int,), "a whole number"), float: ((float, int), "a number"), str: ((str,), "text"),
}  # fmt: skip
"""For each plain type what a value may be, and what it is called."""
_OF_LINE = re.compile(r" \(at line (\d+), column (\d+)\)$")

Table = Bucket | Cause | Rule | Fix
Made = TypeVar("Made", Bucket, Cause, Rule, Fix)


def parse_text(text: str, file: str) -> Bucket:
    """Build a bucket from the text of a rule file.

    Raises:
        CorpusError: It breaks the format; the message names ``file`` and the line.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _OF_LINE.search(str(error))
        line, message = (int(found[1]), _OF_LINE.sub(r" (column \2)", str(error))) if found else (0, str(error))
        raise CorpusError(complaint(file, line, message)) from None
    return parse_bucket(data, file, lines_of(text))


def parse_bucket(data: Mapping[str, object], file: str, lines: Mapping[Path, int] | None = None) -> Bucket:
    """Build a bucket from a parsed TOML document.

    Args:
        data: The document.
        file: The file's name, for messages.
        lines: Where its tables and keys stand (:func:`places.lines_of`).

    Raises:
        CorpusError: The document breaks the format.
    """
    place = Place(file, lines or {})
    bucket = _build(Bucket, data, place)
    if not _SLUG.match(bucket.id):
        raise CorpusError(place.says(f"id must be lower-case letters, digits, '_' (got {bucket.id!r})", "id"))
    if not 0 <= bucket.yields <= 1:
        raise CorpusError(place.says(f"yields must be from 0 to 1, not {bucket.yields}", "yields"))
    bucket.causes = tuple(_cause(table, spot, bucket.id) for table, spot in _tables(data, "cause", place))
    names = {cause.id for cause in bucket.causes}
    loose = [_rule(table, spot, bucket.id, names) for table, spot in _tables(data, "rule", place)]
    bucket.rules = (*(rule for cause in bucket.causes for rule in cause.rules), *loose)
    known = {cause.id: cause for cause in bucket.causes}
    for rule in bucket.rules:
        if rule.cause:
            rule.confirmed_by, rule.refuted_by = known[rule.cause].confirmed_by, known[rule.cause].refuted_by
    _unique(file, "cause", [(cause.id, cause.line) for cause in bucket.causes])
    _unique(file, "rule", [(rule.name, rule.line) for rule in bucket.rules])
    return bucket


def _cause(table: object, place: Place, bucket: str) -> Cause:
    cause = _build(Cause, table, place)
    if not _SLUG.match(cause.id):
        raise CorpusError(place.says(f"id must be lower-case letters, digits, '_' (got {cause.id!r})", "id"))
    rules = []
    for item, spot in _tables(table, "rule", place):
        if isinstance(item, dict) and "cause" in item:
            raise CorpusError(spot.says("'cause' is the one that it stands in; leave the key out", "cause"))
        within = {**item, "cause": cause.id} if isinstance(item, dict) else item
        rules.append(_rule(within, spot, bucket, {cause.id}))
    for key in _OF_CAUSE:
        for sign in getattr(cause, key):
            if not _RULE_ID.match(sign) and not all(CONDITION.match(part) for part in sign.split(" and ")):
                message = f"{key} {sign!r} is neither a rule's full id nor a condition such as 'enforce_eager == True'"
                raise CorpusError(place.says(message, key))
    cause.rules = tuple(rules)
    cause.fixes = fixes_in(table, place)
    cause.line = place.line()
    return cause


def fixes_in(table: object, place: Place) -> tuple[Fix, ...]:
    """Return the fixes of a table.

    Raises:
        CorpusError: One of them breaks the format.
    """
    return tuple(_fix(item, spot) for item, spot in _tables(table, "fix", place))


@cache
def levers() -> Mapping[str, Mapping[str, object]]:
    """Return the fixes that stand once for all causes that need them, by their ids (``levers.toml``)."""
    rows = tomllib.loads((files(__package__) / "levers.toml").read_text(encoding="utf-8"))["lever"]
    return {row["id"]: {key: value for key, value in row.items() if key != "id"} for row in rows}


def with_lever(table: Mapping[str, object], place: Place) -> Mapping[str, object]:
    """Return a fix's table with what the lever says that it names; what it says itself goes before.

    Raises:
        CorpusError: There is no such lever.
    """
    if "lever" not in table:
        return table
    name = str(table["lever"])
    if name not in levers():
        near = difflib.get_close_matches(name, levers(), 1)
        hint = f"; do you mean {near[0]!r}?" if near else ""
        raise CorpusError(place.says(f"there is no lever {name!r} (corpus/levers.toml){hint}", "lever"))
    return {**levers()[name], **{key: value for key, value in table.items() if key != "lever"}}


def _fix(table: object, place: Place) -> Fix:
    fix = _build(Fix, with_lever(table, place) if isinstance(table, dict) else table, place)

    def refuse(message: str, key: str) -> NoReturn:
        raise CorpusError(place.says(message, key))

    if not fix.cost.strip():
        refuse('cost is empty ("none" where there is none)', "cost")
    if fix.kind in ("flag", "env") and not fix.option:
        refuse(f"a {fix.kind} needs 'option'", "kind")
    if fix.option and fix.kind == "flag" and not fix.option.startswith(("-", "{")):
        refuse(f'option {fix.option!r} is no flag (kind = "env" for a variable)', "option")
    if fix.versions and not _VERSIONS.match(fix.versions):
        refuse(f"versions {fix.versions!r} is no range such as '>=0.8,<0.11'", "versions")
    if fix.fixed_in and not fix.versions:
        refuse("fixed_in needs versions: an upgrade helps the releases before it", "fixed_in")
    for key in ("when", "first_when"):
        for condition in getattr(fix, key):
            if not CONDITION.match(condition):
                refuse(f"{key} {condition!r} is no condition such as 'tensor_parallel_size > 1'", key)
    for key in ("mentions", "unless_mentions", "first_mentions"):
        try:
            re.compile(getattr(fix, key))
        except re.error as error:
            refuse(f"{key} is no regular expression: {error}", key)
    return fix


def _rule(table: object, place: Place, bucket: str, causes: set[str]) -> Rule:
    rule = _build(Rule, table, place)

    def refuse(message: str, key: str = "id") -> NoReturn:
        raise CorpusError(place.says(message, key))

    if not _SLUG.match(rule.id):
        refuse("id must be lower-case letters, digits, '-', '_', '.'")
    if rule.cause and rule.cause not in causes:
        refuse(f"cause {rule.cause!r} is not defined in this file", "cause")
    if rule.role == "cause" and not rule.cause:
        refuse("role 'cause' needs 'cause' (a [[cause]] of this file), or stands within one as [[cause.rule]]", "role")
    if not rule.pattern and not (rule.exception or rule.message or rule.frames or rule.innermost):
        refuse("needs 'pattern' (line rule) or 'exception', 'message', 'frames' (traceback rule)")
    if rule.pattern and rule.message:
        refuse("'message' is for traceback rules; a line rule has 'pattern'", "message")
    if rule.versions and not _VERSIONS.match(rule.versions):
        refuse(f"versions {rule.versions!r} is no range such as '>=0.8,<0.11'", "versions")
    if not rule.match:
        refuse("needs at least one positive example in 'match'")
    _check_fact(rule, refuse)
    if not rule.levels and rule.role in ("cause", "symptom"):
        rule.levels = FAILURE_LEVELS
    rule.line = place.line()
    rule.id = f"{bucket}/{rule.id}"
    rule.bucket = bucket
    return rule


def _check_fact(rule: Rule, refuse: Callable[[str, str], NoReturn]) -> None:
    keys = {"start": STARTS, "reader": READERS, "continues": CONTINUATIONS, "speaker": SPEAKERS}
    for key, allowed in keys.items():
        if value := getattr(rule, key):
            if value not in allowed:
                refuse(f"{key} must be one of {', '.join(map(repr, allowed))}, not {value!r}", key)
            if rule.role != "fact":
                refuse(f"{key!r} is for rules of role 'fact'", key)
    wanted = "command" if rule.continues in ("backslash", "items") else "table"
    if rule.continues and f"(?P<{wanted}>" not in rule.pattern:
        refuse(f"continues = {rule.continues!r} needs a capture {wanted!r} in 'pattern'", "continues")


def _tables(data: object, key: str, place: Place) -> list[tuple[object, Place]]:
    """Return the tables under ``key``, each with its place."""
    found: list[tuple[object, Place]] = []
    for number, item in enumerate(data.get(key, ()) if isinstance(data, dict) else ()):
        told = item if isinstance(item, dict) else {}
        called = told.get("title") or told.get("lever", "?")
        name = f"{place.name}: fix {called!r}" if key == "fix" else f"{key} {told.get('id', '?')}"
        found.append((item, place.inside(key, number, name)))
    return found


def _build(kind: type[Made], table: object, place: Place) -> Made:
    """Make a ``kind`` of a table's plain keys, each checked by the type of its attribute; its tables are left out."""
    if not isinstance(table, dict):
        raise CorpusError(place.says("expected a table"))
    known = KEYS[kind]
    values: dict[str, object] = {}
    for key, value in table.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"; do you mean {near[0]!r}?" if near else f" (known: {', '.join(sorted(known))})"
            raise CorpusError(place.says(f"unknown key {key!r}{hint}", key))
        if wrong := _unlike(value, known[key]):
            raise CorpusError(place.says(f"{key} must be {wrong}", key))
        if table_in(known[key]) is None:
            values[key] = tuple(value) if isinstance(value, list) else value
    if missing := [key for key in REQUIRED[kind] if key not in values]:
        raise CorpusError(place.says(f"missing {', '.join(missing)}"))
    if kind is Fix:
        values = _with_actions(values, place)
    make: Callable[..., Made] = kind
    return make(**values)


def _with_actions(values: dict[str, object], place: Place) -> dict[str, object]:
    """Return a fix's values with its actions in the place of their text."""
    from .action_text import TextError, read_actions

    text, kind, tags = values.pop("change"), values["kind"], values.get("tags", ())
    try:
        actions, remark = read_actions(str(text), str(kind), tags if isinstance(tags, tuple) else ())
    except TextError as error:
        raise CorpusError(place.says(str(error), "change")) from None
    return {**values, "does": packed(actions), "remark": remark}


def _unlike(value: object, hint: object) -> str:
    """Return what a value should have been; "" where it fits the type."""
    if choices := choices_of(hint):
        return "" if value in choices else f"one of {', '.join(map(repr, choices))}, not {value!r}"
    if get_origin(hint) is not tuple:
        kinds, name = _PLAIN[next((kind for kind in _PLAIN if kind in (hint, *get_args(hint))), str)]
        return "" if type(value) in kinds else name
    if table_in(hint):  # each table is looked at by itself
        return "" if isinstance(value, list) else "an array of tables"
    if not isinstance(value, list):
        return "a list"
    told = next((wrong for item in value if (wrong := _unlike(item, get_args(hint)[0]))), "")
    return "a list of texts" if told == "text" else told


def table_in(hint: object) -> type[Table] | None:
    """Return the class of the tables that a type holds; None where it holds texts or a single value."""
    part = get_args(hint)[0] if get_origin(hint) is tuple else None
    return next((kind for kind in (Cause, Rule, Fix) if kind is part), None)


def choices_of(hint: object) -> list[str]:
    """Return the words that a type allows (``Literal``, or a union of such); nothing for other types."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    if get_origin(hint) not in (Union, UnionType):
        return []
    parts = [choices_of(part) for part in get_args(hint)]
    return [word for part in parts for word in part] if all(parts) else []


def _keys(kind: type[Table]) -> dict[str, object]:
    own = [item.name for item in fields(kind) if item.init and not (kind is Rule and item.name in _OF_CAUSE)]
    hints = get_type_hints(kind, localns={**vars(kinds), **vars(actions), "Packed": tuple, "Pattern": re.Pattern})
    keys = {_TABLES.get(name, name): hints[name] for name in own if name != "remark"}
    return {_TEXTS.get(name, name): str if name in _TEXTS else hint for name, hint in keys.items()}


KINDS: tuple[type[Table], ...] = (Bucket, Cause, Rule, Fix)
KEYS: dict[type[object], dict[str, object]] = {kind: _keys(kind) for kind in KINDS}
"""The keys that the table of each class may have, with their types."""
REQUIRED: dict[type[object], list[str]] = {
    kind: [_TEXTS.get(item.name, item.name) for item in fields(kind) if item.init and item.default is MISSING]
    for kind in KINDS
}
"""The keys that it must have."""


def _unique(file: str, kind: str, found: list[tuple[str, int]]) -> None:
    seen: set[str] = set()
    for name, line in found:
        if name in seen:
            raise CorpusError(complaint(file, line, f"{kind} {name!r} stands twice"))
        seen.add(name)
