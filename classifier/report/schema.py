"""What pydantic makes of the report: its JSON Schema, and the way back from JSON. Imported where that is asked for."""

from __future__ import annotations

import json
from functools import cache

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import JsonSchemaValue

from ..errors import InputError
from .model import Report


@cache
def adapter() -> TypeAdapter[Report]:
    """Return what validates reports."""
    return TypeAdapter(Report)


def json_schema() -> JsonSchemaValue:
    """Return the JSON Schema of what ``Report.to_json`` returns."""
    return adapter().json_schema(mode="serialization")


def read(data: str | bytes) -> Report:
    """Read a report from JSON.

    Raises:
        InputError: It is none.
    """
    try:
        return report_of(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise InputError(f"no report: {error}") from None


def report_of(values: object) -> Report:
    """Return the report that plain values say (``Report.to_dict`` is the other way).

    Raises:
        InputError: They say none.
    """
    try:
        return adapter().validate_python(values)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(f"no report: {where + ': ' if where else ''}{error.errors()[0]['msg']}") from None
