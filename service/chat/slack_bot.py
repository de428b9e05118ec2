"""What the Slack app does: reads what people paste, share or point at, answers in the thread, and takes their verdict."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from slack_bolt import App, BoltContext, BoltResponse
from slack_bolt.authorization import AuthorizeResult

from ...classifier.errors import InputError
from ...classifier.masking.mask import mask
from . import short
from .interface import BusyError, ChatContext, Event, RetryError, UndeliverableError, event_of
from .platforms.slack import SlackSettings
from .readers import Readable
from .slack_blocks import BUCKET, NO_BUCKET, RIGHT, WRONG, code, escape, message, pasted
from .slack_files import opened
from .slack_post import SILENT, Posted, Slack

log = logging.getLogger("vllm_triage.chat")

BUSY = "Too much to do right now: please try again in a minute."
USAGE = (
    "Paste a vLLM log after the command, or mention me with a code block, a snippet or a file. "
    "In a thread, mention me alone: I read the message that it begins with. "
    "`evidence` before the log, or before an incident's id, gives what an assistant needs to judge it."
)
EVIDENCE = 3_000
"""Characters of the evidence in a message (docs/pack.md)."""
_EVENTS_SECONDS = 3600
"""Seconds for which an event is known again; Slack sends it anew for half an hour."""
_FILES = 5
"""Files of one message that are read."""
_ANY = re.compile(".*", re.DOTALL)


def bolt_app(settings: SlackSettings, context: ChatContext, slack: Slack) -> App:
    """Return the Bolt app. Its listeners note what is to be done and return at once; jobs do it."""

    def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        # One workspace, one token: nothing to look up, so that no call to Slack stands before the answer.
        return AuthorizeResult(
            enterprise_id=enterprise_id, team_id=team_id, bot_token=settings.bot_token.get_secret_value()
        )

    def of_a_known_team(context: BoltContext, next: Callable[[], BoltResponse]) -> BoltResponse:  # noqa: A002 - Bolt's name
        if settings.teams and context.team_id not in settings.teams:
            log.warning("a request of another Slack workspace was dropped")
            return BoltResponse(status=200)
        return next()

    app = App(
        name="vllm-triage",
        logger=SILENT,
        signing_secret=settings.signing_secret.get_secret_value(),
        client=slack.client,
        authorize=authorize,
        before_authorize=of_a_known_team,
        process_before_response=True,
    )
    bot = Bot(settings, context, slack)

    @app.error
    def failed(error: Exception) -> BoltResponse:
        # Slack tries an event again after this.
        if not isinstance(error, BusyError):
            log.error("a request of Slack failed: %s", type(error).__name__)
        return BoltResponse(status=503, headers={"retry-after": "30"})

    app.command(_ANY)(bot.command)
    app.event("app_mention")(bot.mention)
    app.event("message")(bot.direct)
    app.action(RIGHT)(bot.verdict)
    app.action(WRONG)(bot.verdict)
    app.action(BUCKET)(bot.verdict)
    app.action(NO_BUCKET)(bot.verdict)
    # What else the workspace sends is taken note of, or Slack would send it again.
    app.event(_ANY)(_nothing)
    app.action(_ANY)(_nothing)
    return app


def _nothing(ack: Callable[..., Any]) -> None:
    ack()


class Bot:
    """The listeners."""

    def __init__(self, settings: SlackSettings, context: ChatContext, slack: Slack) -> None:
        self._settings = settings
        self._context = context
        self._slack = slack

    def command(self, ack: Callable[..., Any], command: Mapping[str, Any]) -> None:
        """Take a log that is pasted after a slash command."""
        text = pasted(str(command.get("text", "")))
        if not text:
            ack(response_type="ephemeral", text=USAGE)
            return
        url = str(command.get("response_url", ""))

        def answer() -> None:
            words = self._answered(text.encode())
            self._slack.respond(url, response_type="ephemeral", replace_original=True, **words)

        try:
            self._context.run_in_background(self._told(answer))
        except BusyError:
            ack(response_type="ephemeral", text=BUSY)
        else:
            ack(response_type="ephemeral", text="Reading the log …")

    def mention(self, ack: Callable[..., Any], event: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take a mention in a channel."""
        self._message(event, body)
        ack()

    def direct(self, ack: Callable[..., Any], event: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take a direct message; messages of channels come as mentions."""
        if event.get("channel_type") == "im" and event.get("subtype") in (None, "file_share"):
            self._message(event, body)
        ack()

    def verdict(self, ack: Callable[..., Any], body: Mapping[str, Any], action: Mapping[str, Any]) -> None:
        """Take a click on right, on wrong, or on what it was."""
        name = str(action["action_id"])
        chosen = str((action.get("selected_option") or {}).get("value", "")) if name == BUCKET else ""
        incident, _, bucket = (chosen or str(action.get("value", ""))).partition(" ")
        self._context.run_in_background(self._told(lambda: self._judge(name, incident, bucket, body)))
        ack()

    def _message(self, event: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        if event.get("bot_id") or event.get("bot_profile") or not event.get("user"):
            return
        channel, ts = str(event["channel"]), str(event["ts"])
        # Slack sends an event again where our answer was late; and one message may be two events.
        keys = [f"slack:event:{body.get('event_id', ts)}", f"slack:message:{channel}:{ts}"]
        if not all(self._context.once(key, _EVENTS_SECONDS)[0] for key in keys):
            return
        try:
            self._context.run_in_background(self._told(lambda: self._read(event, channel, ts)))
        except BusyError:
            for key in keys:
                self._context.forget(key)
            raise

    def _read(self, event: Mapping[str, Any], channel: str, ts: str) -> None:
        thread = str(event.get("thread_ts") or ts)
        source, text = event, _own_words(event)
        if not (event.get("files") or text) and event.get("thread_ts"):
            source = self._parent(channel, thread)
            text = _own_words(source)
        files = list(source.get("files") or [])
        try:
            for file in files[:_FILES]:
                self._read_file(file, channel, thread)
            if len(files) > _FILES:
                self._slack.say(f"I read the first {_FILES} files only.", channel, thread)
            if not files:
                if text:
                    self._post(text.encode(), channel, thread, name="")
                else:
                    self._slack.say(USAGE, channel, thread)
        except RetryError:
            self._slack.say("That did not work out: please try again later.", channel, thread)
            raise

    def _parent(self, channel: str, thread: str) -> Mapping[str, Any]:
        answer = self._slack.patiently(
            self._slack.client.conversations_replies, channel=channel, ts=thread, limit=1, inclusive=True
        )
        messages = answer.get("messages") or [{}]
        return dict(messages[0])

    def _read_file(self, file: Mapping[str, Any], channel: str, thread: str) -> None:
        if not (file.get("url_private_download") or file.get("url_private")):
            # Files shared from other workspaces come as a stub.
            file = self._slack.patiently(self._slack.client.files_info, file=str(file.get("id", "")))["file"]
        name = str(file.get("name") or file.get("title") or "file")
        try:
            with opened(file, self._settings) as content:
                self._post(content, channel, thread, name=name)
        except InputError as error:
            self._slack.say(f"{escape(name[:200])}: {escape(error)}", channel, thread)

    def _post(self, source: bytes | Readable, channel: str, thread: str, name: str) -> None:
        """Triage and post; where that cannot be done, say so."""
        try:
            event = self._triaged(source, name=name)
        except InputError as error:
            self._slack.say(f"{escape(name[:200]) + ': ' if name else ''}{escape(error)}", channel, thread)
            return
        except BusyError:
            self._slack.say(BUSY, channel, thread)
            return
        self._slack.post(event, channel, thread, patient=True)

    def _triaged(self, source: bytes | Readable, *, name: str) -> Event:
        report, incident = self._context.triage(source, service="", name=mask(name))
        return event_of(self._context, report, incident, name=name)

    def _answered(self, source: bytes) -> dict[str, Any]:
        try:
            asked = short.evidence_asked(source.decode("utf-8", "replace"))
            if asked is not None:
                return {"text": code(short.evidence_of(self._context, asked.encode(), "", EVIDENCE), 2 * EVIDENCE)}
            return message(self._triaged(source, name=""))
        except InputError as error:
            return {"text": escape(error)}
        except BusyError:
            return {"text": BUSY}

    def _judge(self, action: str, incident: str, bucket: str, body: Mapping[str, Any]) -> None:
        user = str(body.get("user", {}).get("id", ""))
        source = f"slack:{body.get('team', {}).get('id', '') if body.get('team') else ''}:{user}"
        right = action == RIGHT
        try:
            known = self._context.feedback(incident, "right" if right else "wrong", bucket=bucket, source=source)
        except ValueError:
            known = False
        who = f"<@{user}>" if user.isalnum() else "someone"
        if not known:
            words = {"text": "This incident is not stored any more."}
            self._slack.respond(str(body["response_url"]), response_type="ephemeral", replace_original=False, **words)
            return
        ask = action == WRONG
        told = "" if ask else _verdict(action, bucket, who)
        self._show_verdict(incident, told, ask_bucket=ask, body=body)

    def _show_verdict(self, incident: str, told: str, *, ask_bucket: bool, body: Mapping[str, Any]) -> None:
        container = body.get("container", {})
        posted = self._slack.of_place(str(container.get("channel_id", "")), str(container.get("message_ts", "")))
        if posted is None:
            history = self._context.history
            stored = history.incident(incident) if history else None
            if stored is None:
                return
            event = event_of(self._context, stored.report, stored.incident, service=stored.incident.service)
            posted = Posted("", "", event)
        posted.verdict = told
        words = message(posted.event, verdict=told, ask_bucket=ask_bucket, closed=posted.closed)
        self._slack.respond(str(body["response_url"]), replace_original=True, **words)

    def _told(self, job: Callable[[], None]) -> Callable[[], None]:
        """Return a job whose failure is logged by a word, never by what it was about."""

        def run() -> None:
            try:
                job()
            except (RetryError, UndeliverableError) as error:
                log.error("an answer to Slack was not delivered: %s", error)  # noqa: TRY400 - a trace says no more

        return run


def _own_words(event: Mapping[str, Any]) -> str:
    """Return what a message says besides naming the app."""
    return pasted(re.sub(r"^\s*(?:<@[A-Z0-9]+(?:\|[^>]*)?>\s*)+", "", str(event.get("text") or "")))


def _verdict(action: str, bucket: str, who: str) -> str:
    if action == RIGHT:
        return f"✔ Right, says {who}. Thank you!"
    return f"✖ Wrong, says {who}" + (f": it was `{escape(bucket)}`. Thank you!" if bucket else ". Thank you!")
