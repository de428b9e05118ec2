"""What platforms have in common that only take messages, and those to which a message can only be sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .interface import Event, Outgoing, selects
from .settings import Selection

if TYPE_CHECKING:
    from .interface import ChatContext


class Targets:
    """An adapter without endpoints: nothing calls in.

    Args:
        targets: Where messages go.
    """

    def __init__(self, targets: Iterable[Outgoing]) -> None:
        self._targets = list(targets)

    def routes(self, context: ChatContext) -> None:
        """Return None."""

    def outgoing(self, context: ChatContext) -> list[Outgoing]:  # noqa: ARG002
        """Return the targets."""
        return self._targets


class Target:
    """A place whose messages cannot be changed once they are sent.

    Args:
        name: In logs and metrics.
        select: Which incidents it wants.
    """

    def __init__(self, name: str, select: Selection) -> None:
        self.name = name
        self._select = select

    def wants(self, event: Event) -> bool:
        """Return whether the filter lets the event through."""
        return selects(self._select, event)

    def again(self, event: Event) -> None:
        """Do nothing: there is one message for each incident and window."""

    def send(self, event: Event) -> None:
        """Deliver a message; see `Outgoing`."""
        raise NotImplementedError
