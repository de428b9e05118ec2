"""What chat-ops get of the service: answers from threads of their own, links, the history."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from ...classifier.errors import InputError
from ...classifier.report.model import Report
from .problems import Problem
from .request import file_name, label
from .state import State
from .work.jobs import Job

if TYPE_CHECKING:
    from ..chat import Chat
    from ..chat.interface import Source
    from ..wire import Incident

PIECE = 1 << 18
"""Bytes of a log that are handed on at a time."""
BUSY = 503
"""Status of what may work out later."""


def open_chat(state: State) -> Chat | None:
    """Return the chats that are configured; None where there are none."""
    chat = state.settings.chat
    if not chat.platforms:
        return None
    from ..chat import Chat
    from ..chat.interface import BusyError

    def triage(
        source: Source, *, service: str = "", name: str = "", store: bool = True
    ) -> tuple[Report, Incident | None]:
        work = _triage(state, source, Job(name=file_name(name)), label(service) if store else None)
        if state.loop is None:
            work.close()
            raise BusyError
        try:
            return asyncio.run_coroutine_threadsafe(work, state.loop).result()
        except Problem as problem:
            if problem.status == BUSY:
                raise BusyError from None
            raise InputError(problem.detail) from None
        except concurrent.futures.CancelledError:
            # The service is shutting down.
            raise BusyError from None

    def record(report: Report, service: str, names: Sequence[str]) -> Incident | None:
        if state.loop is None:
            raise BusyError
        keeping = _kept(state, report, label(service), [file_name(name) for name in names])
        try:
            return asyncio.run_coroutine_threadsafe(keeping, state.loop).result()
        except concurrent.futures.CancelledError:
            raise BusyError from None

    return Chat(
        chat, triage=triage, record=record, link=state.link, history=state.history, counted=state.metrics.message
    )


async def _triage(state: State, source: Source, job: Job, service: str | None) -> tuple[Report, Incident | None]:
    answer = await state.desk.triage(_pieces(source), lambda: job, "chats")
    state.metrics.answered(answer.report)
    if service is None:
        return answer.report, None
    return answer.report, await _kept(state, answer.report, service, job.name)


async def _kept(state: State, report: Report, service: str, name: str | Sequence[str]) -> Incident | None:
    """Keep an answer, and have a model asked about it where that is wanted; what comes of it is shown in its message."""
    incident = (await state.recording.keep(state, report, service, name)).incident
    if incident is not None and state.opinions is not None:
        state.opinions.later(state, report, incident, "", None)
    return incident


async def _pieces(source: Source) -> AsyncIterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    while piece := await asyncio.to_thread(source.read, PIECE):
        yield piece
