"""Bodies of the hooks: held in memory, so small."""

from __future__ import annotations

from fastapi import HTTPException, Request


async def read_body(request: Request, limit: int) -> bytes:
    """Return the raw body.

    Raises:
        HTTPException: 413, where it is longer than ``limit``.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise HTTPException(413, f"more than {limit} bytes")
    return bytes(body)
