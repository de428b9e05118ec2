"""Bodies as collectors send them, into lines of streams."""

from __future__ import annotations

import json

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from vllm_triage.service.collect.entries import Entry, StreamName, gathered, name_of
from vllm_triage.service.collect.protocols import loki, otlp, records
from vllm_triage.service.collect.registry import FormError, load, names

POD = StreamName("chat", "prod", "chat-0", "vllm", "")
MOST = 1 << 20


def loki_json(**labels: str) -> bytes:
    values = [["1700000000000000001", "one"], ["1700000000000000002", "two", {"trace_id": "7"}]]
    return json.dumps({"streams": [{"stream": labels, "values": values}]}).encode()


def loki_push(labels: str, *lines: str) -> bytes:
    push = loki.push_request()()
    stream = push.streams.add(labels=labels)
    for number, line in enumerate(lines):
        entry = stream.entries.add(line=line)
        entry.timestamp.seconds, entry.timestamp.nanos = 1_700_000_000, number
    return bytes(cramjam.snappy.compress_raw(push.SerializeToString()))


def test_loki_as_json():
    body = loki_json(
        service_name="chat", namespace="prod", pod="chat-0", container="vllm", stream="stderr", level="error"
    )

    assert loki.read(body, loki.JSON, {}, MOST) == [
        Entry(POD, 1700000000000000001, "one"),
        Entry(POD, 1700000000000000002, "two"),
    ]


def test_loki_as_protobuf():
    body = loki_push(
        r'{service_name="chat", namespace="prod", pod="chat-0", container="vllm", x="a\"b,c=\"d"}', "one", "two"
    )

    assert [(entry.stream, entry.text) for entry in loki.read(body, loki.PROTOBUF, {}, MOST)] == [
        (POD, "one"),
        (POD, "two"),
    ]


def test_what_is_packed_too_well_is_refused_before_it_is_unpacked():
    with pytest.raises(FormError, match="after unpacking"):
        loki.read(loki_push('{a="b"}', "x" * 100_000), loki.PROTOBUF, {}, 10_000)


def export() -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    resource = request.resource_logs.add()
    for key, value in (
        ("service.name", "chat"), ("k8s.namespace.name", "prod"), ("k8s.pod.name", "chat-0"), ("k8s.container.name", "vllm"),
    ):  # fmt: skip
        resource.resource.attributes.add(key=key).value.string_value = value
    scope = resource.scope_logs.add()
    scope.log_records.add(time_unix_nano=5).body.string_value = "one"
    fields = scope.log_records.add(observed_time_unix_nano=6).body.kvlist_value
    fields.values.add(key="message").value.string_value = "two"
    scope.log_records.add(time_unix_nano=7).body.int_value = 3
    return request


@pytest.mark.parametrize("kind", otlp.TYPES)
def test_otlp(kind):
    from google.protobuf import json_format

    body = export().SerializeToString() if kind == otlp.PROTOBUF else json_format.MessageToJson(export()).encode()
    found = otlp.read(body, kind, {}, MOST)

    assert [(entry.stream, entry.time) for entry in found] == [(POD, 5), (POD, 6), (POD, 7)]
    assert [entry.text for entry in found][:2] == ["one", "two"]


def test_otlp_names_the_pod_for_each_record_where_the_resource_does_not():
    request = ExportLogsServiceRequest()
    records_ = request.resource_logs.add().scope_logs.add().log_records
    for pod in ("a", "b"):
        record = records_.add()
        record.body.string_value = pod
        record.attributes.add(key="k8s.pod.name").value.string_value = pod

    assert [entry.stream.pod for entry in otlp.read(request.SerializeToString(), otlp.PROTOBUF, {}, MOST)] == ["a", "b"]


KUBERNETES = {"namespace_name": "prod", "pod_name": "chat-0", "container_name": "vllm", "docker_id": "abc"}


@pytest.mark.parametrize(
    ("body", "query", "expected"),
    [
        # Fluent Bit's http output, format json, behind its kubernetes filter.
        ([{"date": 1700000000.5, "log": "one\n", "kubernetes": KUBERNETES}], {}, [Entry(StreamName("", "prod", "chat-0", "vllm", "abc"), 1700000000500000000, "one\n")]),
        # Vector's http sink behind kubernetes_logs.
        ([{"message": "one", "timestamp": "2023-11-14T22:13:20Z", "kubernetes": {"pod_name": "p", "pod_namespace": "n", "container_name": "c"}}], {}, [Entry(StreamName("", "n", "p", "c", ""), 1700000000000000000, "one")]),
        # Vector behind docker_logs.
        ([{"message": "one", "container_name": "vllm-1", "container_id": "f00", "host": "node"}], {}, [Entry(StreamName("", "", "node", "vllm-1", "f00"), 0, "one")]),
        # A file of Docker's, which does not tell whose it is.
        ([{"log": "one\n", "stream": "stderr", "time": "2023-11-14T22:13:20.123456789Z"}], {"container": "vllm"}, [Entry(StreamName(container="vllm"), 1700000000123456000, "one\n")]),
        # Nothing to read.
        ([{"cpu": 7}], {}, []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["array", "lines", "one after the other"])
def test_records(body, query, expected, form):
    data = (
        json.dumps(body)
        if form == "array"
        else {"lines": "\n", "one after the other": ""}[form].join(map(json.dumps, body))
    )

    assert records.read(data.encode(), "application/json", query, MOST) == expected


def test_a_stream_without_known_labels_is_named_by_all_of_them():
    """What parts one process's output (its level, its stream) is left out."""
    assert name_of({"b": "2", "a": "1", "level": "info", "stream": "stdout"}) == StreamName(pod="a=1,b=2")


def test_lines_of_a_stream_stand_in_the_order_of_their_times():
    """Standard output and standard error come apart."""
    one, other = StreamName(pod="a"), StreamName(pod="b")
    entries = [Entry(one, 3, "c"), Entry(one, 1, "a"), Entry(other, 1, "x"), Entry(one, 2, "b\n"), Entry(one, 0, "b2")]

    assert gathered(entries) == {one: b"a\nb\nb2\nc\n", other: b"x\n"}


@pytest.mark.parametrize("name", names())
@given(body=st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_body_is_read_or_refused(name, body):
    protocol = load(name)
    for kind in protocol.TYPES:
        try:
            found = protocol.read(body, kind, {}, MOST)
        except FormError:
            continue
        assert all(isinstance(entry.text, str) for entry in found)


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{}",
        b'{"streams": 7}',
        b'{"streams": [7]}',
        b'{"streams": [{"stream": {}, "values": [["x", "y"]]}]}',
        b"[[1]]",
        b"null",
        b"7",
        b'{"resourceLogs": 7}',
        b"[" * 10_000,
    ],
)
@pytest.mark.parametrize("name", names())
def test_json_that_is_something_else(name, body):
    protocol = load(name)
    try:
        assert protocol.read(body, "application/json", {}, MOST) == []
    except FormError:
        return
