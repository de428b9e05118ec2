"""Request bodies: read piece by piece within limits, whatever form a log comes in."""

from __future__ import annotations

import io
import zlib
from collections.abc import AsyncIterator, Collection, Iterator
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from ...classifier.errors import InputError
from ...classifier.input.unpack import gunzip, unzstd
from ..reading import BodyError, Within, pieces
from ..refusals import refusals
from ..wire import ValueProblem
from .problems import Problem, impossible
from .settings import Settings

RAW = frozenset(
    {
        "", "text/plain", "application/octet-stream", "application/gzip", "application/x-gzip", "application/zstd",
        # What curl says of --data-binary where nobody tells it anything else.
        "application/x-www-form-urlencoded",
    }
)  # fmt: skip
"""Media types of a log as it is."""
JSON = "application/json"
MULTIPART = "multipart/form-data"
ENCODINGS = {"gzip": b"\x1f\x8b", "x-gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
"""Content encodings, with the bytes that such data begin with."""
DEFLATE = "deflate"
"""One more for bodies that are held whole: OpenTelemetry's exporters offer it."""
CLOSE = {"Connection": "close"}
"""Where the rest of a body is not read, the connection cannot be used again."""

Model = TypeVar("Model", bound=BaseModel)


def media_type(request: Request) -> str:
    """Return the media type of a body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def encoding_of(request: Request, *more: str) -> str:
    """Return the content encoding, one of those of logs or of ``more``; empty for none.

    Raises:
        Problem: It is none that is read.
    """
    name = request.headers.get("content-encoding", "").strip().lower()
    if name in ("", "identity"):
        return ""
    if name not in (*ENCODINGS, *more):
        headers = {"Accept-Encoding": "gzip, zstd", **CLOSE}
        raise Problem("unsupported-media-type", "Content-Encoding may be gzip or zstd.", headers)
    return name


def unsupported(*accepted: str) -> Problem:
    """Return the problem of a body in a form that is not read."""
    return Problem(
        "unsupported-media-type", f"Send {', '.join(accepted)}.", {"Accept-Post": ", ".join(accepted), **CLOSE}
    )


async def arriving(
    request: Request, settings: Settings, most: int = 0, patience: float = 0, copies: int = 1
) -> AsyncIterator[bytes]:
    """Yield a body as it arrives.

    Args:
        request: Whose body.
        settings: For its limits.
        most: Bytes that are read, and kept; 0 for ``max_body``, of which no more than ``small`` are kept.
        patience: Of a stream, which goes on as it is written: seconds that it may pause; 0 for a log that is there.
        copies: How often its bytes are kept, where they are.

    Raises:
        Problem: It is larger than allowed, stops coming, cannot be read, or there is no room for it.
        ClientDisconnect: The client is gone.
    """
    if "upgrade" in request.headers and "upgrade" in request.headers.get("connection", "").lower():
        # What reads HTTP for us stops at the head of such a request: the body would seem empty.
        raise Problem(
            "bad-request", "Ask again without Upgrade: this is HTTP/1.1, and nothing else is spoken here.", CLOSE
        )
    within = Within(
        size=most or settings.max_body,
        pause=patience or settings.idle_seconds,
        rate=0 if patience else settings.body_rate,
        kept=0 if patience else most or settings.small,
        copies=copies,
        given_up=not patience,
    )
    try:
        async for piece in pieces(request, within):
            yield piece
            del piece
    except BodyError as error:
        raise problem_of(error, within.size) from None


def problem_of(error: BodyError, most: int) -> Problem:
    """Return the problem of a body that is not read to its end."""
    if error.kind == "large":
        return _too_large(most)
    if error.kind == "busy":
        return Problem("busy", str(error), {"Retry-After": "1", **CLOSE})
    return Problem("body-timeout", str(error), CLOSE)


async def raw(request: Request, settings: Settings, patience: float = 0) -> AsyncIterator[bytes]:
    """Yield the log that a body is. What is packed stays so: it is unpacked where it is read."""
    encoding, first = encoding_of(request), b""
    coming = arriving(request, settings, patience=patience)
    if encoding:
        magic = ENCODINGS[encoding]
        async for piece in coming:
            first += piece
            if len(first) >= len(magic):
                break
        if not first.startswith(magic):
            raise Problem("bad-encoding", f"The body is not {encoding}, as its Content-Encoding says.", CLOSE)
        yield first
    async for piece in coming:
        yield piece
        del piece


async def whole(request: Request, settings: Settings, left_packed: Collection[str] = ()) -> bytes:
    """Return a body that is held in memory, unpacked.

    Args:
        request: Whose body.
        settings: For its limits.
        left_packed: Content encodings that whoever reads the body unpacks.

    Raises:
        Problem: It is too large for that, or cannot be unpacked.
    """
    packed = request.headers.get("content-encoding", "").strip().lower()
    encoding = "" if packed in left_packed else encoding_of(request, DEFLATE)
    parts = [piece async for piece in arriving(request, settings, settings.max_json, copies=2)]
    body = b"".join(parts)
    if not encoding:
        return body
    if not body.startswith(ENCODINGS.get(encoding, b"")):
        raise Problem("bad-encoding", f"The body is not {encoding}, as its Content-Encoding says.")
    return _unpacked(body, encoding, settings.max_json)


def parse(model: type[Model], body: bytes) -> Model:
    """Return a JSON body as a model.

    Raises:
        Problem: It is not JSON, or not what the model holds.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        # Without the values: they may be a log.
        found = error.errors(include_url=False, include_context=False, include_input=False)[:20]
        if any(item["type"] == "json_invalid" for item in found):
            raise Problem("bad-request", "The body is not JSON.") from None
        raise impossible(
            [ValueProblem(place=("body", *place), message=words) for place, words in refusals(found)]
        ) from None


def _unpacked(body: bytes, encoding: str, most: int) -> bytes:
    if encoding == DEFLATE:
        return _inflated(body, most)
    unpack = unzstd if encoding == "zstd" else gunzip
    made = io.BytesIO()
    try:
        for piece in unpack(_once(body)):
            made.write(piece)
            if made.tell() > most:
                raise _too_large(most)
    except InputError:
        raise Problem("bad-encoding", f"The body is not {encoding}, as its Content-Encoding says.") from None
    return made.getvalue()


def _inflated(body: bytes, most: int) -> bytes:
    """Return what deflated data hold: in zlib's frame, as RFC 9110 says, or without one, as some send them."""
    for frame in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        engine = zlib.decompressobj(frame)
        try:
            made = engine.decompress(body, most + 1)
        except zlib.error:
            continue
        if len(made) > most:
            raise _too_large(most)
        if engine.eof:
            return made
    raise Problem("bad-encoding", "The body is not deflate, as its Content-Encoding says.")


def _once(body: bytes) -> Iterator[bytes]:
    yield body


def _too_large(most: int) -> Problem:
    text = f"The body may have {most} bytes. Compress it (gzip, zstd); logs larger than that only as text/plain."
    return Problem("body-too-large", text, CLOSE)
