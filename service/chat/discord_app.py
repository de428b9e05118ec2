"""Discord: the endpoint that it calls, and the channel that incidents are told in."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from fastapi import APIRouter, HTTPException, Request, Response
from starlette.responses import JSONResponse

from ...classifier.errors import InputError
from ...classifier.masking.mask import mask
from . import discord_embed as embed
from . import short
from .bodies import read_body
from .file_hosts import refuse_elsewhere
from .http_out import ask, checked, connect, post, target
from .interface import Brief, BusyError, ChatContext, Event, Outgoing, RetryError, UndeliverableError, event_of
from .platforms.discord import DiscordSettings
from .readers import Limited, Readable, TooLargeError
from .targets import Target

log = logging.getLogger("vllm_triage.chat")

BODY = 1 << 20
"""Bytes of a request; Discord's own are some kilobytes."""
WINDOW = 300
"""Seconds to either side of now in which a request is taken."""
PING, COMMAND = 1, 2
"""Kinds of interactions."""
PONG, MESSAGE, LATER = 1, 4, 5
"""Kinds of answers; ``LATER``: the message comes when the log is read."""
EPHEMERAL = 64
"""Flag of messages that only the person who asked sees."""
USAGE = "Attach a vLLM log as file, or paste some lines as text; the text `evidence` gives what an assistant needs to judge it."
BUSY = "Too much to do right now: please try again in a minute."
TRIES = 3
"""For an answer that a person waits for."""
_TOKEN = re.compile(r"[A-Za-z0-9._-]{1,512}")
_HEADERS = {"Content-Type": "application/json", "User-Agent": "DiscordBot (vllm-triage, 1)"}


class DiscordAdapter:
    """A Discord application, a webhook of a channel, or both."""

    def __init__(self, settings: DiscordSettings) -> None:
        self._settings = settings

    def outgoing(self, context: ChatContext) -> list[Outgoing]:  # noqa: ARG002
        """Return the channel, if its webhook is set."""
        return [DiscordTarget(self._settings)] if self._settings.webhook_url.get_secret_value() else []

    def routes(self, context: ChatContext) -> APIRouter | None:
        """Return the interactions endpoint, if the application is set."""
        if not self._settings.public_key:
            return None
        router = APIRouter(tags=["hooks"], include_in_schema=False)
        endpoint = DiscordEndpoint(self._settings, context)
        router.add_api_route("/v1/hooks/discord", endpoint.handle, methods=["POST"], name="discord")
        return router


class DiscordEndpoint:
    """Lets in what Discord signed, once."""

    def __init__(self, settings: DiscordSettings, context: ChatContext) -> None:
        self._settings = settings
        self._context = context
        self._key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(settings.public_key))
        # Threads of their own: the service's may all be reading logs, and Discord waits three seconds at most.
        self._threads = ThreadPoolExecutor(4, "chat-discord")

    async def handle(self, request: Request) -> Response:
        """Verify the raw body, note what is to be done, and answer at once."""
        stamp, signature = (request.headers.get(f"x-signature-{name}", "") for name in ("timestamp", "ed25519"))
        # What cannot be genuine whatever the body is, is refused before that is read.
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12) or abs(time.time() - int(stamp)) > WINDOW:
            raise _unsigned()
        body = await read_body(request, BODY)
        if not self._signed(stamp.encode() + body, signature):
            raise _unsigned()
        try:
            told = json.loads(body)
            kind, name = int(told["type"]), str(told["id"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise HTTPException(422, "This is not an interaction of Discord.") from None
        if kind == PING:
            return JSONResponse({"type": PONG})
        # The history says whether it came before; the event loop does not wait for that.
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._interaction, kind, name, told)

    def _interaction(self, kind: int, name: str, told: Mapping[str, Any]) -> Response:
        if not self._context.once(f"discord:{name}", 2 * WINDOW)[0]:
            raise HTTPException(409, "This interaction was answered already.")
        if self._settings.guilds and str(told.get("guild_id") or "") not in self._settings.guilds:
            log.warning("a request of another Discord server was dropped")
            return JSONResponse(_said("This service does not answer here."))
        return self._command(told, f"discord:{name}") if kind == COMMAND else JSONResponse(_said(USAGE))

    def _signed(self, signed: bytes, signature: str) -> bool:
        try:
            self._key.verify(bytes.fromhex(signature), signed)
        except (InvalidSignature, ValueError):
            return False
        return True

    def _command(self, told: Mapping[str, Any], key: str) -> Response:
        text, files = _asked(told)
        token = str(told.get("token") or "")
        if not _TOKEN.fullmatch(token):
            raise HTTPException(422, "This interaction has no token.")
        if not text and not files:
            return JSONResponse(_said(USAGE))
        try:
            self._context.run_in_background(self._told(lambda: self._answer(token, text, files)))
        except BusyError:
            self._context.forget(key)
            return JSONResponse(_said(BUSY))
        return JSONResponse({"type": LATER, "data": {"flags": EPHEMERAL}})

    def _answer(self, token: str, text: str, files: Sequence[Mapping[str, Any]]) -> None:
        asked = short.evidence_asked(text)
        answered = self._triaged if asked is None else self._evidence
        try:
            if files:
                with opened(files[0], self._settings) as content:
                    message = answered(content, str(files[0].get("filename") or "file"))
            else:
                message = answered((text if asked is None else asked).encode(), "")
        except InputError as error:
            message = embed.words(str(error))
        except BusyError:
            message = embed.words(BUSY)
        except RetryError:
            message = embed.words("Discord did not give the file: please try again.")
        self._send(token, message)

    def _triaged(self, source: bytes | Readable, name: str) -> dict[str, Any]:
        report, incident = self._context.triage(source, service="", name=mask(name))
        return embed.message(event_of(self._context, report, incident, name=name))

    def _evidence(self, source: bytes | Readable, name: str) -> dict[str, Any]:
        return embed.evidence(short.evidence_of(self._context, source, name, embed.EVIDENCE))

    def _send(self, token: str, message: Mapping[str, Any]) -> None:
        settings = self._settings
        url = f"{settings.api_url}webhooks/{settings.application_id}/{token}/messages/@original"
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        for attempt in range(1, TRIES + 1):
            try:
                checked(ask("PATCH", url, body, _HEADERS, timeout=settings.timeout_seconds))
            except RetryError as error:
                if attempt == TRIES:
                    raise
                time.sleep(min(5.0, error.after or 0.5 * attempt))
            else:
                return

    def _told(self, job: Callable[[], None]) -> Callable[[], None]:
        """Return a job whose failure is logged by a word, never by what it was about."""

        def run() -> None:
            try:
                job()
            except (RetryError, UndeliverableError) as error:
                log.error("an answer to Discord was not delivered: %s", error)  # noqa: TRY400 - a trace says no more

        return run


class DiscordTarget(Target):
    """The channel that incidents are told in."""

    def __init__(self, settings: DiscordSettings) -> None:
        super().__init__("discord", settings.select)
        self._settings = settings

    def send(self, event: Event) -> None:
        """Post the first message of a window."""
        self._post(embed.message(event))

    def digest(self, incidents: Sequence[Brief]) -> None:
        """Post one message about several incidents."""
        self._post(embed.digest(incidents))

    def _post(self, message: Mapping[str, Any]) -> None:
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        url = self._settings.webhook_url.get_secret_value()
        checked(post(url, body, _HEADERS, timeout=self._settings.timeout_seconds))


@contextmanager
def opened(file: Mapping[str, Any], settings: DiscordSettings) -> Iterator[Readable]:
    """Yield the content of an attachment.

    Raises:
        InputError: It is too large, does not lie with Discord, or may not be read; the message is for people.
        RetryError: No connection.
    """
    url = str(file.get("url") or "")
    refuse_elsewhere(url, settings.file_hosts, settings.plain_http, "Discord")
    size = file.get("size")
    if isinstance(size, int) and size > settings.max_file_bytes:
        raise TooLargeError(f"the file is larger than {settings.max_file_bytes >> 20} MiB")
    connection = connect(url, timeout=settings.timeout_seconds)
    try:
        connection.request("GET", target(url), headers={"Accept-Encoding": "identity"})
        response = connection.getresponse()
        if response.status != 200:
            raise InputError(f"Discord did not give the file (status {response.status})")
        yield Limited(response, settings.max_file_bytes)
    except (OSError, http.client.HTTPException) as error:
        raise RetryError(type(error).__name__) from None
    finally:
        connection.close()


def _unsigned() -> HTTPException:
    return HTTPException(401, "The request is not signed by Discord, or too old.", {"Connection": "close"})


def _said(text: str) -> dict[str, Any]:
    return {"type": MESSAGE, "data": {**embed.words(text), "flags": EPHEMERAL}}


def _asked(told: Mapping[str, Any]) -> tuple[str, list[Mapping[str, Any]]]:
    """Return the text and the files that come with a command."""
    data = told.get("data")
    given: Any = data.get("options") if isinstance(data, dict) else None
    resolved = data.get("resolved") if isinstance(data, dict) else None
    attached = resolved.get("attachments") if isinstance(resolved, dict) else None
    text, files = "", []
    for option in given if isinstance(given, list) else []:
        value = option.get("value") if isinstance(option, dict) else None
        if isinstance(attached, dict) and isinstance(attached.get(value), dict):
            files.append(attached[value])
        elif isinstance(value, str):
            text = value.strip().strip("`").strip()
    return text, files
