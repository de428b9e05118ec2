"""Changes to bytes that find what readers do not expect."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import string
from collections.abc import Callable, Sequence

import zstandard

MOST = 1 << 18
"""Bytes of an input."""
TOKENS = (
    b"\0", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\x1b[31m", b"\x1b]0;", b"\xed\xa0\x80", b"\\ud800", b"\\n", b'\\"', b"\\u0000",
    b"{", b"}", b"[", b"]", b'"', b"'", b'{"log":"', b'"}', b'[{"a":', b"((", b"))", b"|", b" | ", b"Traceback (most recent call last):\n",
    b'  File "/a.py", line 1, in f\n', b"ValueError: ", b"During handling of the above exception, another exception occurred:\n", b"(EngineCore pid=1) ERROR 01-02 03:04:05 [a.py:1] ",
    b"INFO 01-02 03:04:05 [api_server.py:1] vLLM API server version 0.19.1\n", b"args: Namespace(", b"non-default args: {", b"vllm serve ", b"--api-key ", b"--compilation-config '{",
    b"-----BEGIN PRIVATE KEY-----", b"password=", b"Authorization: Bearer ", b"://a:b@", b"max seq len (", b"GiB", b"1e999", b"-1", b"99999999999999999999999999", b"9" * 5000, b"NaN",
    b"0.0", b"\xe2\x80\xae", b"PK\x03\x04", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh9", b"ustar\x0000", b"\x80" + b"\xff" * 11, b"% ", b"it/s]", b"\t", b" " * 300,
    b'\n--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n', b"2026-01-02T03:04:05.678901234Z stdout F ", b"ERROR", b"Killed", b"CUDA out of memory. Tried to allocate ",
    b"kind: Deployment\nspec:\n", b"FROM vllm/vllm-openai\n", b"```", b"> ", b"<details>", b"| a | b |\n", b"http://[::1", b"\\\n", b"'\\''", b"$(", b"\x7f", b"\xc2\x85", b"\xe2\x80\xa8",
)  # fmt: skip
"""What means something to one of the readers."""
_PRINTABLE = string.printable.encode()


def mutate(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Return ``data`` changed one to six times, ``MOST`` bytes of it at most.

    Args:
        data: What is changed.
        others: Inputs that pieces are taken from.
        rng: Says what is changed, and how.
    """
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        data = rng.choice(CHANGES)(data, others, rng)[:MOST]
    return data


def _span(data: bytes, rng: random.Random, most: int = 4000) -> tuple[int, int]:
    begin = rng.randint(0, len(data))
    return begin, min(len(data), begin + rng.randint(0, min(most, len(data) - begin)))


def _flip(data: bytes, _others: Sequence[bytes], rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 4, 32))):
        if changed:
            place = rng.randrange(len(changed))
            changed[place] = rng.choice(
                (changed[place] ^ 1 << rng.randrange(8), rng.randrange(256), rng.choice(_PRINTABLE))
            )
    return bytes(changed)


def _remove(data: bytes, _others: Sequence[bytes], rng: random.Random) -> bytes:
    begin, end = _span(data, rng)
    return data[:begin] + data[end:]


def _cut(data: bytes, _others: Sequence[bytes], rng: random.Random) -> bytes:
    return data[: rng.randint(0, len(data))]


def _insert(data: bytes, _others: Sequence[bytes], rng: random.Random) -> bytes:
    place = rng.randint(0, len(data))
    return data[:place] + b"".join(rng.choices(TOKENS, k=rng.choice((1, 1, 2, 5)))) + data[place:]


def _splice(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    other = rng.choice(others)
    begin, end = _span(other, rng)
    place = rng.randint(0, len(data))
    return data[:place] + other[begin:end] + data[place:]


def _repeat(data: bytes, _others: Sequence[bytes], rng: random.Random) -> bytes:
    begin, end = _span(data, rng, rng.choice((1, 8, 80, 800)))
    return data[:end] + data[begin:end] * rng.choice((1, 10, 100, 1000, 10_000)) + data[end:]


def _bait(data: bytes, _others: Sequence[bytes], rng: random.Random) -> bytes:
    place = rng.randint(0, len(data))
    return data[:place] + rng.choice(TOKENS) * rng.choice((2, 50, 2000, 50_000)) + data[place:]


def _number(data: bytes, _others: Sequence[bytes], rng: random.Random) -> bytes:
    places = [index for index, byte in enumerate(data[:20_000]) if 48 <= byte < 58]
    if not places:
        return data
    end = begin = rng.choice(places)
    while end < len(data) and 48 <= data[end] < 58:
        end += 1
    told = rng.choice(
        (b"0", b"-1", b"1", b"4294967296", b"9223372036854775808", b"1" + b"0" * 30, b"0.1", b"1e308", b"", b"9" * 4400)
    )
    return data[:begin] + told + data[end:]


def _lines(data: bytes, _others: Sequence[bytes], rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    if len(lines) < 400:
        rng.shuffle(lines)
    return rng.choice((b"\n", b"\r", b"\r\n", b"", b"\\n")).join(lines)


def _wrap(data: bytes, _others: Sequence[bytes], rng: random.Random) -> bytes:
    return rng.choice(WRAPS)(data)


def _docker(data: bytes) -> bytes:
    lines = data.decode("utf-8", "replace").split("\n")
    return "\n".join(
        json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-01-02T03:04:05Z"}) for line in lines
    ).encode()


def _escaped(data: bytes) -> bytes:
    return json.dumps({"a": [data.decode("utf-8", "replace")]}).encode()


WRAPS: tuple[Callable[[bytes], bytes], ...] = (
    gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor(1).compress, _docker, _escaped,
    lambda data: data.decode("utf-8", "replace").encode("utf-16"), lambda data: data.decode("utf-8", "replace").encode("utf-16-be"),
    lambda data: b"".join(b"app-1  | " + line + b"\n" for line in data.split(b"\n")), lambda data: repr(data)[2:-1].encode(),
    lambda data: b"".join(b"> " + line + b"\n" for line in data.split(b"\n")), lambda data: b"```\n" + data + b"\n```", lambda data: b"{" * 3000 + data,
    lambda data: b'{"a":' * 3000 + data + b"}" * 3000, lambda data: b"[" * 3000 + data,
)  # fmt: skip
CHANGES = (
    _flip,
    _flip,
    _remove,
    _cut,
    _insert,
    _insert,
    _splice,
    _splice,
    _repeat,
    _bait,
    _number,
    _number,
    _lines,
    _wrap,
)
