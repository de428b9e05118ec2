"""What somebody wrote around a log, told from what programs print."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.situation.writer import SILENT, read_writer
from vllm_triage.corpus.store import HERE

CASES = [
    line.split("\t", 1)
    for line in (Path(__file__).parent / "cases" / "complaints.tsv").read_text(encoding="utf-8").splitlines()
]
HEALTHY = """\
INFO 03-01 10:00:00 [api_server.py:1044] vLLM API server version 0.8.5
INFO 03-01 10:00:40 [api_server.py:1090] Starting vLLM API server on http://0.0.0.0:8000
INFO:     Application startup complete.
INFO:     127.0.0.1:40112 - "POST /v1/completions HTTP/1.1" 200 OK
"""


def test_complaints_are_read_and_nothing_else() -> None:
    """Of what people write in eight languages: precision 0.97 and recall 0.9 at least; and what is complained of."""
    found = [(kind, read_writer(text.replace("  ", "\n")).complaint) for kind, text in CASES]
    read = [kind for kind, told in found if told]
    complaints = [told for kind, told in found if kind != "none"]
    assert sum(kind != "none" for kind in read) / len(read) >= 0.97
    assert sum(map(bool, complaints)) / len(complaints) >= 0.9
    assert sum(kind == (told or "none") for kind, told in found) / len(found) >= 0.95


@pytest.mark.parametrize(
    "path", sorted(path for path in (Path(HERE) / "logs").rglob("*.log")), ids=lambda path: "/".join(path.parts[-2:])
)
def test_nothing_is_read_into_a_plain_log(path: Path) -> None:
    """Whatever a program prints, prompts and advice included, is nobody's complaint."""
    assert read_writer(path.read_text(encoding="utf-8", errors="replace")) == SILENT


@pytest.mark.parametrize("where", ["{said}\n\n{log}", "{log}\n\n{said}", "{said}\n\n```\n{log}```\n"])
@pytest.mark.parametrize(
    ("said", "bucket"),
    [
        ("The server is up, but inference is extremely slow.", "performance_degradation"),
        ("It hangs after the first request.", "unknown"),
        ("The model outputs only exclamation marks.", "unknown"),
        ("Here is the log of the healthy server.", "no_failure"),
        ("It used to hang, works fine now.", "no_failure"),
    ],
)
def test_a_complaint_is_no_health(said: str, bucket: str, where: str) -> None:
    """Above, below or beside the log of a server that says nothing wrong; praise leaves it what it is."""
    report = shared().report(where.format(said=said, log=HEALTHY))
    assert report.bucket == bucket
    if bucket != "no_failure":
        assert report.evidence[0].text == said
        assert report.confidence == 0.5


@pytest.mark.parametrize(
    "printed",
    [
        "curl: (7) Failed to connect to localhost port 8000 after 0 ms: Connection refused",
        "vllm-1 exited with code 0",
        "vllm exited with code 1 (restarting)",
        "vllm-1  | 2026-11-21 13:16:01,021 - http.py - WARNING - Transient error: it could not connect, and the export failed",
    ],
)
def test_what_curl_and_compose_print_is_nobodys_complaint(printed: str) -> None:
    """Alone and around a log; the same in somebody's own words is one."""
    for text in (f"{printed}\n{HEALTHY}", f"{HEALTHY}{printed}\n"):
        assert read_writer(text) == SILENT
    assert read_writer(f"It exited with code 1\n{HEALTHY}").complaint == "fails"


def test_what_was_tried_what_works_and_which_release() -> None:
    """A release with which it works is not the one that fails."""
    writer = read_writer(
        "It works fine with vLLM 0.8.5.\nSince vllm 0.9.1 it crashes on start.\nI already tried --enforce-eager, no effect.\n"
    )
    assert (writer.complaint, writer.line, writer.releases) == ("fails", 2, ("0.9.1",))
    assert (len(writer.tried), len(writer.works)) == (1, 1)


def test_the_situation_is_told_first_where_it_matters() -> None:
    """A complaint that points somewhere, and a client's log; a server's own failure needs no such line."""
    slow = shared().report(f"It is painfully slow since the upgrade.\n\n{HEALTHY}")
    assert slow.story is not None
    assert slow.story.told[0] == "Its writer says: 'It is painfully slow since the upgrade.'"
    refused = shared().report(
        "openai.APIConnectionError: Connection error.\nhttpx.ConnectError: [Errno 111] Connection refused\n"
    )
    assert refused.story is not None
    assert refused.bucket == "client_connection"
    assert refused.story.told[0].startswith("This is a client's log")
