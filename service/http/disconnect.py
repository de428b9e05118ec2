"""Work that nobody waits for any more is dropped: a client that leaves takes along what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from ..reading import STATE_KEY, Hold

Done = TypeVar("Done")


async def cancel_on_disconnect(request: Request, work: Coroutine[Any, Any, Done]) -> Done:
    """Return what work comes to, for as long as the client waits for it.

    While its body comes in, reading that notices a client that leaves; from then on this does.

    Raises:
        ClientDisconnect: The client is gone; the work was cancelled.
    """
    hold: Hold = request.scope["state"][STATE_KEY]
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request, hold))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        # What was cancelled is over before the request is.
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(request: Request, hold: Hold) -> None:
    await hold.complete.wait()
    while (await request.receive())["type"] != "http.disconnect":
        pass
