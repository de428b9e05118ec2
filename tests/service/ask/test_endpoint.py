"""An endpoint is asked once, in one form; whatever it does, there is a proposal or one line that says why not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2 as httpx
import pytest

from vllm_triage.classifier.proposal import Proposal
from vllm_triage.corpus.actions import SetOption
from vllm_triage.service.ask import endpoint as module
from vllm_triage.service.ask.endpoint import Endpoint
from vllm_triage.service.ask.questions import AskError

GOOD: dict[str, Any] = {
    "cause": "The KV cache holds no request of the full context.",
    "lines": [12, 14],
    "fixes": [
        {
            "title": "Shorten the context",
            "actions": [{"do": "set_option", "name": "--max-model-len", "values": ["8192"]}],
            "why": "8192 tokens fit",
            "predicts": "the start reaches graph capture",
        }
    ],
    "confidence": 0.9,
    "missing": "",
}
Handler = Callable[[httpx.Request], httpx.Response]


def completion(content: str | None, reason: str = "stop") -> httpx.Response:
    """Return what an endpoint answers."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return httpx.Response(
        200, json={"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    )


def asked(handler: Handler, timeout: float = 5.0, model: str = "m") -> Proposal:
    """Ask a double."""
    return Endpoint("http://double:1", model, timeout=timeout, transport=httpx.MockTransport(handler)).ask("the pack")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)


def test_a_good_answer_is_a_proposal_with_typed_actions() -> None:
    """The question is sent once, as it is, with the form of the answer."""
    sent: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return completion(json.dumps(GOOD))

    proposal = asked(answer)
    assert (SetOption("--max-model-len", ("8192",)),) == proposal.fixes[0].actions
    assert ((12, 14), 0.9, "m") == (proposal.lines, proposal.confidence, proposal.source)
    assert ["the pack"] == [message["content"] for message in sent[0]["messages"]]
    assert "json_schema" == sent[0]["response_format"]["type"]
    assert 1 == len(sent)


def test_the_first_model_is_taken_where_none_is_named() -> None:
    """Your own vLLM serves one."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/models":
            row = {"id": "acme/oak", "object": "model", "created": 1, "owned_by": "x"}
            return httpx.Response(200, json={"object": "list", "data": [row]})
        assert "acme/oak" == json.loads(request.content)["model"]
        return completion(json.dumps(GOOD))

    assert "acme/oak" == asked(answer, model="").source


def test_a_server_without_structured_outputs_is_asked_for_json() -> None:
    """It answers 400 to the schema; a fence around the answer does not matter."""

    def answer(request: httpx.Request) -> httpx.Response:
        if json.loads(request.content)["response_format"]["type"] == "json_schema":
            return httpx.Response(400, json={"error": {"message": "response_format json_schema is not supported"}})
        return completion(f"```json\n{json.dumps(GOOD)}\n```")

    assert asked(answer).cause.startswith("The KV cache")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"fixes": {"a": 1}}, "are a list"),
        ({"lines": ["one"]}, "numbers from 1"),
        ({"lines": [True]}, "numbers from 1"),
        ({"confidence": 7}, "from 0 to 1"),
        ({"confidence": float("nan")}, "from 0 to 1"),
        ({"cause": ["x"]}, "is a text"),
    ],
)
def test_an_answer_of_another_form_is_refused(change: dict[str, object], says: str) -> None:
    """With what is wrong with it; nothing of it is used."""
    with pytest.raises(AskError, match=says):
        asked(lambda _: completion(json.dumps(GOOD | change)))


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ({"do": "format_disk"}, "'do' must be"),
        ({"do": "serve", "command": "curl x | sh"}, "'do' must be"),
        ({"do": "set_option", "name": "rm -rf"}, "is no option"),
        ({"do": "install", "package": "vllm", "by": "curl x | sh;"}, "has no 'by'"),
        ({"do": "set_option", "name": "--x", "values": "$(y)", "open": True}, "has no 'open'"),
        ("reboot", "'do' must be"),
        (None, "has no action"),
    ],
)
def test_a_fix_of_another_form_loses_its_actions_and_no_other_fix_does(action: object, says: str) -> None:
    """It is kept for the reason alone; the others hold."""
    bad = {"title": "x", "actions": [] if action is None else [action]}
    proposal = asked(lambda _: completion(json.dumps(GOOD | {"fixes": [bad, GOOD["fixes"][0]]})))
    assert ((), True) == (proposal.fixes[0].actions, says in proposal.fixes[0].problem)
    assert (SetOption("--max-model-len", ("8192",)),) == proposal.fixes[1].actions


def test_control_characters_in_a_text_become_blanks() -> None:
    """vLLM's grammar lets them stand there."""
    content = json.dumps(GOOD | {"cause": "It is @ full."}).replace("@", "\x12\n\t")
    assert "It is full." == " ".join(asked(lambda _: completion(content)).cause.split())
    assert asked(lambda _: completion(content)).cause.isprintable()


def test_numbers_and_json_are_taken_as_the_texts_that_options_have() -> None:
    """Servers without structured outputs answer so."""
    action = {"do": "set_option", "name": "--compilation-config", "values": [{"mode": 0}, 8192]}
    proposal = asked(lambda _: completion(json.dumps(GOOD | {"fixes": [{"title": "x", "actions": [action]}]})))
    assert (SetOption("--compilation-config", ('{"mode": 0}', "8192")),) == proposal.fixes[0].actions


@pytest.mark.parametrize(
    ("content", "reason", "says"),
    [
        ("certainly! here it is", "stop", "not JSON"),
        ("[" * 100_000, "stop", "not JSON"),
        ("[1]", "stop", "JSON object"),
        ("", "stop", "nothing"),
        (None, "stop", "nothing"),
        ('{"cause": "x', "length", "cut off"),
    ],
)
def test_what_is_no_answer_is_told(content: str | None, reason: str, says: str) -> None:
    """Words, half a JSON, nothing at all."""
    with pytest.raises(AskError, match=says):
        asked(lambda _: completion(content, reason))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 429, 500, 502, 503, 504, 599, 302])
def test_every_error_ends_in_one_line(status: int) -> None:
    """Those that pass are tried again, three times in all."""
    calls: list[int] = []

    def answer(_: httpx.Request) -> httpx.Response:
        calls.append(1)
        return httpx.Response(status, text="<html>\nno\n</html>")

    with pytest.raises(AskError) as told:
        asked(answer)
    assert "\n" not in str(told.value)
    assert (3 if status in (409, 429) or status >= 500 else 1) == len(calls) or status == 409


def test_an_endpoint_that_comes_back_is_asked_again() -> None:
    """A restart of the server costs no answer."""
    answers = iter([httpx.Response(503), httpx.Response(503), completion(json.dumps(GOOD))])
    assert asked(lambda _: next(answers)).fixes


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="not json"),
        httpx.Response(200, json=[1, 2]),
        httpx.Response(200, json={"choices": "x"}),
        httpx.Response(200, json={"choices": [{}]}),
        httpx.Response(200, content=b"\x00\xff\xfe"),
        httpx.Response(200, content=b""),
        httpx.Response(204),
    ],
    ids=range(7),
)
def test_a_body_that_is_no_answer_is_told(answer: httpx.Response) -> None:
    """Whatever JSON or bytes come."""
    with pytest.raises(AskError):
        asked(lambda _: answer)


def test_ten_megabytes_are_not_read() -> None:
    """Reading ends at the bound."""
    read: list[int] = []

    class Endless(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for _ in range(1000):
                read.append(1)
                yield b" " * 10_000

    with pytest.raises(AskError, match="larger than"):
        asked(lambda _: httpx.Response(200, stream=Endless()))
    assert len(read) <= module.LARGEST // 10_000 + 2


def test_an_answer_in_slow_pieces_ends_in_time() -> None:
    """Each piece comes in time, all together do not."""

    class Slow(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            until = time.monotonic() + 5
            while time.monotonic() < until:
                yield b" "

    began = time.monotonic()
    with pytest.raises(AskError):
        asked(lambda _: httpx.Response(200, stream=Slow()), timeout=0.3)
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("url", ["", "localhost:8000", "file:///etc/passwd", "http://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(AskError, match="not an address"):
        Endpoint(url)
