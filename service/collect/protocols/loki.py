"""Loki's push API: Alloy, Promtail, Fluent Bit, Vector, the Docker driver."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import cramjam
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory, timestamp_pb2

from ..entries import Entry, name_of
from ..registry import FormError

PATH = "/loki/api/v1/push"
ABOUT = "Grafana Alloy, Promtail, Fluent Bit (`loki`), Vector (`loki`), Docker's Loki driver"
JSON, PROTOBUF = "application/json", "application/x-protobuf"
TYPES = (PROTOBUF, JSON)
STATUS = 204
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*("(?:[^"\\]|\\.)*")')


def read(body: bytes, media_type: str, query: Mapping[str, str], most: int) -> list[Entry]:
    """Return the records of a push."""
    del query
    return _of_json(body) if media_type == JSON else _of_protobuf(body, most)


def reply(media_type: str) -> bytes:
    """Return nothing: the status says it all."""
    del media_type
    return b""


def _of_json(body: bytes) -> list[Entry]:
    try:
        streams = json.loads(body)["streams"]
        return [
            Entry(name, int(value[0]), str(value[1]))
            for stream in streams
            for name in [name_of(stream["stream"])]
            for value in stream["values"]
        ]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise FormError(
            'a push is {"streams": [{"stream": {LABEL: VALUE}, "values": [["NANOSECONDS", "LINE"]]}]}'
        ) from None


def _of_protobuf(body: bytes, most: int) -> list[Entry]:
    try:
        if cramjam.snappy.decompress_raw_len(body) > most:
            raise FormError(f"a push may have {most} bytes after unpacking")
        push = push_request()()
        push.ParseFromString(bytes(cramjam.snappy.decompress_raw(body)))
    except (cramjam.DecompressionError, message.DecodeError, ValueError):
        raise FormError("the body is not a PushRequest, packed with snappy") from None
    return list(_entries(push.streams))


def _entries(streams: Iterable[Any]) -> Iterable[Entry]:
    for stream in streams:
        name = name_of(labels_of(stream.labels))
        for entry in stream.entries:
            yield Entry(name, entry.timestamp.seconds * 10**9 + entry.timestamp.nanos, entry.line)


def labels_of(text: str) -> dict[str, object]:
    """Return labels as Loki writes them: ``{app="vllm", pod="a"}``."""
    found: dict[str, object] = {}
    for name, value in _LABEL.findall(text):
        try:
            found[name] = json.loads(value)
        except ValueError:
            # Go knows escapes that JSON does not.
            found[name] = value[1:-1]
    return found


@cache
def push_request() -> type[message.Message]:
    """Return the class of ``logproto.PushRequest``, of which no package for Python exists; only what is read here."""
    file = descriptor_pb2.FileDescriptorProto(name="vllm_triage/push.proto", package="logproto", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in (
        ("EntryAdapter", (("timestamp", 1, False, ".google.protobuf.Timestamp"), ("line", 2, False, ""))),
        ("StreamAdapter", (("labels", 1, False, ""), ("entries", 2, True, ".logproto.EntryAdapter"))),
        ("PushRequest", (("streams", 1, True, ".logproto.StreamAdapter"),)),
    ):
        made = file.message_type.add(name=name)
        for field, number, repeated, kind in fields:
            made.field.add(
                name=field,
                number=number,
                label=kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL,
                type=kinds.TYPE_MESSAGE if kind else kinds.TYPE_STRING,
                type_name=kind or None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    found: type[message.Message] = message_factory.GetMessageClass(pool.FindMessageTypeByName("logproto.PushRequest"))
    return found
