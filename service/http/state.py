"""What the endpoints share: settings, the desk that answers, limits, history, chat. One for each application."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.requests import HTTPConnection

from ..reading import BodyMemory
from .keys import Key
from .limits import Pools, Rate
from .metrics import Metrics
from .recording import Recording
from .settings import Settings
from .work.dispatcher import Dispatcher

if TYPE_CHECKING:
    from ..chat import Chat
    from ..collect.collector import Collector
    from ..history import History
    from ..unnamed.keeper import Keeper
    from .opinions import Opinions
    from .sign_in.sessions import Sessions


@dataclass(slots=True)
class State:
    """Made by ``app.create_app``; what needs the event loop or the database comes when the service starts."""

    settings: Settings
    keys: tuple[Key, ...]
    hosts: frozenset[str]
    """Names that are answered, in lower case; empty means all."""
    desk: Dispatcher
    pools: Pools
    memory: BodyMemory
    rate: Rate
    metrics: Metrics
    sessions: Sessions | None = None
    """Where people sign in with an OpenID provider."""
    history: History | None = None
    chat: Chat | None = None
    collector: Collector | None = None
    """Where collectors' logs are taken."""
    opinions: Opinions | None = None
    """Where a model is asked."""
    unnamed: Keeper | None = None
    """What nobody has named, where there is a history."""
    recording: Recording = field(default_factory=Recording)
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the service is about to end."""
    loop: asyncio.AbstractEventLoop | None = None
    """While the service runs."""
    store: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4, "history"))
    """Where calls of the history wait for the disk."""

    def link(self, incident: str) -> str:
        """Return the absolute address of an incident's page; empty where none is known."""
        return f"{self.settings.public_url}/incidents/{incident}" if self.settings.public_url else ""


def state_of(request: HTTPConnection) -> State:
    """Return the state of the application that a request is for."""
    state: State = request.app.state.service
    return state
