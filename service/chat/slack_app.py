"""Slack: the endpoints that it calls, and the channel that incidents are told in."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from concurrent.futures import ThreadPoolExecutor

from fastapi import APIRouter, HTTPException, Request, Response
from slack_bolt import App
from slack_bolt.adapter.starlette.handler import to_bolt_request, to_starlette_response
from slack_sdk.signature import SignatureVerifier

from .bodies import read_body
from .interface import ChatContext, Outgoing
from .platforms.slack import SlackSettings
from .slack_bot import bolt_app
from .slack_post import Slack, SlackTarget

log = logging.getLogger("vllm_triage.chat")

BODY = 1 << 20
"""Bytes of a request; Slack's own limit for a message is 40,000 characters."""

WINDOW = 300
"""Seconds to either side of now in which a request of Slack is taken."""
REPLAY_SECONDS = 2 * WINDOW
"""A request that came early is good until its window is over."""
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}", re.ASCII)


class SlackAdapter:
    """A Slack app in one workspace."""

    def __init__(self, settings: SlackSettings) -> None:
        self._settings = settings
        self._slack = Slack(settings)

    def outgoing(self, context: ChatContext) -> list[Outgoing]:
        """Return the channel, if one is set."""
        context.shown_anew.append(self._slack.show_opinion)
        return [SlackTarget(self._settings, self._slack)] if self._settings.channel else []

    def routes(self, context: ChatContext) -> APIRouter:
        """Return the three addresses of the app's manifest."""
        router = APIRouter(prefix="/v1/hooks/slack", tags=["hooks"], include_in_schema=False)
        endpoint = SlackEndpoint(self._settings, context, bolt_app(self._settings, context, self._slack))
        for name in ("events", "commands", "interactions"):
            router.add_api_route(f"/{name}", endpoint.handle, methods=["POST"], name=f"slack_{name}")
        return router


class SlackEndpoint:
    """Lets in what Slack signed, once."""

    def __init__(self, settings: SlackSettings, context: ChatContext, app: App) -> None:
        self._verifier = SignatureVerifier(settings.signing_secret.get_secret_value())
        self._context = context
        self._app = app
        # Threads of their own: the service's may all be reading logs, and Slack waits three seconds at most.
        self._threads = ThreadPoolExecutor(4, "chat-slack")

    async def handle(self, request: Request) -> Response:
        """Verify the raw body and hand it to Bolt."""
        # What cannot be genuine whatever the body is, is refused before that is read.
        self._timely(request)
        body = await read_body(request, BODY)
        signature = self._verified(request, body)
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._dispatch, request, body, signature)

    def _timely(self, request: Request) -> tuple[str, str]:
        """Return time and signature of a request, if they look like Slack's and the time is now.

        Raises:
            HTTPException: 401.
        """
        timestamp = request.headers.get("x-slack-request-timestamp", "")
        signature = request.headers.get("x-slack-signature", "")
        told = timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12
        if not told or abs(time.time() - int(timestamp)) > WINDOW or not _SIGNATURE.fullmatch(signature):
            raise _unsigned()
        return timestamp, signature

    def _verified(self, request: Request, body: bytes) -> str:
        """Return the signature, if it is genuine; Bolt would write a body with a wrong one to its log."""
        timestamp, signature = self._timely(request)
        try:
            genuine = self._verifier.is_valid(body, timestamp, signature)
        except UnicodeDecodeError:
            genuine = False
        if not genuine:
            raise _unsigned()
        return signature

    def _dispatch(self, request: Request, body: bytes, signature: str) -> Response:
        key = f"slack:request:{hashlib.sha256(signature.encode()).hexdigest()[:32]}"
        if not self._context.once(key, REPLAY_SECONDS)[0]:
            log.info("a request of Slack came twice; nothing was done")
            return Response(status_code=200)
        try:
            answer = self._app.dispatch(to_bolt_request(request, body))
        except (AttributeError, KeyError, TypeError, ValueError):
            # What listeners raise is handled in Bolt: this body has no form that Bolt knows.
            raise HTTPException(400, "the body is nothing that Slack sends") from None
        if answer.status >= 500:
            self._context.forget(key)
        return to_starlette_response(answer)


def _unsigned() -> HTTPException:
    return HTTPException(401, "The request is not signed by Slack, or too old.", headers={"Connection": "close"})
