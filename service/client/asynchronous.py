"""The client for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Any, Literal, Self

import httpx2 as httpx

from ...classifier.pack.look import Look
from ...classifier.pack.model import BUDGET, Pack
from ...classifier.question import Question
from ..wire import (
    BatchAnswer,
    Bucket,
    Event,
    Feedback,
    Incident,
    IncidentDetails,
    Incidents,
    Stats,
    TriageAnswer,
    Unnamed,
)
from . import protocol
from .errors import UnreachableError
from .protocol import TIMEOUT, TRY_AGAIN, About, Call, Source


class AsyncClient:
    """Talks to a service.

    Args:
        url: Of the service: ``http://127.0.0.1:8501``.
        key: API key, where it asks for one.
        retries: Further tries where the service is busy, or asks to slow down.
        timeout: Of the connection.
        transport: Instead of the network, for tests.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        retries: int = 4,
        timeout: httpx.Timeout | float = TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        headers = protocol.headers(key)
        self._http = httpx.AsyncClient(base_url=url.rstrip("/"), headers=headers, timeout=timeout, transport=transport)
        self._retries = retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def triage(
        self, log: Source, question: Question | None = None, *, service: str = "", name: str = "", store: bool = True
    ) -> TriageAnswer:
        """Return the answer for a log; a file is sent piece by piece, of any size.

        Args:
            log: The log.
            question: What is asked about it.
            service: Label of the service that it is of; incidents are counted for each.
            name: Of the log, to be shown; that of the file where it is one.
            store: Whether the answer is kept in the history.

        Raises:
            ClientError: There is none.
        """
        call = protocol.triage(log, question, About(service, name, store))
        return protocol.result(await self._send(call), TriageAnswer)

    async def triage_as(
        self,
        media_type: str,
        log: Source,
        question: Question | None = None,
        *,
        service: str = "",
        name: str = "",
        store: bool = True,
    ) -> str:
        """Return the answer in another format: ``text/markdown``, ``text/plain``, ``application/sarif+json``.

        Raises:
            ClientError: There is none.
        """
        response = await self._send(protocol.triage(log, question, About(service, name, store), media_type))
        protocol.check(response)
        return response.text

    async def batch(
        self, logs: Iterable[dict[str, str]], question: Question | None = None, *, service: str = "", store: bool = True
    ) -> BatchAnswer:
        """Return the answers for several logs, each a dictionary with ``log``, ``name`` and ``service``.

        Raises:
            ClientError: There are none.
        """
        call = protocol.batch(logs, question, About(service, store=store))
        return protocol.result(await self._send(call), BatchAnswer)

    async def stream(
        self, log: Source, question: Question | None = None, *, service: str = "", name: str = "", store: bool = True
    ) -> AsyncIterator[Event]:
        """Yield what the service says of a log: progress, verdicts, the report or a problem.

        Events are read when the log is sent: a log that is still being written is better given to the API itself.

        Raises:
            ClientError: The request was refused.
        """
        call = protocol.stream(log, question, About(service, name, store))
        try:
            async with self._http.stream(
                call.method, call.path, params=call.query, content=protocol.async_pieces(log), headers=call.headers
            ) as response:
                if not response.is_success:
                    await response.aread()
                    protocol.check(response)
                async for line in response.aiter_lines():
                    if line:
                        yield protocol.event(line)
        except httpx.TransportError as error:
            raise UnreachableError(f"{self._http.base_url}: {str(error) or type(error).__name__}") from None

    async def plan(self, **asked: Any) -> dict[str, Any]:
        """Return whether a model fits (``gpu_memory``, ``model_config`` …: docs/http.md).

        Raises:
            ClientError: It cannot be told.
        """
        response = await self._send(protocol.plan(**asked))
        protocol.check(response)
        found: dict[str, Any] = response.json()
        return found

    async def bucket(self, name: str) -> Bucket:
        """Return what a bucket is, and how it is fixed.

        Raises:
            ClientError: There is none of that name.
        """
        return protocol.result(await self._send(protocol.bucket(name)), Bucket)

    async def incidents(self, **wanted: Any) -> Incidents:
        """Return a page of incidents (``service``, ``bucket``, ``since`` …; ``cursor`` for the next).

        Raises:
            ClientError: They cannot be had.
        """
        return protocol.result(await self._send(protocol.incidents(**wanted)), Incidents)

    async def incident(self, id: str) -> IncidentDetails:  # noqa: A002 - its name in the API
        """Return all that is kept of an incident.

        Raises:
            ClientError: There is none.
        """
        return protocol.result(await self._send(protocol.incident(id)), IncidentDetails)

    async def pack(self, id: str, budget: int = BUDGET, *, candidates: bool = True) -> Pack:  # noqa: A002
        """Return the evidence of an incident, in so many characters (docs/pack.md).

        Raises:
            ClientError: There is none.
        """
        return protocol.result(await self._send(protocol.pack(id, budget, candidates)), Pack)

    async def lines(self, id: str, **asked: Any) -> Look:  # noqa: A002
        """Return lines that are kept of an incident (``lines``, ``find``, ``process``, ``budget``).

        Raises:
            ClientError: There are none.
        """
        return protocol.result(await self._send(protocol.lines(id, **asked)), Look)

    async def handle(self, id: str, **change: Any) -> Incident:  # noqa: A002
        """Acknowledge, mute or assign an incident (``state``, ``muted_until``, ``assignee``); return it as it is then.

        Raises:
            ClientError: It was not changed.
        """
        return protocol.result(await self._send(protocol.handle(id, **change)), Incident)

    async def remove(self, id: str) -> None:  # noqa: A002
        """Remove an incident.

        Raises:
            ClientError: It was not removed.
        """
        protocol.check(await self._send(protocol.incident(id, "DELETE")))

    async def stats(self, **span: Any) -> Stats:
        """Return counts over time (``since``, ``until``, ``step``, ``service``).

        Raises:
            ClientError: They cannot be had.
        """
        return protocol.result(await self._send(protocol.stats(**span)), Stats)

    async def unnamed(self) -> Unnamed:
        """Return not named yet, in groups; ``pending`` says to ask again.

        Raises:
            ClientError: It cannot be had.
        """
        return protocol.result(await self._send(protocol.unnamed()), Unnamed)

    async def feedback(
        self,
        incident: str,
        verdict: Literal["right", "wrong"],
        *,
        bucket: str = "",
        cause: str = "",
        note: str = "",
        new: bool = False,
    ) -> Feedback:
        """Say whether an answer was right; ``new`` where bucket or cause is a kind of your own.

        Raises:
            ClientError: It was not kept.
        """
        call = protocol.feedback(incident, verdict, bucket=bucket, cause=cause, note=note, new=new)
        return protocol.result(await self._send(call), Feedback)

    async def _send(self, call: Call) -> httpx.Response:
        """Send a request, and once more where the service did not take it on."""
        for attempt in range(self._retries + 1):
            content = None if call.log is None else protocol.async_pieces(call.log)
            try:
                response = await self._http.request(
                    call.method, call.path, params=call.query, content=content, json=call.json, headers=call.headers
                )
            except httpx.TransportError as error:
                raise UnreachableError(f"{self._http.base_url}: {str(error) or type(error).__name__}") from None
            if response.status_code not in TRY_AGAIN or attempt == self._retries or not call.repeatable:
                break
            await asyncio.sleep(protocol.wait_before(attempt, response))
        return response
