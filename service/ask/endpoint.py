"""An OpenAI-compatible endpoint that answers one question in one form; your own vLLM above all."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import openai

from ...classifier.errors import InputError
from ...classifier.proposal import Proposal, schema
from .questions import ADDRESS, AskError

TIMEOUT = 120.0
"""Seconds that an answer may take, all tries together."""
TRIES = 3
"""Requests for one question, the first included."""
LARGEST = 1 << 20
"""Bytes of an answer; a proposal has some thousand."""
TOKENS = 2_000
"""Most tokens that are asked for."""
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(?P<inner>.*?)\n?\s*```\s*\Z", re.DOTALL)


class Endpoint:
    """A model behind an OpenAI-compatible address.

    Args:
        url: With or without ``/v1``.
        model: Its name there; empty takes the first that the endpoint lists.
        key: Sent as bearer token; empty sends a placeholder, which a vLLM without keys ignores.
        timeout: Seconds that an answer may take, all tries together.
        transport: For tests.

    Raises:
        AskError: The address is none.
    """

    def __init__(
        self,
        url: str,
        model: str = "",
        key: str = "",
        timeout: float = TIMEOUT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        base = url.rstrip("/")
        if not ADDRESS.match(base):
            raise AskError(f"{url!r} is not an address of an endpoint: give http://HOST:PORT or https://HOST")
        self._timeout = timeout
        self._limits = _Limits(transport or httpx.HTTPTransport())
        self._model = model
        self._client = openai.OpenAI(
            base_url=base if base.endswith("/v1") else f"{base}/v1",
            api_key=key or "none",
            max_retries=0,
            timeout=timeout,
            http_client=httpx.Client(transport=self._limits, follow_redirects=False),
        )

    @property
    def model(self) -> str:
        """The model's name; asks the endpoint where none was given.

        Raises:
            AskError: It lists none, or does not answer.
        """
        if not self._model:
            self._limits.start(self._timeout)
            listed = self._tried(lambda left: self._client.models.with_raw_response.list(timeout=left))
            self._model = str(_at(listed, "data", 0, "id") or "")
            if not self._model:
                raise AskError("the endpoint lists no model: name one")
        return self._model

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, prompt: str) -> Proposal:
        """Return what the model proposes.

        Args:
            prompt: The whole question; nothing else is sent.

        Raises:
            AskError: No answer came in time, or none of the form that was asked for.
        """
        model = self.model
        self._limits.start(self._timeout)
        text = self._answer(model, prompt)
        fenced = _FENCE.match(text)
        try:
            # Not strictly: grammars of servers let line ends and other control characters stand in texts.
            return Proposal.from_json(json.loads(fenced["inner"] if fenced else text, strict=False), model)
        except (ValueError, RecursionError):
            raise AskError("the model's answer is not JSON") from None
        except InputError as error:
            raise AskError(f"the model's answer has another form than asked for: {error}") from None

    def _answer(self, model: str, prompt: str) -> str:
        strict = {"name": "proposal", "schema": schema(), "strict": True}
        forms: list[dict[str, Any]] = [{"type": "json_schema", "json_schema": strict}, {"type": "json_object"}]
        for form in forms:
            try:
                made = self._tried(
                    lambda left, form=form: self._client.chat.completions.with_raw_response.create(
                        model=model,
                        messages=[{"role": "user", "content": prompt}],
                        temperature=0,
                        max_tokens=TOKENS,
                        timeout=left,
                        response_format=form,
                    )
                )
            except _FormRefusedError:
                # A server without structured outputs may know JSON, or nothing: what comes is checked in any case.
                continue
            content = _at(made, "choices", 0, "message", "content")
            if not isinstance(content, str) or not content:
                raise AskError("the model answered nothing")
            if _at(made, "choices", 0, "finish_reason") == "length":
                raise AskError(f"the model's answer was cut off at {TOKENS} tokens")
            return content
        raise AskError("the endpoint refuses JSON answers (response_format): use a server with structured outputs")

    def _tried(self, call: Any) -> Any:
        for left in reversed(range(TRIES)):
            try:
                return call(self._limits.left()).http_response.json()
            except openai.BadRequestError as error:
                if re.search(
                    r"response_format|json_schema|guided|structured|grammar", str(error.message), re.IGNORECASE
                ):
                    raise _FormRefusedError from None
                raise AskError(f"the endpoint refuses the question: {_brief(error)}") from None
            except (openai.AuthenticationError, openai.PermissionDeniedError):
                raise AskError("the endpoint refuses the key") from None
            except openai.NotFoundError as error:
                raise AskError(f"the endpoint does not know this model or path: {_brief(error)}") from None
            except (openai.RateLimitError, openai.InternalServerError, openai.APIConnectionError) as error:
                if not left or not self._limits.wait(2.0 ** (TRIES - left - 1)):
                    raise AskError(f"the endpoint does not answer: {_brief(error)}") from None
            except _TooLargeError:
                raise AskError(f"the endpoint's answer is larger than {LARGEST >> 20} MiB") from None
            except (openai.OpenAIError, httpx.HTTPError, ValueError, RecursionError) as error:
                raise AskError(f"the endpoint's answer cannot be read: {_brief(error)}") from None
        raise AssertionError("unreachable")


class _FormRefusedError(Exception):
    """The endpoint knows no such form of an answer."""


class _TooLargeError(httpx.HTTPError):
    def __init__(self) -> None:
        super().__init__("too large")


class _Limits(httpx.BaseTransport):
    """Ends answers that are too large, or that come in pieces for longer than the whole question may take."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner
        self.until = float("inf")

    def start(self, seconds: float) -> None:
        """Begin a question that may take so long."""
        self.until = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left, enough for a try."""
        return max(0.1, self.until - time.monotonic())

    def wait(self, seconds: float) -> bool:
        """Wait before the next try; false where there is no time for one."""
        if time.monotonic() + seconds >= self.until:
            return False
        time.sleep(seconds)
        return True

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._inner.handle_request(request)
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_Bounded(response, self),
            extensions=response.extensions,
        )

    def close(self) -> None:
        self._inner.close()


class _Bounded(httpx.SyncByteStream):
    def __init__(self, response: httpx.Response, limits: _Limits) -> None:
        self._response = response
        self._limits = limits

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        stream = self._response.stream
        assert isinstance(stream, httpx.SyncByteStream)  # noqa: S101 - of a synchronous client
        for piece in stream:
            size += len(piece)
            if size > LARGEST:
                raise _TooLargeError
            if time.monotonic() > self._limits.until:
                raise httpx.ReadTimeout("the answer takes too long")
            yield piece

    def close(self) -> None:
        self._response.close()


def _at(data: object, *path: str | int) -> object:
    """Return what stands at a place of a JSON value; None where there is no such place."""
    for key in path:
        fits = isinstance(data, dict) if isinstance(key, str) else isinstance(data, list) and len(data) > key
        data = data.get(key) if fits and isinstance(data, dict) else data[key] if fits else None  # type: ignore[index]
    return data


def _brief(error: BaseException) -> str:
    text = " ".join(str(getattr(error, "message", "") or str(error) or type(error).__name__).split())
    return text[:200]
