"""The format of rule files as JSON Schema, for editors that complete and check TOML by one."""

from __future__ import annotations

from typing import get_args, get_origin

from .schema import KEYS, REQUIRED, Table, choices_of, levers, table_in
from .types import Bucket, Fix

_PLAIN: dict[type, str] = {bool: "boolean", int: "integer", float: "number"}
TITLE = "A rule file of vllm-triage"


def json_schema() -> dict[str, object]:
    """Return the schema of a rule file, by the classes that it is read into."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": TITLE, **_table(Bucket)}


def _table(kind: type[Table]) -> dict[str, object]:
    properties = {key: _value(hint) for key, hint in KEYS[kind].items()}
    made: dict[str, object] = {"type": "object", "additionalProperties": False, "properties": properties}
    if kind is not Fix:
        return {**made, "required": REQUIRED[kind]}
    # What a lever says need not be said again.
    properties["lever"] = {"enum": sorted(levers())}
    return {**made, "anyOf": [{"required": ["lever"]}, {"required": REQUIRED[kind]}]}


def _value(hint: object) -> dict[str, object]:
    if choices := choices_of(hint):
        return {"enum": choices}
    if get_origin(hint) is tuple:
        table = table_in(hint)
        return {"type": "array", "items": _table(table) if table else _value(get_args(hint)[0])}
    return {"type": next((name for kind, name in _PLAIN.items() if kind in (hint, *get_args(hint))), "string")}
