"""The calls of the API, written once for both clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol
from urllib.parse import quote

import httpx2 as httpx

from ...classifier.question import Question
from ...classifier.report.pack.look import Look
from ...classifier.report.pack.model import BUDGET, Pack
from ..wire import (
    BatchAnswer,
    Bucket,
    Feedback,
    Incident,
    IncidentDetails,
    Incidents,
    Stats,
    TriageAnswer,
    Unnamed,
)
from . import protocol
from .protocol import About, Call, Source, given, of_incident


class Sender(Protocol):
    """What the calls need of a client."""

    async def _send(self, call: Call) -> httpx.Response: ...


class Calls:
    """What a client can ask."""

    async def triage(
        self: Sender,
        log: Source,
        question: Question | None = None,
        *,
        service: str = "",
        name: str = "",
        store: bool = True,
        ask: Literal["", "auto", "always", "never"] = "",
    ) -> TriageAnswer:
        """Return the answer for a log; a file is sent piece by piece, of any size.

        Args:
            log: The log.
            question: What is asked about it.
            service: Label of the service that it is of; incidents are counted for each.
            name: Of the log, to be shown; that of the file where it is one.
            store: Whether the answer is kept in the history.
            ask: When the service's model is asked for a second opinion, where that is not what its settings say. What it proposes
                stands in the incident's report (``incident``) as soon as it is there; ``asking`` says whether it is on the way.

        Raises:
            ClientError: There is none.
        """
        call = protocol.triage(log, question, About(service, name, store, ask))
        return protocol.result(await self._send(call), TriageAnswer)

    async def triage_as(
        self: Sender,
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
        self: Sender,
        logs: Iterable[dict[str, str]],
        question: Question | None = None,
        *,
        service: str = "",
        store: bool = True,
    ) -> BatchAnswer:
        """Return the answers for several logs, each a dictionary with ``log``, ``name`` and ``service``.

        Raises:
            ClientError: There are none.
        """
        call = protocol.batch(logs, question, About(service, store=store))
        return protocol.result(await self._send(call), BatchAnswer)

    async def plan(self: Sender, /, **asked: Any) -> dict[str, Any]:
        """Return whether a model fits (``gpu_memory``, ``model_config`` …: docs/http.md).

        Raises:
            ClientError: It cannot be told.
        """
        response = await self._send(Call("POST", "/v1/plan", json=given(asked)))
        protocol.check(response)
        found: dict[str, Any] = response.json()
        return found

    async def bucket(self: Sender, name: str) -> Bucket:
        """Return what a bucket is, and how it is fixed.

        Raises:
            ClientError: There is none of that name.
        """
        return protocol.result(await self._send(Call("GET", f"/v1/buckets/{quote(name, safe='')}")), Bucket)

    async def incidents(self: Sender, /, **wanted: Any) -> Incidents:
        """Return a page of incidents (``service``, ``bucket``, ``since`` …; ``cursor`` for the next).

        Raises:
            ClientError: They cannot be had.
        """
        return protocol.result(await self._send(Call("GET", "/v1/incidents", given(wanted))), Incidents)

    async def incident(self: Sender, id: str) -> IncidentDetails:  # noqa: A002 - its name in the API
        """Return all that is kept of an incident.

        Raises:
            ClientError: There is none.
        """
        return protocol.result(await self._send(Call("GET", of_incident(id))), IncidentDetails)

    async def pack(self: Sender, id: str, budget: int = BUDGET, *, candidates: bool = True) -> Pack:  # noqa: A002
        """Return the evidence of an incident, in so many characters (docs/pack.md).

        Raises:
            ClientError: There is none.
        """
        query = {"budget": budget, "candidates": str(candidates).lower()}
        return protocol.result(await self._send(Call("GET", of_incident(id, "/pack"), query)), Pack)

    async def lines(self: Sender, /, id: str, **asked: Any) -> Look:  # noqa: A002
        """Return lines that are kept of an incident (``lines``, ``find``, ``process``, ``budget``).

        Raises:
            ClientError: There are none.
        """
        return protocol.result(await self._send(Call("GET", of_incident(id, "/lines"), given(asked))), Look)

    async def handle(self: Sender, /, id: str, **change: Any) -> Incident:  # noqa: A002
        """Acknowledge, mute or assign an incident (``state``, ``muted_until``, ``assignee``); return it as it is then.

        Raises:
            ClientError: It was not changed.
        """
        # An empty name takes an assignment back: nothing that was given is left out.
        said = {key: value.isoformat() if hasattr(value, "isoformat") else value for key, value in change.items()}
        return protocol.result(await self._send(Call("PATCH", of_incident(id), json=said)), Incident)

    async def remove(self: Sender, id: str) -> None:  # noqa: A002
        """Remove an incident.

        Raises:
            ClientError: It was not removed.
        """
        protocol.check(await self._send(Call("DELETE", of_incident(id))))

    async def stats(self: Sender, /, **span: Any) -> Stats:
        """Return counts over time (``since``, ``until``, ``step``, ``service``).

        Raises:
            ClientError: They cannot be had.
        """
        return protocol.result(await self._send(Call("GET", "/v1/incidents/stats", given(span))), Stats)

    async def unnamed(self: Sender) -> Unnamed:
        """Return not named yet, in groups; ``pending`` says to ask again.

        Raises:
            ClientError: It cannot be had.
        """
        return protocol.result(await self._send(Call("GET", "/v1/unnamed")), Unnamed)

    async def feedback(
        self: Sender,
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
        more = given({"bucket": bucket, "cause": cause, "note": note, "new": new or None})
        said = {"incident": incident, "verdict": verdict, **more}
        return protocol.result(await self._send(Call("POST", "/v1/feedback", json=said)), Feedback)
