"""What is fuzzed: each reader with the inputs it begins with, and the errors by which it may refuse one."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import lzma
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import zstandard
from starlette.requests import Request

from vllm_triage.classifier.api import Triage, shared
from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.input.json_lines import unwrap_json
from vllm_triage.classifier.input.read import Chunks, read_blocks
from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.masking.mask import mask, mask_lines
from vllm_triage.classifier.report.model import Report
from vllm_triage.corpus.store import HERE
from vllm_triage.service.batch.archives import members
from vllm_triage.service.batch.asking import Asking
from vllm_triage.service.batch.log import Log
from vllm_triage.service.batch.store.formats import format_named
from vllm_triage.service.batch.store.pending import plain
from vllm_triage.service.batch.work import rows_of
from vllm_triage.service.collect.entries import StreamName
from vllm_triage.service.collect.registry import FormError, load
from vllm_triage.service.collect.streams import Streams, Verdict
from vllm_triage.service.http.bodies import _unpacked
from vllm_triage.service.http.multipart import Form
from vllm_triage.service.http.problems import Problem
from vllm_triage.service.http.settings import Settings
from vllm_triage.service.render import interface

LOGS = Path(HERE) / "logs"
SMALL = 24_000
"""Bytes of a log that inputs begin with."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Something that reads what strangers give.

    Args:
        read: Reads an input; what it returns tells inputs apart that it took in different ways.
        seeds: Returns what inputs begin with.
        refuses: The errors by which it may say that it cannot read one.
    """

    read: Callable[[bytes], Hashable]
    seeds: Callable[[], list[bytes]]
    refuses: tuple[type[Exception], ...] = ()


@cache
def _engine() -> Triage:
    return shared()


@cache
def logs() -> list[bytes]:
    """Return small logs of all kinds: recorded ones, written ones."""
    found = sorted(path for path in LOGS.rglob("*.log") if path.stat().st_size < SMALL)
    return [path.read_bytes() for path in found[:: max(1, len(found) // 120)]]


def _log(data: bytes) -> Hashable:
    report = _engine().report(data)
    for name in interface.names():
        interface.render(
            name, [interface.Result("-", report)], interface.Options(verbose=True, explain=True, color="never")
        )
    report.pack(2_000).prompt()
    again = Report.from_json(report.to_json())
    return (
        report.cause,
        report.decided_by,
        len(report.fixes),
        len(report.notes),
        report.startup.reached,
        len(report.facts),
        again.cause,
    )


def _pieces(data: bytes) -> Hashable:
    """Read what arrives in pieces, as streams do."""
    session = _engine().start()
    blocks = list(read_blocks(Chunks(data[start : start + 777] for start in range(0, len(data), 777))))
    for block in blocks:
        session.feed(block)
    report = _engine().peek(session)
    return report.cause, len(blocks) > 2, report.startup.reached


def _streams(data: bytes) -> Hashable:
    streams = Streams(_engine(), 3)
    told: list[Verdict] = []
    for number, line in enumerate(data.split(b"\n")[:800]):
        told += streams.take(StreamName(service=str(line[:1])), line + b"\n", float(number))
        if number % 50 == 0:
            told += streams.tick(float(number))
    told += streams.close(1e6)
    return tuple(verdict.report.cause for verdict in told[:3]), len(told) > 3


def _archive(suffix: str) -> Callable[[bytes], Hashable]:
    def read(data: bytes) -> Hashable:
        # Kept open by name: the reader opens it again.
        with tempfile.NamedTemporaryFile(suffix=suffix, dir=_room()) as file:
            file.write(data)
            file.flush()
            rows = []
            for number, log in enumerate(members(Log(file.name))):
                rows += rows_of(log, Asking())
                if number > 200:
                    break
            encoded = format_named("jsonl").encode(plain(row) for row in rows)
            if any("internal error" in row.problem for row in rows):
                raise AssertionError(next(row.problem for row in rows if "internal error" in row.problem))
            return tuple(sorted({row.bucket for row in rows})), min(len(rows), 5), len(encoded) > 9000

    return read


@cache
def _room() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: PTH112 - memory, not a disk


def _blocks(data: bytes) -> Hashable:
    blocks = list(read_blocks(data))
    for line in blocks[0].data.decode("utf-8", "replace").split("\n")[:500] if blocks else ():
        split_line(1, line)
    unwrap_json(data[:50_000]), unwrap_json(data[:50_000], strict=True)
    return len(blocks), any(block.mended for block in blocks), any(block.broken_off for block in blocks)


def _masking(data: bytes) -> Hashable:
    text = data.decode("utf-8", "surrogateescape")
    once = mask(text)
    mask_lines(text.split("\n"))
    return tuple(sorted({word.split(">")[0] for word in once.split("<")[1:] if ">" in word[:20]}))[:8]


def _pushed(name: str, media: str) -> Callable[[bytes], Hashable]:
    def read(data: bytes) -> Hashable:
        entries = load(name).read(data, media, {"service": "a"}, 1 << 20)
        return len(entries), len({entry.stream for entry in entries}), bool(entries and entries[0].time)

    return read


def _form(data: bytes) -> Hashable:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": data, "more_body": False}

    async def parts() -> tuple[str | None, ...]:
        headers = [(b"content-type", b"multipart/form-data; boundary=x")]
        form = Form(Request({"type": "http", "headers": headers, "method": "POST"}, receive), Settings(database="none"))
        found = []
        async for part in form.parts():
            found.append(part.file_name)
            async for _ in form.content():
                pass
        return tuple(found[:5])

    return asyncio.run(parts())


def _packed_body(data: bytes) -> Hashable:
    return (
        next(len(_unpacked(data, name, 1 << 22)) for name in ("gzip", "zstd", "deflate")[: 1 + data[:1].isascii()])
        // 1000
    )


def _report(data: bytes) -> Hashable:
    report = Report.from_json(data)
    for name in interface.names():
        interface.render(name, [interface.Result("-", report)], interface.Options(verbose=True, color="never"))
    return report.cause, len(report.fixes)


@cache
def _app() -> Any:
    from fastapi.testclient import TestClient

    from vllm_triage.service.http.app import create_app

    settings = Settings(database="none", rate_limit=0, collect=True)
    client = TestClient(create_app(settings), base_url="http://localhost", raise_server_exceptions=False)
    client.__enter__()
    return client


PATHS = (
    "/v1/triage",
    "/v1/triage/batch",
    "/v1/plan",
    "/v1/render",
    "/v1/feedback",
    "/v1/logs",
    "/loki/api/v1/push",
    "/v1/collect",
    "/v1/stream",
)
MEDIA = (
    "application/json",
    "text/plain",
    "multipart/form-data; boundary=x",
    "application/x-protobuf",
    "application/octet-stream",
    "application/x-ndjson",
)


def _http(data: bytes) -> Hashable:
    """Post the rest of an input to the path, in the form and the encoding that its first bytes say."""
    head, body = data[:3].ljust(3, b"\0"), data[3:]
    headers = {
        "Content-Type": MEDIA[head[1] % len(MEDIA)],
        "Accept": ("application/json", "text/plain", "*/*")[head[2] % 3],
    }
    if head[2] >= 128:
        headers["Content-Encoding"] = ("gzip", "zstd", "deflate")[head[2] % 3]
    answer = _app().post(PATHS[head[0] % len(PATHS)], content=body, headers=headers)
    if answer.status_code in (500, 501):
        raise AssertionError(f"{PATHS[head[0] % len(PATHS)]}: {answer.status_code} {answer.text[:300]}")
    return head[0] % len(PATHS), head[1] % len(MEDIA), answer.status_code


def _tars() -> list[bytes]:
    found = []
    for packing in ("", "gz", "xz", "bz2"):
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            file = io.BytesIO()
            with tarfile.open(fileobj=file, mode=f"w:{packing}", format=form) as made:  # type: ignore[call-overload]
                for number, data in enumerate(logs()[:3]):
                    info = tarfile.TarInfo(f"{'a/' * 60 * (number % 2)}ü{number}.log")
                    info.size = len(data)
                    made.addfile(info, io.BytesIO(data))
            found.append(file.getvalue())
    return [*found, zstandard.ZstdCompressor().compress(found[0])]


def _zips() -> list[bytes]:
    found = []
    for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", packing) as made:
            for number, data in enumerate(logs()[:3]):
                made.writestr(f"a/{number}.log", data)
        found.append(file.getvalue())
    return found


def _compressed() -> list[bytes]:
    packs: tuple[Callable[[bytes], bytes], ...] = (gzip.compress, lzma.compress, zstandard.ZstdCompressor().compress)
    return [pack(data) for data in logs()[:6] for pack in packs]


def _pushes(name: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        lines = logs()[0].decode("utf-8", "replace").splitlines()[:20]
        stream = {"app": "vllm", "pod": "a-1"}
        loki = {"streams": [{"stream": stream, "values": [[str(number), line] for number, line in enumerate(lines)]}]}
        records = [{"log": line, "time": "2026-01-02T03:04:05Z", "kubernetes": {"pod_name": "a"}} for line in lines]
        body = {"stringValue": lines[0]}
        otlp = {"resourceLogs": [{"resource": {"attributes": [{"key": "service.name", "value": body}]}, "scopeLogs": [{"logRecords": [{"timeUnixNano": "1", "body": body}]}]}]}  # fmt: skip
        found = {"loki": loki, "records": records, "otlp": otlp}[name]
        return [json.dumps(found).encode(), *_binary(name)]

    return seeds


def _binary(name: str) -> list[bytes]:
    if name == "loki":
        import cramjam

        from vllm_triage.service.collect.protocols.loki import push_request

        push: Any = push_request()()
        stream = push.streams.add(labels='{app="vllm", pod="a"}')
        stream.entries.add(line="ERROR x")
        return [bytes(cramjam.snappy.compress_raw(push.SerializeToString()))]
    if name == "otlp":
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

        request = ExportLogsServiceRequest()
        record = request.resource_logs.add().scope_logs.add().log_records.add()
        record.body.string_value = "ERROR x"
        return [request.SerializeToString()]
    return []


def _forms() -> list[bytes]:
    part = b'--x\r\nContent-Disposition: form-data; name="log"; filename="a.log"\r\nContent-Type: text/plain\r\n\r\n'
    return [part + data[:2000] + b"\r\n--x--\r\n" for data in logs()[:4]]


def _reports() -> list[bytes]:
    return [_engine().report(data).to_json().encode() for data in logs()[:12]]


def _posts() -> list[bytes]:
    plans = [
        b'{"config": {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}, "gpu_memory_gib": 80, "arguments": {"max_model_len": 8192}}'
    ]
    bodies = [
        *logs()[:5],
        *_reports()[:4],
        *plans,
        *_forms()[:2],
        *_pushes("loki")(),
        *_pushes("otlp")(),
        *_pushes("records")(),
        *_compressed()[:3],
    ]
    return [
        bytes((path, media, coding)) + body
        for body in bodies
        for path in range(len(PATHS))
        for media, coding in ((0, 0), (1, 1), (2, 128 + path))
    ]


def _planted() -> list[bytes]:
    from tests.classifier.masking.planted import SECRETS, VENDORS

    return [
        *(token.encode() for token in VENDORS.values()),
        *(text.encode() for pairs in SECRETS.values() for text, _ in pairs),
    ]


READERS: dict[str, Reader] = {
    "log": Reader(_log, logs, (InputError,)),
    "pieces": Reader(_pieces, logs, (InputError,)),
    "streams": Reader(_streams, logs),
    "blocks": Reader(_blocks, lambda: [*logs(), *_compressed()], (InputError,)),
    "compressed": Reader(_log, _compressed, (InputError,)),
    "tar": Reader(_archive(".tar"), _tars),
    "zip": Reader(_archive(".zip"), _zips),
    "masking": Reader(_masking, lambda: [*_planted(), *logs()[:20]]),
    "loki": Reader(_pushed("loki", "application/json"), _pushes("loki"), (FormError,)),
    "loki-protobuf": Reader(_pushed("loki", "application/x-protobuf"), _pushes("loki"), (FormError,)),
    "otlp": Reader(_pushed("otlp", "application/json"), _pushes("otlp"), (FormError,)),
    "otlp-protobuf": Reader(_pushed("otlp", "application/x-protobuf"), _pushes("otlp"), (FormError,)),
    "records": Reader(_pushed("records", "application/json"), _pushes("records"), (FormError,)),
    "form": Reader(_form, _forms, (Problem,)),
    "packed-body": Reader(_packed_body, lambda: [*_compressed()], (Problem,)),
    "report": Reader(_report, _reports, (InputError,)),
    "http": Reader(_http, _posts),
}
"""All readers by name."""
