"""An incident as OpenTelemetry's log record: an event with semantic attributes, and ours beside them."""

from __future__ import annotations

import time
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber

from ...classifier.version import version
from .interface import Event

EVENT = "vllm_triage.incident"
"""Name of the event."""


def export(event: Event) -> bytes:
    """Return the request that exports one record."""
    request = ExportLogsServiceRequest()
    resource = request.resource_logs.add()
    _set(resource.resource.attributes, "service.name", event.service or "vllm")
    scope = resource.scope_logs.add()
    scope.scope.name, scope.scope.version = "vllm-triage", version()
    record = scope.log_records.add(event_name=EVENT)
    record.time_unix_nano = record.observed_time_unix_nano = time.time_ns()
    unknown = event.report.bucket == "unknown"
    record.severity_number = SeverityNumber.SEVERITY_NUMBER_WARN if unknown else SeverityNumber.SEVERITY_NUMBER_ERROR
    record.severity_text = "WARN" if unknown else "ERROR"
    record.body.string_value = ". ".join(part for part in (event.report.title, event.report.summary) if part)
    for name, value in attributes(event).items():
        _set(record.attributes, name, value)
    made: bytes = request.SerializeToString()
    return made


def attributes(event: Event) -> dict[str, str | float | int | bool]:
    """Return the record's attributes; what is not known is absent."""
    report, incident = event.report, event.incident
    proof = next((item.text for item in report.evidence if not item.mark), "")
    told: dict[str, str | float | int | bool] = {
        "error.type": report.cause,
        "log.record.uid": event.id,
        "log.record.original": proof,
        "log.file.name": event.name,
        "url.full": event.link,
        "vllm_triage.bucket": report.bucket,
        "vllm_triage.cause": report.cause,
        "vllm_triage.confidence": report.confidence,
        "vllm_triage.decided_by": report.decided_by,
        "vllm_triage.reached": report.startup.reached,
        "vllm_triage.fix": report.fixes[0].change or report.fixes[0].title if report.fixes else "",
        "vllm_triage.corrected_command": report.corrected_command,
        "vllm_triage.vllm_version": str(report.facts.get("vllm_version", "")),
        "vllm_triage.model": str(report.facts.get("model", "")),
    }
    if incident is not None:
        told |= {
            "vllm_triage.incident.id": incident.id,
            "vllm_triage.incident.fingerprint": incident.fingerprint,
            "vllm_triage.incident.occurrences": incident.occurrences,
            "vllm_triage.incident.new": incident.new,
        }
    return {name: value for name, value in told.items() if value != ""}


def _set(pairs: Any, name: str, value: str | float | bool) -> None:
    made = pairs.add(key=name).value
    # A truth is a whole number, too.
    kind = {bool: "bool_value", int: "int_value", float: "double_value"}.get(type(value), "string_value")
    setattr(made, kind, value)
