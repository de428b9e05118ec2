"""The answer first, the history second: keeps reports where they can be kept, and says why where not.

While the history cannot be written, logs are answered all the same, and say `not_recorded`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from ...classifier.report.model import Report
from ..wire import Incident
from .problems import Problem

if TYPE_CHECKING:
    from .state import State

SENTENCE = "While the history cannot be written, logs are answered all the same, and say `not_recorded`."
"""What docs and alert rules say of it, too."""
WAIT = 10.0
"""Seconds that an answer waits for being recorded."""
PROBE = 2.0
"""Seconds that whoever asks how the history is waits for it: probes of Kubernetes take longer for a failure."""
REST = 2.0
"""Seconds for which nobody waits for a history that has failed; then one answer tries."""
LATE = "the history did not answer in time"
_log = logging.getLogger("vllm_triage.http")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of an answer: an incident, or why there is none that should be. Neither where nothing is to be kept."""

    incident: Incident | None = None
    not_recorded: str = ""


@dataclass(slots=True)
class Trouble:
    """What is wrong with the history, as far as is known."""

    reason: str = ""
    """Empty where the latest attempt went well."""
    until: float = 0.0
    """By the loop's clock: before that nobody tries."""
    failures: int = 0
    """How often it failed so far."""

    def rests(self) -> bool:
        """Return whether the history is left alone now; of those who ask when that is over, one may try."""
        now = asyncio.get_running_loop().time()
        if not self.reason or now >= self.until:
            self.until = now + REST
            return False
        return True

    def failed(self, reason: str) -> None:
        """Note that it failed."""
        if reason != self.reason:
            _log.error("answers are not recorded", extra={"reason": reason})
        self.failures += 1
        self.reason, self.until = reason, asyncio.get_running_loop().time() + REST

    def went_well(self) -> None:
        """Note that it is well."""
        if self.reason:
            _log.warning("answers are recorded again")
        self.reason = ""


@dataclass(slots=True)
class Recording:
    """The history of one application, as answers are kept in it."""

    trouble: Trouble = field(default_factory=Trouble)
    looking: asyncio.Task[tuple[None, str]] | None = None
    """An attempt to see how the history is; one at a time, as each may hold a thread for long."""

    async def keep(
        self, state: State, report: Report, service: str, name: str | Sequence[str], tenant: str = "", once: str = ""
    ) -> Kept:
        """Keep a report; nothing is kept without history, and where there is no failure, or none that counts."""
        history = state.history
        if history is None or not report.failed:
            return Kept()
        if self.trouble.rests():
            reason = self.trouble.reason
        else:
            incident, reason = await self._try(
                state, lambda: history.record(report, service=service, name=name, tenant=tenant, once=once)
            )
            if incident is not None:
                state.metrics.stored.labels(str(incident.new).lower()).inc()
                return Kept(incident)
        state.metrics.lost.inc()
        return Kept(not_recorded=reason)

    async def look(self, state: State) -> str:
        """Return why the history cannot be written to now; empty where it can. It is told within moments.

        A history that takes longer than that is not taken for one that has failed: answers go on to wait for it.
        """
        if state.history is None:
            return ""
        if self.looking is None or self.looking.done():
            self.looking = asyncio.create_task(self._try(state, state.history.ping))
        try:
            _, reason = await asyncio.wait_for(asyncio.shield(self.looking), PROBE)
        except TimeoutError:
            return self.trouble.reason or LATE
        return reason

    async def _try(self, state: State, call: Callable[[], Found]) -> tuple[Found | None, str]:
        """Return what a call gives, or why there is nothing."""
        from ..history import HistoryError

        loop, trouble, before = asyncio.get_running_loop(), self.trouble, self.trouble.failures

        def attempt() -> Found:
            if trouble.failures != before and trouble.reason:
                # While this one waited, another found out.
                raise HistoryError(trouble.reason, trouble.reason)
            return call()

        try:
            with state.pools.history:
                # Shielded: what has begun ends, and a thread is not interrupted anyway.
                working = loop.run_in_executor(state.store, attempt)
                found = await asyncio.wait_for(asyncio.shield(working), WAIT)
        except HistoryError as error:
            _log.debug("history failed", extra={"reason": str(error)})
            self.trouble.failed(error.reason)
            return None, error.reason
        except TimeoutError:
            working.add_done_callback(lambda done: done.cancelled() or done.exception())
            self.trouble.failed(LATE)
            return None, LATE
        except Problem:
            # More than it can do: that is no fault of its own.
            return None, "too many answers at once"
        self.trouble.went_well()
        return found, ""
