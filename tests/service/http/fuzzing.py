"""Requests that nobody should send: bodies that are broken, lie about themselves, stop, or never come to an end."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import re
import socket
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

PATHS = (
    "/v1/triage", "/v1/triage", "/v1/triage?only=kv_cache_oom", "/v1/triage?vllm_version=0.9&min_confidence=0.5",
    "/v1/triage/stream", "/v1/triage/batch", "/v1/plan", "/v1/feedback",
)  # fmt: skip
KINDS = (
    *["text/plain"] * 6, *["application/octet-stream"] * 4, "text/plain; charset=utf-16", "text/plain; charset=none-such",
    "application/json", "application/json; charset=latin-1", "multipart/form-data; boundary=x", "multipart/form-data",
    "a/b", "", "\xe9", "application/x-www-form-urlencoded",
)  # fmt: skip
ACCEPTS = (
    *[""] * 8, *["*/*"] * 4, "text/markdown", "application/sarif+json", "text/plain", "image/png", "text/event-stream",
    "*/*;q=nan", ",;,",
)  # fmt: skip
CHARSETS = ("utf-16", "utf-16-le", "utf-32", "utf-7", "latin-1", "cp037")
PAUSE = 0.01
"""Seconds between the pieces of a slow body."""


@dataclass(slots=True)
class Case:
    """One request, as bytes on the wire."""

    kind: str
    pieces: list[bytes]
    half_closed: bool = False
    """The client says that it will send no more, before it reads."""
    leaves: bool = False
    """The client is gone before the answer."""
    statuses: list[int] = field(default_factory=list)
    """What came back."""


def cases(seed: int, logs: Sequence[bytes]) -> Callable[[], Case]:
    """Return what makes one request after the other, always the same ones for a seed."""
    source = random.Random(seed)
    makers = [_damaged, _noise, _charset, _json, _form, _gzip, _zstd, _bomb, _length, _chunks, _slow, _leaving, _head]

    def one() -> Case:
        log = source.choice(logs)
        start = source.randrange(len(log))
        return source.choice(makers)(source, log[start : start + source.randrange(1, 8000)])

    return one


def send(port: int, case: Case, seconds: float) -> list[int]:
    """Send a request; return the statuses that were answered, none where the server hung up or the client left.

    Raises:
        TimeoutError: Nothing came for so many seconds: a hang.
    """
    with socket.create_connection(("127.0.0.1", port), seconds) as connection:
        # A server that has seen enough says so and hangs up: what was still on its way does not matter.
        with contextlib.suppress(OSError):
            for number, piece in enumerate(case.pieces):
                if number:
                    time.sleep(PAUSE)
                connection.sendall(piece)
            if case.half_closed:
                connection.shutdown(socket.SHUT_WR)
        if not case.leaves:
            with contextlib.suppress(ConnectionError):
                case.statuses = _answers(connection)
    return case.statuses


def _answers(connection: socket.socket) -> list[int]:
    """Return the statuses of all answers; every request asks for the connection to be closed."""
    data = b""
    while piece := connection.recv(1 << 16):
        data += piece
    return [int(head) for head in re.findall(rb"HTTP/1\.1 ([2-9]\d\d) ", data)]


def _request(source: random.Random, body: bytes, kind: str | None = None, more: str = "", length: str = "") -> bytes:
    accept = source.choice(ACCEPTS)
    kind = source.choice(KINDS) if kind is None else kind
    head = (
        f"POST {source.choice(PATHS)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        + (f"Content-Type: {kind}\r\n" if kind else "")
        + (f"Accept: {accept}\r\n" if accept else "")
        + more
        + (length or f"Content-Length: {len(body)}\r\n")
    )
    return head.encode("latin-1") + b"\r\n" + body


def _damaged(source: random.Random, log: bytes) -> Case:
    body = bytearray(log)
    for _ in range(source.randrange(50)):
        body[source.randrange(len(body))] = source.randrange(256)
    return Case("damaged", [_request(source, bytes(body))])


def _noise(source: random.Random, log: bytes) -> Case:
    line = log.split(b"\n")[0] or b"x"
    body = source.choice([source.randbytes(source.randrange(3000)), b"", b"\0" * 999, line * source.randrange(1, 200)])
    return Case("noise", [_request(source, body)])


def _charset(source: random.Random, log: bytes) -> Case:
    body = log.decode("utf-8", "replace").encode(source.choice(CHARSETS), "replace")
    return Case("charset", [_request(source, source.choice([b"", b"\xff\xfe", b"\xef\xbb\xbf"]) + body)])


def _json(source: random.Random, log: bytes) -> Case:
    text = json.dumps(log.decode("utf-8", "replace"))
    value = source.choice(
        [
            text, text[: len(text) // 2], "1", "null", "[" * 5000, '"\\ud800"', '"\\u0000"', "1e999", "NaN", "{}",
            '["a"]', "true", f"[{text}]", '"' + "a" * 100_000 + '"', "9" * 5000,
        ]
    )  # fmt: skip
    name = source.choice(["log", "logs", "incident", "gpu_memory", "model_config", "service", "\\ud800"])
    body = source.choice(
        [
            f'{{"log": {text}, "{name}": {value}}}', f'{{"{name}": {value}}}', f'{{"logs": [{{"log": {value}}}]}}',
            f'{{"gpu_memory": "1GiB", "model_config": {{"hidden_size": {value}}}}}', value,
            f'{{"incident": "inc_x", "verdict": "wrong", "bucket": {value}}}',
        ]
    )  # fmt: skip
    more = source.choice(["", "", "Content-Encoding: gzip\r\n"])
    data = body.encode("utf-8", "replace")
    if more and source.random() < 0.7:
        data = gzip.compress(data)
    return Case("JSON", [_request(source, data, "application/json", more)])


def _form(source: random.Random, log: bytes) -> Case:
    name = source.choice(["file", "log", "files", "service", "command", "other", '"', "\xe9", ""])
    file = source.choice(
        ["", '; filename="server.log"', '; filename="../../etc/x"', "; filename*=utf-8''%ff", '; filename="']
    )
    part = f'--x\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode("latin-1") + log
    end = source.choice([b"\r\n--x--\r\n", b"", b"\r\n--x", b"\r\n--x\r\n", b"\r\n--y--\r\n", b"\r\n--x--\r\ntrailing"])
    body = part * source.choice([1, 1, 2, 30]) + end
    if source.random() < 0.2:
        body = body[: source.randrange(len(body))]
    return Case("form", [_request(source, body, source.choice(["multipart/form-data; boundary=x", *KINDS[-6:]]))])


def _gzip(source: random.Random, log: bytes) -> Case:
    packed = bytearray(gzip.compress(log))
    for _ in range(source.choice([0, 0, 1, 5])):
        packed[source.randrange(len(packed))] = source.randrange(256)
    body = bytes(packed)[: source.choice([len(packed), source.randrange(1, len(packed))])]
    body += source.choice([b"", b"", gzip.compress(log), b"trailing"])
    more = source.choice(
        ["", "Content-Encoding: gzip\r\n", "Content-Encoding: zstd\r\n", "Content-Encoding: gzip, gzip\r\n"]
    )
    return Case("gzip", [_request(source, body, None, more)])


def _zstd(source: random.Random, log: bytes) -> Case:
    # A frame that is stored, written by hand: no library is needed. Its window and its sizes may lie.
    log = log[: 1 << 16]
    block = (len(log) << 3 | source.choice([1, 1, 3, 7])).to_bytes(3, "little")
    head = source.choice([b"\x00\x58", b"\x00\xff", b"\xe0" + b"\xff" * 8, b"\xa0" + len(log).to_bytes(4, "little")])
    body = b"\x28\xb5\x2f\xfd" + head + block + log[: source.choice([len(log), len(log) // 2])]
    more = source.choice(["", "Content-Encoding: zstd\r\n", "Content-Encoding: gzip\r\n", "Content-Encoding: br\r\n"])
    return Case("zstd", [_request(source, body, None, more)])


def _bomb(source: random.Random, log: bytes) -> Case:
    pack = zlib.compressobj(9, wbits=31)
    filler = source.choice([b"\0", b"a", log.split(b"\n")[0][:60] + b"\n"]) * (1 << 20)
    filler = filler[: 1 << 20]
    body = b"".join(pack.compress(filler) for _ in range(source.choice([4, 16, 64]))) + pack.flush()
    more = source.choice(["", "Content-Encoding: gzip\r\n"])
    return Case("bomb", [_request(source, body, source.choice(["text/plain", "application/json", ""]), more)])


def _length(source: random.Random, log: bytes) -> Case:
    size = len(log)
    length = source.choice(
        [
            f"Content-Length: {size + source.randrange(1, 5000)}\r\n", f"Content-Length: {source.randrange(size)}\r\n",
            "Content-Length: -1\r\n", "Content-Length: abc\r\n", "Content-Length: \r\n", f"Content-Length: {1 << 70}\r\n",
            f"Content-Length: {size}\r\nContent-Length: {size + 1}\r\n", f"Content-Length: +{size}\r\n",
            f"Content-Length: {size}\r\nTransfer-Encoding: chunked\r\n", f"Content-Length: {1 << 40}\r\n",
        ]
    )  # fmt: skip
    return Case("length", [_request(source, log, None, "", length)], half_closed=source.random() < 0.5)


def _chunks(source: random.Random, log: bytes) -> Case:
    size = source.choice([f"{len(log):x}", f"{len(log) + 5:x}", "zz", "-5", "f" * 40, "0", f"{len(log):x};ext=1"])
    body = (
        f"{size}\r\n".encode() + log + source.choice([b"\r\n0\r\n\r\n", b"", b"\r\n", b"\r\n0\r\nTrailer: x\r\n\r\n"])
    )
    encoding = source.choice(["chunked", "chunked", "chunked", "gzip, chunked", "identity", "chunked, chunked"])
    request = _request(source, body, None, "", f"Transfer-Encoding: {encoding}\r\n")
    return Case("chunks", [request], half_closed=source.random() < 0.5)


def _slow(source: random.Random, log: bytes) -> Case:
    request = _request(source, log)
    step = max(1, len(request) // source.randrange(2, 12))
    pieces = [request[at : at + step] for at in range(0, len(request), step)]
    return Case("slow", pieces, half_closed=source.random() < 0.3)


def _leaving(source: random.Random, log: bytes) -> Case:
    request = _request(source, log)
    return Case("leaving", [request[: source.randrange(1, len(request))]], leaves=True)


def _head(source: random.Random, log: bytes) -> Case:
    length = f"Content-Length: {len(log)}\r\n\r\n".encode()
    head = source.choice(
        [
            b"POST /v1/triage HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: " + b"a" * 100_000 + b"\r\n",
            b"POST /v1/triage HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + b"X: y\r\n" * 500,
            b"POST /v1/triage?" + b"only=x&" * 300 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
            b"POST /v1/triage?only=%ff%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
            b"POST /v1/%2e%2e/%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
            b"POST http://other.example/v1/triage HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
            b"BREW /v1/triage HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
            b"POST /v1/triage HTTP/1.1\r\nConnection: close\r\n",
            b"POST /v1/triage HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\n",
            b"POST /v1/triage HTTP/9.9\r\nHost: localhost\r\nConnection: close\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\r\n\r\n\r\n", b"GET /\r\n",
            b"POST /v1/triage HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
            b"POST /v1/triage HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n",
        ]
    )  # fmt: skip
    return Case("head", [head + length + log], half_closed=True)
