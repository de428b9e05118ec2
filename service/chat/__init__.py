"""Chat-ops: Slack, webhooks out, Alertmanager in; the service needs this class and the settings only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .deduplicate import Once
from .interface import Adapter, Ask, ChatContext, Event, Outgoing, event_of
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


@dataclass(frozen=True)
class Figures:
    """For the metrics."""

    deliveries: Mapping[tuple[str, str], int]
    """(target, outcome) to number; outcomes are ``sent``, ``updated``, ``retried``, ``dead`` and ``refused``."""
    waiting: int
    """Messages and jobs that wait."""


class Chat:
    """The configured platforms, wired to the service.

    Args:
        settings: What is configured.
        triage: See `ChatContext.triage`.
        link: Makes an absolute URL of an incident id; an empty text where no public URL is known.
        history: None in stateless mode.
    """

    def __init__(
        self,
        settings: ChatSettings,
        *,
        triage: Ask,
        link: Callable[[str], str] = lambda _: "",
        history: History | None = None,
    ) -> None:
        once = Once(history)
        self._jobs = Background("chat-job", settings.notify.queue, settings.notify.workers)
        self.context = context = ChatContext(settings, triage, link, history)
        context.once, context.once_each, context.forget = once, once.each, once.forget
        context.run_in_background = self._jobs.submit
        self._adapters = adapters(settings)
        targets = [target for adapter in self._adapters for target in adapter.outgoing(context)]
        self._notifier = Notifier(settings.notify, once, targets)
        context.notify, context.resolve = self._notifier.notify, self._notifier.resolve

    def routers(self) -> list[APIRouter]:
        """Return the endpoints of all platforms, to be included without a prefix."""
        return [router for adapter in self._adapters if (router := adapter.routes(self.context)) is not None]

    def notify(self, report: Report, incident: Incident | None, *, service: str = "", name: str = "") -> None:
        """Tell the targets about an answered log; nothing happens where it holds no failure that counts. Returns at once."""
        if self._notifier.active and report.failed:
            self._notifier.notify(event_of(self.context, report, incident, service=service, name=name))

    @property
    def figures(self) -> Figures:
        """What was delivered so far."""
        return Figures(dict(self._notifier.figures), self._jobs.waiting + self._notifier.waiting)

    def close(self) -> None:
        """Finish what was taken on, within the time that the settings give. Blocks."""
        self._jobs.close(self.context.settings.notify.drain_seconds)
        self._notifier.close()
