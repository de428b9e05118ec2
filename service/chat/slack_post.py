"""Messages into Slack: posted, updated with their counter, and errors told apart."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web import WebClient
from slack_sdk.webhook import WebhookClient

from .http_out import retry_after
from .interface import Brief, Event, RetryError, UndeliverableError, second_opinion, selects
from .letters import pack_event, unpack_event
from .platforms.slack import SlackSettings
from .slack_blocks import escape, message
from .slack_digest import digest

log = logging.getLogger("vllm_triage.chat")

# Bolt and the SDK write bodies of requests to their logs, which hold what people pasted.
SILENT = logging.getLogger("vllm_triage.chat.slack_sdk")
SILENT.setLevel(logging.CRITICAL + 1)
SILENT.propagate = False

_PASSING = {"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
_REMEMBERED = 10_000
"""Messages that may still be brought up to date."""
_TRIES = 3
"""For what a person waits for."""
_PATIENCE = 10.0
"""Seconds that Slack may ask such a person to wait."""
_AT_ONCE = 20
"""Messages of one incident that are brought up to date with what came later, the last ones."""


class Posted:
    """A message that went out, so that its counter, its verdict and its end can be shown in it.

    Its event is kept packed: thousands of messages are remembered.
    """

    def __init__(self, channel: str, ts: str, event: Event) -> None:
        self.channel = channel
        self.ts = ts
        self.event = event
        self.incident = event.incident.id if event.incident is not None else ""
        self.verdict = ""
        self.closed = False
        self.opinion = False

    @property
    def event(self) -> Event:
        """What it tells."""
        return unpack_event(self._packed)

    @event.setter
    def event(self, event: Event) -> None:
        self._packed = pack_event(event)


class Slack:
    """The Web API with our errors, and the messages that went out by it."""

    def __init__(self, settings: SlackSettings) -> None:
        self._settings = settings
        self.client = WebClient(
            token=settings.bot_token.get_secret_value(),
            base_url=settings.api_url,
            timeout=max(1, round(settings.timeout_seconds)),
            logger=SILENT,
            # Tried again by our own rules: the handlers of the SDK would post twice where only the answer was lost.
            retry_handlers=[],
        )
        self._lock = threading.Lock()
        self._by_key: OrderedDict[str, Posted] = OrderedDict()
        self._by_place: OrderedDict[tuple[str, str], Posted] = OrderedDict()

    def call(self, method: Callable[..., Any], **arguments: Any) -> Any:
        """Call a method of the Web API.

        Raises:
            RetryError: It may work later.
            UndeliverableError: Slack refused it.
        """
        try:
            return method(**arguments)
        except SlackApiError as error:
            response = error.response
            headers = {name.lower(): value for name, value in (getattr(response, "headers", None) or {}).items()}
            status = getattr(response, "status_code", 0)
            word = str(response.get("error", "")) if hasattr(response, "get") else ""
            if status == 429 or status >= 500 or word in _PASSING:
                raise RetryError(
                    word if word in _PASSING else f"status {status}", retry_after(_one(headers.get("retry-after")))
                ) from None
            raise UndeliverableError(word if word.isidentifier() else f"status {status}") from None
        except (OSError, SlackClientError) as error:
            raise RetryError(type(error).__name__) from None

    def patiently(self, method: Callable[..., Any], **arguments: Any) -> Any:
        """Call a method for a person who waits: few tries, seconds apart.

        Raises:
            RetryError: It did not work in time.
            UndeliverableError: Slack refused it.
        """
        for attempt in range(1, _TRIES + 1):
            try:
                return self.call(method, **arguments)
            except RetryError as error:
                if attempt == _TRIES or (error.after or 0) > _PATIENCE:
                    raise
                time.sleep(error.after or 0.5 * attempt)
        raise RetryError("tries")

    def post(self, event: Event, channel: str, thread: str = "", *, patient: bool = False, **words: Any) -> Posted:
        """Post a report and remember where it stands."""
        call = self.patiently if patient else self.call
        answer = call(
            self.client.chat_postMessage,
            channel=channel,
            thread_ts=thread or None,
            unfurl_links=False,
            unfurl_media=False,
            **message(event, **words),
        )
        posted = Posted(str(answer["channel"]), str(answer["ts"]), event)
        with self._lock:
            self._by_place[posted.channel, posted.ts] = posted
            while len(self._by_place) > _REMEMBERED:
                self._by_place.popitem(last=False)
        return posted

    def say(self, text: str, channel: str, thread: str = "") -> None:
        """Post a few words; ``text`` is mrkdwn."""
        self.patiently(
            self.client.chat_postMessage, channel=channel, thread_ts=thread or None, text=text, unfurl_links=False,
            unfurl_media=False,
        )  # fmt: skip

    def respond(self, url: str, **payload: Any) -> None:
        """Answer through a response_url.

        Raises:
            RetryError: It did not work in time.
            UndeliverableError: It is not Slack's, or Slack refused it.
        """
        parts = urlsplit(url)
        schemes = ("https", "http") if self._settings.plain_http else ("https",)
        if parts.scheme not in schemes or parts.hostname not in self._settings.response_hosts:
            raise UndeliverableError("response_url elsewhere")
        client = WebhookClient(url, timeout=round(self._settings.timeout_seconds), logger=SILENT, retry_handlers=[])
        for attempt in range(1, _TRIES + 1):
            try:
                answer = client.send(unfurl_links=False, unfurl_media=False, **payload)
            except OSError:
                status = 0
            else:
                status = answer.status_code
            if 200 <= status < 300:
                return
            if status and status != 429 and status < 500:
                raise UndeliverableError(f"status {status}")
            if attempt < _TRIES:
                time.sleep(0.5 * attempt)
        raise RetryError(f"status {status}")

    def remember(self, key: str, posted: Posted) -> None:
        """Note the message of an incident's window."""
        with self._lock:
            self._by_key[key] = posted
            self._by_key.move_to_end(key)
            while len(self._by_key) > _REMEMBERED:
                self._by_key.popitem(last=False)

    def of_key(self, key: str) -> Posted | None:
        """Return the message of an incident's window."""
        with self._lock:
            return self._by_key.get(key)

    def of_place(self, channel: str, ts: str) -> Posted | None:
        """Return the message that stands there."""
        with self._lock:
            return self._by_place.get((channel, ts))

    def show(self, posted: Posted, **words: Any) -> None:
        """Bring a message up to date."""
        self.call(
            self.client.chat_update,
            channel=posted.channel,
            ts=posted.ts,
            **message(posted.event, verdict=posted.verdict, closed=posted.closed, **words),
        )

    def show_opinion(self, event: Event) -> None:
        """Show a second opinion in the messages of its incident, in channel and threads, and say below them that it has come."""
        if event.incident is None:
            return
        with self._lock:
            standing = [posted for posted in self._by_place.values() if posted.incident == event.incident.id]
        told = second_opinion(event.report)
        for posted in standing[-_AT_ONCE:]:
            posted.event = replace(posted.event, report=event.report)
            try:
                self.show(posted)
                if told and not posted.opinion:
                    posted.opinion = True
                    self.say(escape(told), posted.channel, posted.ts)
            except (RetryError, UndeliverableError) as error:
                log.warning("a second opinion is not shown in a message: %s", error)


class SlackTarget:
    """The channel that incidents are told in."""

    name = "slack"

    def __init__(self, settings: SlackSettings, slack: Slack) -> None:
        self._settings = settings
        self._slack = slack

    def wants(self, event: Event) -> bool:
        """Return whether the filter lets the event through."""
        return selects(self._settings.select, event)

    def send(self, event: Event) -> None:
        """Post the first message of a window."""
        self._slack.remember(event.key, self._slack.post(event, self._settings.channel))

    def digest(self, incidents: Sequence[Brief]) -> None:
        """Post one message about several incidents."""
        self._slack.call(
            self._slack.client.chat_postMessage,
            channel=self._settings.channel,
            unfurl_links=False,
            unfurl_media=False,
            **digest(incidents),
        )

    def again(self, event: Event) -> None:
        """Show the counter in the message; close its thread where the alert is over."""
        posted = self._slack.of_key(event.key)
        if posted is None or posted.closed or posted.event.id != event.id:
            return
        posted.event = event
        posted.closed = event.resolved
        self._slack.show(posted)
        if event.resolved:
            counted = f" after {event.recurrence:,} times" if event.recurrence > 1 else ""
            self._slack.call(
                self._slack.client.chat_postMessage,
                channel=posted.channel,
                thread_ts=posted.ts,
                text=f"Resolved{counted}.",
            )


def _one(value: Any) -> str:
    """Return a header's value, which the SDK gives as text or as a list."""
    return str(value[0] if isinstance(value, list) and value else value or "")
