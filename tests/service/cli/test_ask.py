"""``--ask``: the answer of the rules stands at once, and what a model proposes comes behind it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.service.ask.double import serving
from vllm_triage.corpus import store

LOG = Path(store.HERE) / "logs" / "written" / "kv-cache-too-small.log"
COMMAND = [sys.executable, "-m", "vllm_triage.service"]


def test_what_a_model_proposes_stands_behind_the_answer_of_the_rules(run) -> None:
    """With who proposed it, and what was checked; the exit code stays that of the answer."""
    with serving() as double:
        ran = run(LOG, "--ask", double.url)
    rules, _, added = ran.out.partition("acme/oak-70b names the same cause (line 37)")
    assert (ran.code, ran.err, 1) == (1, "", len(double.asked))
    assert "Cap the context at what fits" in rules
    assert "Shorten the context (proposed by acme/oak-70b)" in added
    assert "option exists in 0.19.1" in added
    assert "1 proposal ruled out" in added


def test_other_formats_hold_both(run) -> None:
    """One document: the fixes by rank, what was ruled out with the fact."""
    with serving() as double:
        told = json.loads(run(LOG, "--ask", double.url, "-f", "json").out)
    assert ["acme/oak-70b"] == [proposal["source"] for proposal in told["proposals"]]
    assert ["acme/oak-70b", None] == [fix.get("proposed_by") for fix in told["fixes"]][:2]
    assert ["vLLM 0.19.1 has no --kv-cache-mode; no release has"] == [
        item["reason"] for item in told["withheld"] if "proposed_by" in item
    ]


@pytest.mark.parametrize("status", [401, 404, 500])
def test_an_endpoint_that_fails_costs_a_line_on_standard_error(run, status, monkeypatch) -> None:
    """The answer of the rules is as it is without."""
    monkeypatch.setattr("vllm_triage.service.ask.endpoint.time.sleep", lambda _seconds: None)
    with serving(status=status) as double:
        ran = run(LOG, "--ask", double.url, "--ask-model", "m")
    assert (1, run(LOG).out) == (ran.code, ran.out)
    assert "no second opinion: the endpoint" in ran.err


def test_nobody_is_asked_where_the_mode_says_so(run, healthy) -> None:
    """``never``, a healthy log; ``always`` wants somebody to be asked."""
    with serving() as double:
        run(LOG, "--ask", double.url, "--ask", "never")
        run(healthy, "--ask", double.url, "--ask", "always")
        assert [] == double.asked
    assert "there is nobody to be asked" in run(LOG, "--ask", "always").err


def test_the_endpoint_may_stand_in_the_environment(run, monkeypatch) -> None:
    """With its model and its key."""
    with serving() as double:
        monkeypatch.setenv("VLLM_TRIAGE_ASK", double.url)
        monkeypatch.setenv("VLLM_TRIAGE_ASK_MODEL", "named")
        assert "named names the same cause" in run(LOG).out
        assert ["named"] == [asked["model"] for asked in double.asked]


def test_a_dry_run_prints_what_would_be_sent_and_sends_nothing(run) -> None:
    """To the letter."""
    with serving() as double:
        shown = run(LOG, "--ask-dry-run").out
        run(LOG, "--ask", double.url)
        assert [shown] == [asked["messages"][0]["content"] for asked in double.asked]


def test_nothing_of_it_is_loaded_where_nobody_asks() -> None:
    """It costs nothing."""
    code = f"import sys; from vllm_triage.service.cli.main import main; main([{str(LOG)!r}, '-f', 'json']); sys.exit(any('openai' in name or '.ask' in name for name in sys.modules))"
    assert 0 == subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode


@pytest.mark.skipif(sys.platform == "win32", reason="does not apply: run needs a POSIX system")
def test_behind_a_command_the_diagnosis_waits_for_no_model() -> None:
    """``run``: the answer first, the opinion when it comes."""
    script = f"cat {LOG}; exit 3"
    with serving(late=1.2) as double:
        words = ["run", "--ask", double.url, "--", "sh", "-c", script]
        with subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            text = b""
            at: dict[bytes, float] = {}
            while piece := os.read(process.stderr.fileno(), 1 << 16):
                text += piece
                for mark in (b"Cap the context", b"proposed by acme/oak-70b"):
                    if mark in text:
                        at.setdefault(mark, time.monotonic())
    assert 3 == process.returncode
    assert at[b"proposed by acme/oak-70b"] - at[b"Cap the context"] > 0.6
