"""``/healthz``, ``/readyz``, ``/metrics``: for probes and Prometheus. No key is asked for."""

from __future__ import annotations

import contextlib
from typing import Any

from fastapi import APIRouter, Request, Response

from ...wire import Health, MessageLane, dumps
from .. import problems
from ..metrics import CONTENT_TYPE
from ..problems import Problem
from ..settings import Settings
from ..state import state_of
from .messages import lanes


def routes(settings: Settings) -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(tags=["operations"])
    add, errors = router.add_api_route, problems.responses()
    add("/healthz", alive, response_model=Health, responses=errors, summary="Is the process alive?")
    not_ready: dict[int | str, dict[str, Any]] = {503: {"model": Health, "description": "It is not: `checks` says why"}}
    add(
        "/readyz", ready, response_model=Health, responses={**errors, **not_ready},
        summary="Should requests be sent to it?",
    )  # fmt: skip
    if settings.metrics:
        page: dict[int | str, dict[str, Any]] = {
            200: {"description": "Prometheus text format", "content": {"text/plain": {"schema": {"type": "string"}}}}
        }
        add("/metrics", metrics, response_model=None, responses={**errors, **page}, summary="Figures for Prometheus")
    return router


async def alive() -> dict[str, str]:
    """Answer as long as the event loop turns."""
    return {"status": "ok"}


async def ready(request: Request) -> Response:
    """Answer 200 where the corpus is loaded and the service is not about to end; `checks` tells of history and sign-in as well.

    The history is written to, to see whether it can be. Where it cannot, the status is `degraded` and the code stays 200: logs
    are answered all the same, and say `not_recorded`. The same where the provider is away, by whom people sign in.
    """
    state = state_of(request)
    trouble = await state.recording.look(state)
    checks = {
        "corpus": "ok" if state.desk.engine.corpus.rules else "empty",
        "history": f"not written: {trouble}" if trouble else "none" if state.history is None else "ok",
        "draining": "yes" if state.draining.is_set() else "no",
    }
    if state.sessions is not None:
        checks["sign_in"] = state.sessions.trouble or "ok"
        trouble = trouble or state.sessions.trouble
    good = checks["corpus"] == "ok" and checks["draining"] == "no"
    body = dumps(Health(status="not ready" if not good else "degraded" if trouble else "ok", checks=checks))
    return Response(body, 200 if good else 503, media_type="application/json")


async def metrics(request: Request) -> Response:
    """Return the figures of all workers."""
    state = state_of(request)
    waiting: tuple[MessageLane, ...] = ()
    if state.history is not None and state.chat is not None:
        # Where the history is away, the other figures are wanted all the more.
        with contextlib.suppress(Problem):
            waiting = await lanes(state)
    return Response(state.metrics.page(waiting), media_type=CONTENT_TYPE)
