"""``vllm-triage report``: text, JSON, the page."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.service.batch.logs import fleet
from vllm_triage.service.cli.commands.batch import run as batch
from vllm_triage.service.cli.commands.report import run


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Give the rows of six logs on two nodes."""
    pattern = r"/(?P<node>node-\d)/"
    words = [
        fleet(tmp_path / "<b>logs"),
        "--out",
        tmp_path / "out",
        "--format",
        "jsonl",
        "-j",
        1,
        "--from-path",
        pattern,
    ]
    assert batch([str(word) for word in words]) == 0
    return tmp_path / "out"


def test_text(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What fails, and where."""
    capsys.readouterr()
    assert run([str(reports)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("8 starts in 6 logs, ")
    assert "8 starts failed, in 6 logs: 100.0% (61.0% to 100.0%)" in text
    assert re.search(r"\n +6 +6 +\S+ +\S+ +kv_cache_oom/no_cache_blocks", text)
    assert re.search(r"by node\n.*\n +4 +4 +3 +3 .* node-0", text)


def test_filters(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what is asked for is counted."""
    capsys.readouterr()
    assert run([str(reports), "--node", "node-1", "--bucket", "port_in_use", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["all"]["starts"], [cause["id"] for cause in told["causes"]]) == (1, ["port_in_use/http_port_taken"])
    assert run([str(reports), "--until", "1999-01-01", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["all"]["starts"] == 0


def test_the_page_loads_nothing_and_escapes_what_logs_say(reports: Path, tmp_path: Path) -> None:
    """One file, whatever stands in the logs' names."""
    target = tmp_path / "fleet.html"
    assert run([str(reports), "--html", str(target), "--title", "A & B"]) == 0
    text = target.read_text()
    assert "<b>logs" not in text
    assert "&lt;b&gt;logs" in text
    assert "<title>A &amp; B</title>" in text
    assert text.count("<svg") >= 3
    tags = _tags(text)
    assert not {"link", "img", "iframe"} & {tag for tag, _ in tags}
    digest = b64encode(sha256(text.partition("<script>")[2].partition("</script>")[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "% of the failures go</strong>: " in text
    assert not [name for _, names in tags for name in names if name in ("src", "href") or name.startswith("on")]


def test_no_reports_and_no_day_are_told(reports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do."""
    assert run([str(tmp_path / "gone")]) == 2
    assert "no reports there (vllm-triage batch SOURCE --out" in capsys.readouterr().err
    assert run([str(reports), "--since", "yesterday"]) == 2
    assert "'yesterday' is not a day" in capsys.readouterr().err
    assert run([str(reports), "--html", str(tmp_path / "gone" / "page.html")]) == 2


def _tags(text: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append((tag, [name for name, _ in attrs]))

    Reader().feed(text)
    return found
