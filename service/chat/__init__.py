"""Chat-ops: Slack, webhooks out, Alertmanager in; the service needs this class and the settings only."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from .alerts import Alerts
from .deduplicate import Once
from .firing import Firing
from .interface import ALERTS, Adapter, Ask, BusyError, ChatContext, Event, Outgoing, event_of
from .notify import Notifier
from .registry import adapters
from .settings import ChatSettings
from .work_queue import Background

if TYPE_CHECKING:
    from fastapi import APIRouter

    from ...classifier.report.model import Report
    from ..history import History
    from ..wire import Incident

__all__ = ["Adapter", "Chat", "ChatContext", "ChatSettings", "Event", "Outgoing", "adapters"]

log = logging.getLogger("vllm_triage.chat")


@dataclass(frozen=True)
class Figures:
    """For the metrics."""

    deliveries: Mapping[tuple[str, str], int]
    """(target, outcome) to number; outcomes are ``sent``, ``digest``, ``gathered`` (kept back for a digest), ``updated``,
    ``retried``, ``dead`` and ``refused``."""
    waiting: int
    """Messages, alerts and jobs that wait."""


class Chat:
    """The configured platforms, wired to the service.

    Args:
        settings: What is configured.
        triage: See `ChatContext.triage`.
        record: See `ChatContext.record`.
        link: Makes an absolute URL of an incident id; an empty text where no public URL is known.
        history: None in stateless mode.
        counted: Told what became of messages and alerts: target (or ``alerts``), outcome, number.
    """

    def __init__(
        self,
        settings: ChatSettings,
        *,
        triage: Ask,
        record: Callable[[Report, str, Sequence[str]], Incident | None] = lambda *_: None,
        link: Callable[[str], str] = lambda _: "",
        history: History | None = None,
        counted: Callable[[str, str, int], None] = lambda *_: None,
    ) -> None:
        once = Once(history)
        self._outbox = history.outbox if history is not None else None
        self._jobs = Background("chat-job", settings.notify.queue, settings.notify.workers)
        self.context = context = ChatContext(settings, triage, record, link, history)
        context.once, context.forget = once, once.forget
        context.firing = Firing(history, settings.notify.window_seconds, once.forget)
        context.run_in_background = self._jobs.submit
        context.counted, context.alerts_done = counted, self._alerts_done
        context.work_off_alerts = lambda _: None
        self._alerts = Alerts(context, self._outbox, settings.notify)
        context.take_in = self._alerts.take_in
        self._adapters = adapters(settings)
        targets = [target for adapter in self._adapters for target in adapter.outgoing(context)]
        self._notifier = Notifier(settings.notify, once, targets, self._outbox, counted, self._muted)
        context.tell, context.tell_each = self._notifier.tell, self._notifier.tell_each
        context.resolve = self._notifier.resolve

    def start(self) -> None:
        """Begin with what an earlier process has left."""
        self._alerts.start()
        self._notifier.start()

    def routers(self) -> list[APIRouter]:
        """Return the endpoints of all platforms, to be included without a prefix."""
        return [router for adapter in self._adapters if (router := adapter.routes(self.context)) is not None]

    def notify(
        self, report: Report, incident: Incident | None, *, service: str = "", name: str = "", tenant: str = ""
    ) -> None:
        """Tell the targets about an answered log; nothing happens where it holds no failure that counts. Returns at once."""
        if self._notifier.active and report.failed:
            self._notifier.notify(event_of(self.context, report, incident, service=service, name=name, tenant=tenant))

    def first_sight(
        self, report: Report, incident: Incident | None, *, service: str = "", name: str = "", tenant: str = ""
    ) -> Callable[[], None] | None:
        """Return what writes messages down that may be the first of their window; None where `notify` will do.

        A message that is written down survives the death of the process. Calling it waits for the disk.
        """
        if not self._notifier.active or not report.failed or incident is None:
            return None
        event = event_of(self.context, report, incident, service=service, name=name, tenant=tenant)
        return (lambda: self._notifier.tell(event)) if self._notifier.fresh(event) else None

    def consider(self, report: Report, incident: Incident, *, tenant: str = "") -> None:
        """Show a second opinion that came to an incident: in the messages that stand, or behind those that cannot be changed."""
        event = event_of(self.context, report, incident, service=incident.service, tenant=tenant)
        self._notifier.consider(event)
        for show in self.context.shown_anew:
            try:
                self._jobs.submit(partial(show, event))
            except BusyError:
                log.warning("a second opinion is not shown: too much waits")

    @property
    def figures(self) -> Figures:
        """What was delivered so far."""
        held = self._jobs.waiting + self._notifier.waiting + self._alerts.busy
        kept = sum(lane.waiting for lane in self._outbox.figures()) if self._outbox is not None else 0
        return Figures(dict(self._notifier.figures), held + kept)

    def close(self) -> None:
        """Finish what was taken on, within the time that the settings give; what is in the outbox stays there. Blocks."""
        seconds = self.context.settings.notify.drain_seconds
        self._jobs.close(seconds)
        self._alerts.close(seconds)
        self._notifier.close()

    def _muted(self, event: Event) -> bool:
        history = self.context.history
        return history is not None and event.incident is not None and history.muted(event.incident.id)

    def _alerts_done(self, results: Sequence[Mapping[str, Any]]) -> None:
        outcomes = Counter(str(result["outcome"]) for result in results)
        for outcome, number in outcomes.items():
            self.context.counted(ALERTS, outcome, number)
        log.info("alerts", extra={f"alerts_{outcome}": number for outcome, number in outcomes.items()})
