"""The client for programs without an event loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import httpx2 as httpx

from ...classifier.question import Question
from ..wire import Event, loads
from . import protocol
from .calls import Calls, Sender
from .errors import UnreachableError
from .protocol import TIMEOUT, TRY_AGAIN, About, Call, Source

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def _at_once(
    call: Callable[Concatenate[Sender, Asked], Coroutine[object, object, Answer]],
) -> Callable[Concatenate[Client, Asked], Answer]:
    """Return a call that needs no event loop: nothing in it waits but ``_send``, which does not give control away here."""

    @wraps(call)
    def ask(self: Client, /, *args: Asked.args, **options: Asked.kwargs) -> Answer:
        try:
            call(self, *args, **options).send(None)
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        raise RuntimeError(f"{call.__name__} waits for an event loop")

    return ask


class Client:
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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = protocol.headers(key)
        self._http = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout, transport=transport)
        self._retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    triage = _at_once(Calls.triage)
    triage_as = _at_once(Calls.triage_as)
    batch = _at_once(Calls.batch)
    plan = _at_once(Calls.plan)
    bucket = _at_once(Calls.bucket)
    incidents = _at_once(Calls.incidents)
    incident = _at_once(Calls.incident)
    pack = _at_once(Calls.pack)
    lines = _at_once(Calls.lines)
    handle = _at_once(Calls.handle)
    remove = _at_once(Calls.remove)
    stats = _at_once(Calls.stats)
    unnamed = _at_once(Calls.unnamed)
    feedback = _at_once(Calls.feedback)

    def stream(
        self, log: Source, question: Question | None = None, *, service: str = "", name: str = "", store: bool = True
    ) -> Iterator[Event]:
        """Yield what the service says of a log: progress, verdicts, the report or a problem.

        Events are read when the log is sent: a log that is still being written is better given to the API itself.

        Raises:
            ClientError: The request was refused.
        """
        call = protocol.stream(log, question, About(service, name, store))
        try:
            with self._http.stream(
                call.method, call.path, params=call.query, content=protocol.pieces(log), headers=call.headers
            ) as response:
                if not response.is_success:
                    response.read()
                    protocol.check(response)
                for line in response.iter_lines():
                    if line:
                        yield loads(Event, line)
        except httpx.TransportError as error:
            raise UnreachableError(f"{self._http.base_url}: {str(error) or type(error).__name__}") from None

    async def _send(self, call: Call) -> httpx.Response:
        """Send a request, and once more where the service did not take it on."""
        for attempt in range(self._retries + 1):
            content = None if call.log is None else protocol.pieces(call.log)
            try:
                response = self._http.request(
                    call.method, call.path, params=call.query, content=content, json=call.json, headers=call.headers
                )
            except httpx.TransportError as error:
                raise UnreachableError(f"{self._http.base_url}: {str(error) or type(error).__name__}") from None
            if response.status_code not in TRY_AGAIN or attempt == self._retries or not call.repeatable:
                break
            time.sleep(protocol.wait_before(attempt, response))  # noqa: ASYNC251 - there is no loop to hold up
        return response
