"""The client for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

import httpx2 as httpx

from ...classifier.question import Question
from ..wire import Event, loads
from . import protocol
from .calls import Calls
from .errors import UnreachableError
from .protocol import TIMEOUT, TRY_AGAIN, About, Call, Source


class AsyncClient(Calls):
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
                        yield loads(Event, line)
        except httpx.TransportError as error:
            raise UnreachableError(f"{self._http.base_url}: {str(error) or type(error).__name__}") from None

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
