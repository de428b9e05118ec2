"""What somebody wrote around a log, told from what programs print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.everyday import sample
from tests.fixes import context
from tests.fixes import made as fix
from vllm_triage.classifier.advice.adapters import untried
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.input.read import read_blocks
from vllm_triage.classifier.situation.situate import situate
from vllm_triage.classifier.situation.writer import SILENT, read_writer
from vllm_triage.corpus.store import HERE

CASES = [
    line.split("\t", 1)
    for path in sorted((Path(__file__).parent / "cases").glob("*complaints.tsv"))
    for line in path.read_text(encoding="utf-8").splitlines()
]
HEALTHY = """\
INFO 03-01 10:00:00 [api_server.py:1044] vLLM API server version 0.8.5
INFO 03-01 10:00:40 [api_server.py:1090] Starting vLLM API server on http://0.0.0.0:8000
INFO:     Application startup complete.
INFO:     127.0.0.1:40112 - "POST /v1/completions HTTP/1.1" 200 OK
"""


def test_complaints_are_read_and_nothing_else() -> None:
    """Of what people write in ten languages: precision 0.97 and recall 0.9 at least; and mostly what is complained of."""
    found = [(kind, read_writer(text.replace("  ", "\n")).complaint) for kind, text in CASES]
    read = [kind for kind, told in found if told]
    complaints = [told for kind, told in found if kind != "none"]
    assert sum(kind != "none" for kind in read) / len(read) >= 0.97
    assert sum(map(bool, complaints)) / len(complaints) >= 0.9
    assert sum(kind == (told or "none") for kind, told in found) / len(found) >= 0.85


@pytest.mark.parametrize(
    "path", sample(sorted((Path(HERE) / "logs").rglob("*.log"))), ids=lambda path: "/".join(path.parts[-2:])
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


FAILED = "(EngineCore_DP0 pid=3) ERROR 10-10 10:00:01 [core.py:700] torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"


@pytest.mark.parametrize(
    ("said", "first", "last"),
    [
        ("", "0.10.2", "0.17.1"),
        ("Since vllm 0.11.0 it crashes.", "0.11.0", "0.11.0"),
        ("It works fine with vLLM 0.10.2.", "0.11.0", "0.17.1"),
        ("After updating it works with vLLM 0.14.0.", "0.10.2", "0.13.0"),
        ("vllm 0.8.5 crashes.", "0.10.2", "0.17.1"),
    ],
)
def test_the_releases_that_a_writer_names_bound_the_log(said: str, first: str, last: str) -> None:
    """The one that fails, and what it works with, in both directions; what contradicts the lines is not believed."""
    session = shared().start()
    session.feed(next(iter(read_blocks(f"{said}\n\n{FAILED}".encode()))))
    bound = situate(session.finish()[-1]).release
    assert (first, last) == (bound.first, bound.last)


@pytest.mark.parametrize(
    ("said", "change", "kept"),
    [
        ("I already tried --enforce-eager, no effect.", "--enforce-eager", False),
        ("We set enforce_eager and it still fails.", "--enforce-eager", False),
        ("We removed --enforce-eager, still fails.", "--enforce-eager", True),
        ("I tried --max-model-len 4096, same error.", "--max-model-len 8192", True),
        ("I tried --max-model-len 4096, same error.", "--max-model-len 4096", False),
        ("I set VLLM_USE_V1=0 already.", "VLLM_USE_V1=0", False),
        ("I upgraded transformers to 4.51.0, still the same.", "pip install transformers==4.51.0", False),
        ("I upgraded transformers, still the same.", "pip install transformers==4.51.0", True),
        ("It crashes.", "--enforce-eager", True),
    ],
)
def test_what_was_tried_is_not_advised_again(said: str, change: str, kept: bool) -> None:
    """The same setting with the same value; taking it out is another thing."""
    kind = "flag" if change.startswith("--") else "env" if "=0" in change else "command"
    start = context("RuntimeError: x", words="RuntimeError: x")
    start.__dict__["writer"] = read_writer(f"{said}\n\n{FAILED}")
    assert (untried(fix(change, kind), start)[0] is not None) is kept
