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

from ...classifier.errors import TriageError
from ..letter import Letter
from .alert import Alert
from .alert_work import AlertWork
from .bodies import read_body
from .interface import ALERTS as LANE
from .interface import BusyError, ChatContext, Outgoing, new_id
from .letters import pack_alerts, unpack_alerts
from .platforms.alertmanager import AlertmanagerSettings

log = logging.getLogger("vllm_triage.chat")

BODY = 32 << 20
"""Bytes of a request: annotations may carry logs."""
TOO_LARGE = 413
WAITING = 2048
"""Notifications that wait to be written down."""


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
        context.work_off_alerts = lambda bodies: work.take_all(
            [alert for body in bodies for alert in unpack_alerts(body)]
        )
        # Writing a letter takes a moment; who waits for that holds a body.
        limiter, waiting = anyio.CapacityLimiter(4), Waiting(WAITING)

        async def alertmanager(request: Request) -> dict[str, Any]:
            authenticate(request.headers.get("authorization", ""), request.headers.get("x-api-key", ""), self._settings)
            try:
                body = await read_body(request, BODY)
            except HTTPException as error:
                if error.status_code == TOO_LARGE:
                    log.warning(
                        "a notification of alerts has more than %d MiB: set max_alerts in Alertmanager's receiver",
                        BODY >> 20,
                    )
                raise
            with waiting:
                try:
                    taken = await anyio.to_thread.run_sync(self._take_down, context, body, limiter=limiter)
                except ValidationError:
                    text = "This is not a notification of Alertmanager's webhook, version 4."
                    raise HTTPException(422, text) from None
                except (BusyError, TriageError) as error:
                    # Alertmanager tries again: nothing was taken.
                    log.warning("a notification of alerts was not taken: %s", type(error).__name__)
                    raise _later("The notification cannot be kept right now: send it again.") from None
            return taken

        router.add_api_route(
            "/v1/hooks/alertmanager", alertmanager, methods=["POST"], status_code=202, name="alertmanager"
        )
        return router

    def _take_down(self, context: ChatContext, body: bytes) -> dict[str, Any]:
        """Keep a notification, to be handled afterwards; return how many alerts it holds."""
        notification = Notification.model_validate_json(body)
        if notification.truncated:
            log.warning("Alertmanager left out %d alerts of a notification (max_alerts)", notification.truncated)
            context.counted(LANE, "truncated", notification.truncated)
        context.take_in([Letter(LANE, new_id("alerts"), packed) for packed in pack_alerts(notification.alerts)])
        return {"taken": len(notification.alerts), "left_out_by_alertmanager": notification.truncated}


class Waiting:
    """Bounds how many notifications wait to be written down.

    Args:
        most: How many.
    """

    def __init__(self, most: int) -> None:
        self._left = most

    def __enter__(self) -> None:
        if not self._left:
            raise _later("Too many notifications at once: send it again.")
        self._left -= 1

    def __exit__(self, *_error: object) -> None:
        self._left += 1


def _later(text: str) -> HTTPException:
    return HTTPException(503, text, headers={"Retry-After": "5"})


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
