"""Asks a model about what was answered: behind the answers, one question after the other, and in nobody's way."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ...classifier.errors import TriageError
from ...classifier.report.model import Report
from ..ask.questions import AskError, Later, Mode, Questions, is_wanted
from ..fingerprint import fingerprint
from .problems import Problem
from .respond import in_store

if TYPE_CHECKING:
    from ...classifier.proposal import Proposal
    from ..history import History
    from ..wire import Incident
    from .settings import ServiceSettings
    from .state import State

WAITING = 64
"""Incidents that may wait to be asked about; of more the newest are left out."""
_log = logging.getLogger("vllm_triage.http")


@dataclass(frozen=True, slots=True)
class _Wanted:
    report: Report
    incident: Incident
    tenant: str


class Opinions:
    """The questions of one application.

    Args:
        questions: Asks.
        mode: When, where a request does not say.
    """

    def __init__(self, questions: Questions, mode: Mode) -> None:
        self._questions = questions
        self._mode = mode
        self._queue: asyncio.Queue[_Wanted] = asyncio.Queue(WAITING)
        # A question waits for a model, minutes perhaps, and checking an answer reads the evidence once more.
        self._thread = ThreadPoolExecutor(1, "opinions")
        self._working: asyncio.Task[None] | None = None

    def later(self, state: State, report: Report, incident: Incident, tenant: str, mode: Mode | None) -> bool:
        """Ask about an answer when there is time; return whether that is going to happen."""
        if not is_wanted(report, mode or self._mode):
            return False
        try:
            self._queue.put_nowait(_Wanted(report, incident, tenant))
        except asyncio.QueueFull:
            state.metrics.asked.labels("left out").inc()
            return False
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work(state))
        return True

    async def close(self) -> None:
        """Stop asking; a question under way is not waited for."""
        if self._working is not None:
            self._working.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _work(self, state: State) -> None:
        while not self._queue.empty():
            try:
                state.metrics.asked.labels(await self._one(state, self._queue.get_nowait())).inc()
            except (AskError, Problem) as error:
                state.metrics.asked.labels("failed").inc()
                _log.warning("no second opinion", extra={"reason": str(error)})
            except Exception:  # noqa: BLE001 - the next question is asked all the same
                state.metrics.asked.labels("failed").inc()
                _log.exception("no second opinion")

    async def _one(self, state: State, wanted: _Wanted) -> str:
        """Ask about an answer and put what holds into its incident; return what came of it."""
        history = state.history
        assert history is not None  # noqa: S101 - create_app has looked
        proposal = await self._proposal(state, history, wanted)
        engine = state.desk.engine
        made = await asyncio.get_running_loop().run_in_executor(
            self._thread, history.take_in, wanted.incident.id, lambda report: engine.consider(report, [proposal])
        )
        if made is None:
            return "too late"
        if not any(fix.proposed_by for fix in made.fixes):
            return "nothing held"
        if (chat := state.chat) is not None:
            tell = partial(chat.consider, made, wanted.incident, tenant=wanted.tenant)
            await asyncio.get_running_loop().run_in_executor(self._thread, tell)
        return "shown"

    async def _proposal(self, state: State, history: History, wanted: _Wanted) -> Proposal:
        key = fingerprint(wanted.report)
        known = await in_store(state, lambda: history.proposal(key, tenant=wanted.tenant))
        if known is not None:
            return known
        made = await asyncio.get_running_loop().run_in_executor(self._thread, self._questions.ask, wanted.report)
        await in_store(state, lambda: history.keep_proposal(key, made, tenant=wanted.tenant))
        return made


def open_opinions(settings: ServiceSettings) -> Opinions | None:
    """Return what asks; None where no endpoint is set.

    Raises:
        ValueError: The settings make no sense, or what they need is not installed.
    """
    if not settings.ask or settings.ask_when == "never":
        return None
    if not settings.database_url:
        raise ValueError("ask needs a history: there is no place for what comes after the answer")
    try:
        asked = Later(settings.ask, settings.ask_model, settings.ask_key.get_secret_value())
    except TriageError as error:
        raise ValueError(f"ask: {error}") from None
    return Opinions(Questions(asked, settings.ask_when, settings.ask_per_hour), settings.ask_when)
