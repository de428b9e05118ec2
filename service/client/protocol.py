"""What both clients share: how requests are made, what answers become, when it is worth trying again."""

from __future__ import annotations

import json
import os
import random
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import quote

import httpx2 as httpx

from ...classifier.question import Question
from ...classifier.report.model import Node
from ..wire import loads
from .errors import ProblemError

PIECE = 1 << 18
"""Bytes of a file that are sent at a time."""
TRY_AGAIN = frozenset({429, 503})
"""The service did not take the request on: it may be sent again."""
LONGEST = 60.0
"""Seconds that a client waits before it tries again, whatever it is told."""
TIMEOUT = httpx.Timeout(30.0, read=660.0)
"""A large log may take the ten minutes that the service gives it."""

Wire = TypeVar("Wire", bound=Node)
Source = str | bytes | os.PathLike[str] | IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]
"""A log: its text, bytes, a path object, an open file, or pieces as they come."""


@dataclass(slots=True)
class Call:
    """One request to be made."""

    method: str
    path: str
    query: dict[str, Any] = field(default_factory=dict)
    log: Source | None = None
    json: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def repeatable(self) -> bool:
        """Whether the body can be sent a second time."""
        return self.log is None or isinstance(self.log, (str, bytes, os.PathLike)) or _seekable(self.log)


@dataclass(frozen=True, slots=True)
class About:
    """What is said about a log besides the question."""

    service: str = ""
    name: str = ""
    store: bool = True
    ask: str = ""


def triage(log: Source, question: Question | None, about: About, media_type: str = "") -> Call:
    """Return the request for an answer, as JSON or as ``media_type``."""
    headers = {"Content-Type": "text/plain", **({"Accept": media_type} if media_type else {})}
    return Call("POST", "/v1/triage", _asked(question, about, log), log, headers=headers)


def batch(logs: Iterable[dict[str, str]], question: Question | None, about: About) -> Call:
    """Return the request for several answers."""
    return Call("POST", "/v1/triage/batch", _asked(question, about), json={"logs": list(logs)})


def stream(log: Source, question: Question | None, about: About) -> Call:
    """Return the request for events."""
    headers = {"Content-Type": "text/plain", "Accept": "application/x-ndjson"}
    return Call("POST", "/v1/triage/stream", _asked(question, about, log), log, headers=headers)


def of_incident(name: str, part: str = "") -> str:
    """Return the path of an incident, or of a part of what is kept of it."""
    return f"/v1/incidents/{quote(name, safe='')}{part}"


def headers(key: str) -> dict[str, str]:
    """Return the headers of every request."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def pieces(log: Any) -> bytes | Iterator[bytes]:
    """Return a log as something to send; a file is never held as a whole."""
    if isinstance(log, str):
        return log.encode("utf-8", "surrogateescape")
    if isinstance(log, bytes):
        return log
    if isinstance(log, os.PathLike):
        return _file(Path(log))
    if hasattr(log, "read"):
        if hasattr(log, "seek") and log.seekable():
            log.seek(0)
        return _read(log)
    given: Iterator[bytes] = iter(log)
    return given


async def async_pieces(log: Any) -> AsyncIterator[bytes]:
    """Yield a log piece by piece."""
    if isinstance(log, AsyncIterable):
        async for piece in log:
            yield piece
        return
    found = pieces(log)
    for piece in [found] if isinstance(found, bytes) else found:
        yield piece


def result(response: httpx.Response, kind: type[Wire]) -> Wire:
    """Return an answer.

    Raises:
        ProblemError: It is none.
    """
    check(response)
    return loads(kind, response.content)


def check(response: httpx.Response) -> None:
    """Raise where a response is a problem.

    Raises:
        ProblemError: It is.
    """
    if response.is_success:
        return
    try:
        body = json.loads(response.content)
    except ValueError:
        body = {}
    raise ProblemError(response.status_code, body if isinstance(body, dict) else {})


def wait_before(attempt: int, response: httpx.Response) -> float:
    """Return the seconds to wait before another try: what the service says, else ever longer."""
    told = response.headers.get("retry-after", "")
    seconds = float(told) if told.isdigit() else 0.5 * 2**attempt
    return min(LONGEST, seconds) + random.uniform(0, 0.25)  # noqa: S311 - so that clients do not return all at once


def _asked(question: Question | None, about: About, log: Source | None = None) -> dict[str, Any]:
    """Return a question as it stands in a query; what is as usual is left out."""
    asked = question or Question()
    return given(
        {
            "service": about.service,
            "name": about.name or (Path(log).name if isinstance(log, os.PathLike) else ""),
            "command": asked.command,
            "vllm_version": asked.vllm_version,
            "engine": "" if asked.engine == "auto" else asked.engine,
            "only": list(asked.only),
            "ignore": list(asked.ignore),
            "min_confidence": asked.min_confidence or None,
            "store": None if about.store else "false",
            "ask": about.ask,
        }
    )


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Return what says something, times as text."""
    found = {}
    for name, value in values.items():
        if value not in ("", None, [], ()):
            found[name] = value.isoformat() if hasattr(value, "isoformat") else value
    return found


def _seekable(log: Any) -> bool:
    return hasattr(log, "seekable") and bool(log.seekable())


def _file(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from _read(file)


def _read(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        yield piece
