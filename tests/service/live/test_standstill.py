"""A server that stands still while it runs through us, or while its log is followed."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.service.conftest import COMMAND
from tests.service.live.conftest import FAKE, RUN
from vllm_triage.service.live.processes import tree

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="does not apply: /proc")
SAMPLE = (
    "INFO 11-02 10:01:00 [loggers.py:127] Engine 000: Avg prompt throughput: 9.0 tokens/s, Avg generation throughput: 50.0 "
    "tokens/s, Running: 3 reqs, Waiting: 2 reqs, GPU KV cache usage: 9.9%, Prefix cache hit rate: 0.0%\\n"
)
START = "INFO 11-02 10:00:00 [api_server.py:1977] vLLM API server version 0.11.0\\nINFO 11-02 10:00:09 [gpu_model_runner.py:2602] Starting to load model acme/tiny...\\n"
READY = "INFO:     Application startup complete.\\n"
STOP = "INFO 11-02 10:01:03 [launcher.py:79] Shutting down FastAPI HTTP server.\\n"


@pytest.mark.slow
def test_a_stopped_server_is_noticed_told_and_seen_to_go_on(live, tmp_path):
    """SIGSTOP while weights load: what, since when, which process, what to do; --on-failure hears of it; SIGCONT ends it."""
    events = tmp_path / "events"
    action = f"cat > {tmp_path}/told"
    start = [*RUN, "--json-events", str(events), "--on-failure", action, "--", *FAKE]
    process = live([*start, f"out:{START}", "raise:SIGSTOP", "out:going on\\n", f"until:{tmp_path}/gate", "exit:0"])
    process.until("stalled: weights")
    stopped = next(pid for pid in process.children() if tree(pid)[0].state == "T")
    process.until(f"next: kill -CONT {stopped}")
    process.wait_for(lambda: (tmp_path / "told").exists() and (tmp_path / "told").read_text().endswith("}"), "told")
    os.kill(stopped, signal.SIGCONT)
    process.until("moving again: weights")
    (tmp_path / "gate").touch()

    assert process.end() == 0
    told = json.loads((tmp_path / "told").read_text())
    assert (told["verdict"], told["cause"]) == ("stalled", "mqllmengine_stall/start_stands_still")
    seen = [json.loads(line) for line in events.read_text().splitlines()]
    assert [event["verdict"] for event in seen if event["event"] == "standstill"] == ["stalled", "moving"]


@pytest.mark.slow
def test_a_server_that_was_stuck_when_it_was_ended_is_not_called_healthy(live):
    """Ctrl-C on a server that stands still: what was seen before is the answer."""
    process = live([*RUN, "--", *FAKE, f"out:{START}", "raise:SIGSTOP"])
    process.until("stalled: weights")
    stopped = next(pid for pid in process.children() if tree(pid)[0].state == "T")
    os.kill(stopped, signal.SIGKILL)

    assert process.end() == -signal.SIGKILL
    assert process.text.count("The start hangs in weights") == 1


@pytest.mark.slow
def test_a_pipe_that_falls_silent_with_requests_running_is_a_stall(live, tmp_path):
    """Arrival times are evidence: the stamps of the log itself show three seconds."""
    gate = tmp_path / "gate"
    server = f"{' '.join(FAKE)} 'out:{START}{READY}{SAMPLE}' sleep:2 'out:{SAMPLE}' sleep:2 'out:{SAMPLE}' until:{gate} 'out:{STOP}'"
    process = live(["bash", "-c", f"{server} | {' '.join(COMMAND)} - --follow --patience serving=5"])
    process.until("stalled: serving")
    gate.touch()
    process.until("request_unanswered")

    assert "3 requests ran and 2 waited" in process.text
    assert process.end() == 1
    assert "mqllmengine_stall/request_unanswered" in process.text.partition("stalled: serving")[2].partition("\n")[2]


def test_silence_alone_is_told_as_such(live, tmp_path):
    """In a pipe nothing else is known."""
    server = f"{' '.join(FAKE)} 'out:{START}' until:{tmp_path}/gate"
    process = live(["bash", "-c", f"{server} | {' '.join(COMMAND)} - --follow --patience weights=1"])
    process.until("cannot tell: weights")
    (tmp_path / "gate").touch()
    process.end()

    assert "nothing but silence shows it" in process.text
    assert "next: py-spy dump" in process.text


def test_the_tree_of_a_process_is_seen():
    """Itself and what it started; not what is gone."""
    (own, *_rest) = tree(os.getpid())

    assert (own.pid, own.state in "RS", own.cpu_seconds > 0) == (os.getpid(), True, True)
    assert tree(2**22 + 1) == ()


def test_children_of_threads_are_seen_too(live):
    """A process that a thread started is the process's child all the same."""
    script = (
        "import subprocess, sys, threading, time\n"
        "def go(): subprocess.Popen(['sleep', '30']); time.sleep(30)\n"
        "threading.Thread(target=go, daemon=True).start()\n"
        "time.sleep(1); print('ready', flush=True); time.sleep(30)\n"
    )
    process = live([sys.executable, "-c", script])
    process.until("ready")
    names = [state.name for state in tree(process.pid)]

    assert names[1:] == ["sleep"]
    for state in tree(process.pid)[1:]:
        os.kill(state.pid, signal.SIGKILL)
    assert Path(f"/proc/{process.pid}").exists()
