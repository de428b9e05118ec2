"""Alertmanager's webhook (version 4) in: alerts about vLLM servers become answered incidents."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
from typing import Annotated, Any, Literal

import anyio
from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .alert_work import Alert, AlertWork
from .bodies import read_body
from .interface import BusyError, ChatContext, Outgoing
from .platforms.alertmanager import AlertmanagerSettings

log = logging.getLogger("vllm_triage.chat")

BODY = 32 << 20
"""Bytes of a request: annotations may carry logs."""


class Notification(BaseModel):
    """What Alertmanager posts; fields that are of no use here are left out."""

    model_config = ConfigDict(extra="ignore")

    version: Literal["4"]
    status: Literal["firing", "resolved"]
    group_key: str = Field("", alias="groupKey")
    truncated: Annotated[int, Field(alias="truncatedAlerts", ge=0)] = 0
    alerts: list[Alert]


class AlertmanagerAdapter:
    """One endpoint, and no target of messages."""

    def __init__(self, settings: AlertmanagerSettings) -> None:
        self._settings = settings

    def outgoing(self, context: ChatContext) -> list[Outgoing]:  # noqa: ARG002
        """Return nothing: Alertmanager takes no answers."""
        return []

    def routes(self, context: ChatContext) -> APIRouter:
        """Return the receiver."""
        router = APIRouter(tags=["hooks"], include_in_schema=False)
        work = AlertWork(self._settings, context)
        # Two at a time: alerts must not take the threads that requests of people need.
        limiter = anyio.CapacityLimiter(2)

        async def alertmanager(request: Request) -> dict[str, Any]:
            authenticate(request.headers.get("authorization", ""), request.headers.get("x-api-key", ""), self._settings)
            body = await read_body(request, BODY)
            try:
                notification = Notification.model_validate_json(body)
            except ValidationError:
                raise HTTPException(422, "This is no notification of Alertmanager's webhook, version 4.") from None
            alerts = notification.alerts[: self._settings.max_alerts]
            left_out = len(notification.alerts) - len(alerts) + notification.truncated
            if left_out:
                log.warning("%d alerts of one notification were not looked at", left_out)
            try:
                results = await anyio.to_thread.run_sync(work.take_all, alerts, limiter=limiter)
            except BusyError:
                # Alertmanager tries again; what was told already is then only repeated.
                raise HTTPException(503, "too much to do right now", headers={"Retry-After": "10"}) from None
            return {"results": results, "left_out": left_out}

        router.add_api_route("/v1/hooks/alertmanager", alertmanager, methods=["POST"], name="alertmanager")
        return router


def authenticate(authorization: str, api_key: str, settings: AlertmanagerSettings) -> None:
    """Check what a request brings to prove itself.

    Raises:
        HTTPException: 401.
    """
    if settings.anonymous:
        return
    scheme, _, given = authorization.partition(" ")
    token = settings.token.get_secret_value()
    if token and _same(api_key or (given.strip() if scheme.lower() == "bearer" else ""), token):
        return
    if settings.username and scheme.lower() == "basic":
        try:
            pair = base64.b64decode(given.strip(), validate=True).decode()
        except (binascii.Error, ValueError):
            pair = ""
        if _same(pair, f"{settings.username}:{settings.password.get_secret_value()}"):
            return
    raise HTTPException(
        401,
        "The alert receiver needs its own credentials, as the settings name them.",
        headers={"WWW-Authenticate": "Bearer, Basic", "Connection": "close"},
    )


def _same(given: str, wanted: str) -> bool:
    # Digests: a comparison that tells not even the length.
    return hmac.compare_digest(hashlib.sha256(given.encode()).digest(), hashlib.sha256(wanted.encode()).digest())
