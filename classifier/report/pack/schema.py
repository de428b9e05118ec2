"""What pydantic makes of a pack: its JSON Schema, and the way back from plain values. Imported where that is asked for."""

from __future__ import annotations

from functools import cache

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import JsonSchemaValue

from ...errors import InputError
from ..model import Report
from .model import LARGEST, Pack


@cache
def adapter() -> TypeAdapter[Pack]:
    """Return what validates packs."""
    return TypeAdapter(Pack)


def json_schema() -> JsonSchemaValue:
    """Return the JSON Schema of a pack (``Report.pack``)."""
    return adapter().json_schema(mode="serialization")


def pack_of(values: object) -> Pack:
    """Return the pack that plain values say.

    Raises:
        InputError: They say none.
    """
    try:
        return adapter().validate_python(values)
    except ValidationError as error:
        raise InputError(f"no pack: {error.errors()[0]['msg']}") from None


def with_pack(report: Report, budget: int = LARGEST) -> dict[str, object]:
    """Return the plain values of a report with a pack of it, for what leaves the process that read the log.

    ``report.schema.report_of`` is the way back.
    """
    kept = {"kept": report.pack(budget).to_dict()} if report.kept is not None else {}
    return {**report.to_dict(), **kept}
