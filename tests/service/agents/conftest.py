"""What the tests of the agents' server share: a log, a desk that may read its folder, and a client in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import Client

from vllm_triage.classifier.api import shared
from vllm_triage.service.agents.desk import Desk
from vllm_triage.service.agents.server import make_server

ROOT = Path(__file__).parents[3]
LOG = ROOT / "corpus/logs/written/kv-cache-too-small.log"


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the server is run on."""
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that may be read, with a log in it."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/server.log").write_bytes(LOG.read_bytes())
    return tmp_path / "logs"


@pytest.fixture
def ask(folder: Path) -> Callable[..., AbstractAsyncContextManager[Client]]:
    """Return the SDK's client, connected to a server in this process."""

    @asynccontextmanager
    async def connected(**given: Any) -> AsyncIterator[Client]:
        desk = Desk(shared(), **{"roots": [folder], **given})
        async with Client(make_server(desk)) as client:
            yield client

    return connected
