"""Bodies of the hooks: held in memory, so small, and whole within seconds."""

from __future__ import annotations

from fastapi import HTTPException, Request

from ..reading import BodyError, Within, pieces

SECONDS = 10.0
"""For the whole of a body. Slack waits three seconds for its answer, Alertmanager ten."""
_STATUS = {"large": 413, "slow": 408, "busy": 503}


async def read_body(request: Request, limit: int) -> bytes:
    """Return the raw body.

    Raises:
        HTTPException: 413 where it is longer than ``limit``, 408 where it does not come in time, 503 where there is no room.
    """
    within = Within(size=limit, pause=SECONDS, seconds=SECONDS, kept=limit)
    try:
        return b"".join([piece async for piece in pieces(request, within)])
    except BodyError as error:
        headers = {"Connection": "close"} | ({"Retry-After": "1"} if error.kind == "busy" else {})
        raise HTTPException(_STATUS[error.kind], str(error), headers) from None
