"""OTLP out: a record that OpenTelemetry's own classes read, with attributes that are in its conventions."""

from __future__ import annotations

import pytest

from tests.service.chat.loopback import Loopback, Reply, wait_until
from tests.service.samples import failure, unknown
from vllm_triage.service.chat.interface import Event
from vllm_triage.service.chat.platforms.otlp import OtlpSettings

logs = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
LOG = b"INFO: start\nValueError: No available memory for the cache blocks.\n"


def read(body: bytes):
    request = logs.ExportLogsServiceRequest.FromString(body)
    (resource,) = request.resource_logs
    (record,) = resource.scope_logs[0].log_records
    told = {}
    for pair in record.attributes:
        told[pair.key] = getattr(pair.value, pair.value.WhichOneof("value"))
    return resource.resource.attributes[0].value.string_value, record, told


def test_the_record_is_an_event_with_attributes():
    from vllm_triage.service.chat.otlp_record import export

    service, record, told = read(export(Event(failure().report, service="chat", id="msg_1", link="https://t/i")))

    assert (service, record.event_name, record.severity_text) == ("chat", "vllm_triage.incident", "ERROR")
    assert record.body.string_value.startswith("The KV cache cannot hold one request")
    assert (told["error.type"], told["vllm_triage.confidence"], told["log.record.uid"], told["url.full"]) == (
        "kv_cache_oom/context_exceeds_cache", 0.97, "msg_1", "https://t/i",
    )  # fmt: skip
    assert "log.file.name" not in told
    assert read(export(Event(unknown().report)))[1].severity_text == "WARN"


def test_names_that_are_not_ours_are_opentelemetrys():
    from vllm_triage.service.chat.otlp_record import export

    incubating = pytest.importorskip("opentelemetry.semconv._incubating.attributes.log_attributes")
    from opentelemetry.semconv.attributes import error_attributes, url_attributes

    known = {
        value
        for module in (incubating, error_attributes, url_attributes)
        for value in vars(module).values()
        if isinstance(value, str)
    }
    told = read(export(Event(failure().report, name="server.log", id="m", link="https://t/i")))[2]

    assert {name for name in told if not name.startswith("vllm_triage.")} <= known


def test_an_incident_is_exported_once_and_tried_again(serve):
    with Loopback() as backend:
        backend.planned.append(Reply(503))
        service = serve(otlp=OtlpSettings(url=f"{backend.url}/otlp/", headers={"Authorization": "Bearer s3cret"}))
        for _ in range(3):
            report, incident = service.chat.context.triage(LOG, service="chat")
            service.chat.notify(report, incident, service="chat")
        wait_until(lambda: len(backend.calls) == 2)
        service.settle()
        ids = [read(call.body)[2]["log.record.uid"] for call in backend.calls]

    assert [call.path for call in backend.calls] == ["/otlp/v1/logs"] * 2
    assert {call.headers["authorization"] for call in backend.calls} == {"Bearer s3cret"}
    assert (len(set(ids)), len(ids)) == (1, 2)
