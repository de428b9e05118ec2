"""A bare Starlette application with the same call: what the service's own work is measured against. ``uvicorn bare:app``."""

from __future__ import annotations

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vllm_triage.classifier.api import shared

_ONE = ThreadPoolExecutor(1)
gc.set_threshold(200_000, 50, 50)


async def triage(request: Request) -> Response:
    """Answer a log."""
    log = await request.body()
    text = await asyncio.get_running_loop().run_in_executor(_ONE, lambda: shared().report(log).to_json())
    return Response(text, media_type="application/json")


async def ready(_request: Request) -> Response:
    """Say that it is there."""
    shared()
    return Response("ok")


app = Starlette(routes=[Route("/v1/triage", triage, methods=["POST"]), Route("/readyz", ready)])
