"""OTLP/HTTP logs: the OpenTelemetry Collector and SDKs, Alloy, Vector, Fluent Bit (``opentelemetry``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.protobuf import json_format, message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse

from ..entries import Entry, name_of
from ..registry import FormError

PATH = "/v1/logs"
ABOUT = "OpenTelemetry Collector and SDKs, Alloy, Vector, Fluent Bit (`opentelemetry`)"
JSON, PROTOBUF = "application/json", "application/x-protobuf"
TYPES = (PROTOBUF, JSON)
STATUS = 200


def read(body: bytes, media_type: str, query: Mapping[str, str], most: int) -> list[Entry]:
    """Return the records of an export."""
    del query, most
    request = ExportLogsServiceRequest()
    try:
        if media_type == JSON:
            json_format.Parse(body, request, ignore_unknown_fields=True)
        else:
            request.ParseFromString(body)
    except (json_format.ParseError, message.DecodeError, UnicodeDecodeError, ValueError):
        raise FormError("the body is not an ExportLogsServiceRequest") from None
    return list(_entries(request.resource_logs))


def reply(media_type: str) -> bytes:
    """Return that all was taken."""
    answer = ExportLogsServiceResponse()
    return b"{}" if media_type == JSON else answer.SerializeToString()


def _entries(resources: Iterable[Any]) -> Iterator[Entry]:
    for resource in resources:
        told = _attributes(resource.resource.attributes)
        name = name_of(told)
        for scope in resource.scope_logs:
            for record in scope.log_records:
                # Agents that read files know the pod for each record only.
                own = name_of(_attributes(record.attributes) | told) if not told else name
                time = record.time_unix_nano or record.observed_time_unix_nano
                yield Entry(own, time, _text(record.body))


def _attributes(pairs: Iterable[Any]) -> dict[str, object]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> object:
    kind = value.WhichOneof("value")
    return getattr(value, kind) if kind in ("string_value", "int_value") else ""


def _text(body: Any) -> str:
    if body.WhichOneof("value") == "string_value":
        return str(body.string_value)
    if body.WhichOneof("value") == "kvlist_value":
        fields = _attributes(body.kvlist_value.values)
        for name in ("message", "log", "body"):
            if isinstance(fields.get(name), str):
                return str(fields[name])
    return json_format.MessageToJson(body, indent=None) if body.WhichOneof("value") else ""
