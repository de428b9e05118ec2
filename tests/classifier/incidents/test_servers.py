"""Several servers in one log: whose lines are whose, and which answer counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.incidents.servers import Servers
from vllm_triage.classifier.input.read import Block, read_blocks

BANNER = "INFO 11-21 10:00:00 [api_server.py:1] vLLM API server version 0.10.2"
READY = "INFO:     Application startup complete."
REFUSED = "vllm: error: unrecognized arguments: --harbour-depth 3"


def compose(name: str, *texts: str) -> list[str]:
    return [f"{name}  | {text}" for text in texts]


def split(*lines: str) -> tuple[list[str], dict[str, list[str]], list[str]]:
    """Return the first server's lines, those of the others, and the servers' names."""
    servers = Servers()
    own, others = servers.split(Block("\n".join(lines).encode(), 1, 0))
    return (
        own.data.decode().split("\n"),
        {name: part.data.decode().split("\n") for name, part in others.items()},
        servers.names,
    )


def test_each_server_keeps_its_lines_at_their_places():
    """Line numbers are those of the log: where another server speaks stands an empty line."""
    a, b = compose("vllm-a-1", BANNER, "one"), compose("vllm-b-1", BANNER, "two")

    own, others, names = split(a[0], b[0], a[1], b[1], "Gracefully stopping...")

    assert ["vllm-a-1", "vllm-b-1"] == names
    assert [a[0], "", a[1], "", "Gracefully stopping..."] == own
    assert {"vllm-b-1": ["", b[0], "", b[1], ""]} == others


def test_both_outputs_of_a_supervised_process_are_one_server():
    """supervisor-stdout says which of the two a line came from."""
    a = [f"chat-00 stdout | {BANNER}", f"chat-00 stderr | {REFUSED}"]
    b = [f"embed-00 stdout | {BANNER}", "embed-00 stderr | one", f"embed-00 stdout | {READY}"]

    own, others, names = split(a[0], b[0], b[1], a[1], b[2])

    assert ["chat-00", "embed-00"] == names
    assert [a[0], "", "", a[1], ""] == own
    assert {"embed-00": ["", b[0], b[1], "", b[2]]} == others


def test_a_sentence_before_a_bar_is_no_server():
    _, others, names = split(f"what I saw | {BANNER}", f"vllm-b-1  | {BANNER}")

    assert ["vllm-b-1"] == names
    assert not others


def test_pods_are_told_apart_as_well():
    """`kubectl logs --prefix`."""
    _, others, names = split(f"[pod/vllm-0/vllm] {BANNER}", f"[pod/vllm-1/vllm] {BANNER}", "[pod/vllm-1/vllm] one")

    assert ["[pod/vllm-0/vllm]", "[pod/vllm-1/vllm]"] == names
    assert ["[pod/vllm-1/vllm]"] == list(others)


@pytest.mark.parametrize(
    "other", ["INFO ray::RayWorkerWrapper ready", "ERROR connect() failed (111: Connection refused)", "LOG:  ready"]
)
def test_containers_that_serve_no_model_stay_with_the_server(other):
    """Nodes of a cluster, proxies and databases are part of its story."""
    lines = [*compose("vllm-1", BANNER), *compose("other-1", other), *compose("vllm-1", READY)]

    assert (lines, {}, ["vllm-1"]) == split(*lines)


@given(
    st.lists(
        st.tuples(st.sampled_from(["vllm-a", "vllm-b", "vllm-ab", ""]), st.text("ab |\t[]:", max_size=12)), max_size=30
    )
)
def test_no_line_is_lost_and_none_is_told_twice(spoken):
    """Whatever is said by whom."""
    said = [f"{name}  | {text}" if name else f"- {text}" for name, text in spoken]
    lines = [*compose("vllm-a", BANNER), *compose("vllm-b", BANNER), *compose("vllm-ab", BANNER), *said]

    own, others, _ = split(*lines)

    for place, line in enumerate(lines):
        assert [line] == [part[place] for part in (own, *others.values()) if part[place]]


def test_the_server_that_failed_is_answered_for():
    """The one that came up does not hide it, whichever of the two stands first."""
    broken = [*compose("vllm-a-1", REFUSED)]
    sound = compose("vllm-b-1", BANNER, READY, 'INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK')

    for lines in ([*broken, *sound], [*sound, *broken]):
        answer = shared().report("\n".join(lines))

        assert "invalid_argument" == answer.bucket
        assert [lines.index(broken[0]) + 1] == [item.line for item in answer.evidence]
        assert any("vllm-a-1" in note for note in answer.notes)


def test_a_log_that_is_followed_is_answered_like_a_whole_one():
    """Block by block, with a look at it in between, as the service does."""
    first = "\n".join([*compose("vllm-b-1", BANNER, READY), ""])
    second = "\n".join(compose("vllm-a-1", BANNER, REFUSED))
    triage = shared()
    analysis = triage.start()

    for text in (first, second):
        for block in read_blocks(text.encode()):
            analysis.feed(Block(block.data, block.number + analysis.lines, block.size))
        seen = triage.peek(analysis).bucket

    assert "invalid_argument" == seen == triage.conclude(analysis).bucket
