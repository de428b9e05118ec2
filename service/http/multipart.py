"""multipart/form-data, read as it arrives: a file of gigabytes is never held, neither in memory nor on disk."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from .bodies import CLOSE, arriving, encoding_of
from .problems import Problem
from .settings import Settings

FIELD = 1 << 16
"""Bytes of a field that is no file."""
PARTS = 1000
"""Parts of a form."""


@dataclass(slots=True)
class Part:
    """One field, or one file, of a form."""

    name: str
    file_name: str | None
    headers: dict[str, str] = field(default_factory=dict)


class Form:
    """The parts of a form, in the order in which they come.

    Raises:
        Problem: The body is no form.
    """

    def __init__(self, request: Request, settings: Settings) -> None:
        if encoding_of(request):
            raise Problem("unsupported-media-type", "Compress the file in the form, not the form.", CLOSE)
        _, options = parse_options_header(request.headers.get("content-type", ""))
        boundary = options.get(b"boundary", b"")
        if not 1 <= len(boundary) <= 200:
            raise Problem("bad-request", "The Content-Type of a form names its boundary.", CLOSE)
        self._body = arriving(request, settings)
        self._found: deque[tuple[str, Any]] = deque()
        self._header, self._value = b"", b""
        self._headers: dict[str, str] = {}
        self._ended = self._open = False
        self._count = 0
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_part_data": self._data,
                "on_part_end": lambda: self._found.append(("end", None)),
                "on_header_begin": self._header_begin,
                "on_header_field": self._header_name,
                "on_header_value": self._header_value,
                "on_header_end": self._header_end,
                "on_headers_finished": self._headers_finished,
                "on_end": self._end,
            },
        )

    async def parts(self) -> AsyncIterator[Part]:
        """Yield the parts. The content of each (``content``, ``text``) is there until the next is asked for."""
        while True:
            async for _ in self.content():
                pass
            kind, value = await self._next()
            if kind == "":
                return
            if kind == "part":
                self._count += 1
                if self._count > PARTS:
                    raise Problem("bad-request", f"A form may have {PARTS} parts.", CLOSE)
                self._open = True
                yield value

    async def content(self) -> AsyncIterator[bytes]:
        """Yield the content of the part that was last told of."""
        while self._open:
            kind, value = await self._next()
            if kind == "data":
                yield value
            else:
                self._open = False

    async def text(self) -> str:
        """Return the content of a part that is no file."""
        found = b""
        async for piece in self.content():
            found += piece
            if len(found) > FIELD:
                raise Problem("body-too-large", f"A field of a form may have {FIELD} bytes; send a log as file.", CLOSE)
        return found.decode("utf-8", "replace")

    async def _next(self) -> tuple[str, Any]:
        while not self._found:
            piece = await anext(self._body, None)
            try:
                if piece is None:
                    if not self._ended:
                        raise Problem("bad-request", "The form is cut off: its last boundary is missing.", CLOSE)
                    return "", None
                self._parser.write(piece)
            except MultipartParseError:
                raise Problem("bad-request", "The body is not multipart/form-data.", CLOSE) from None
        return self._found.popleft()

    def _begin(self) -> None:
        self._headers = {}

    def _data(self, data: bytes, start: int, end: int) -> None:
        self._found.append(("data", data[start:end]))

    def _header_begin(self) -> None:
        self._header = self._value = b""

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        # As headers are decoded everywhere; names of files are read as UTF-8 later.
        self._headers[self._header.decode("latin-1").lower()] = self._value.decode("latin-1")

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get("content-disposition", ""))
        name, file_name = options.get(b"name", b""), options.get(b"filename")
        told = None if file_name is None else file_name.decode("utf-8", "replace")
        self._found.append(("part", Part(name.decode("utf-8", "replace"), told, self._headers)))

    def _end(self) -> None:
        self._ended = True
