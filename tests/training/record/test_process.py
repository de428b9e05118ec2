"""A server as a session: its output with times, its processes, its end. Real processes, small ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vllm_triage.training.record.faults import Action
from vllm_triage.training.record.process import Server
from vllm_triage.training.record.traffic import Client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

PARENT = """
import subprocess, sys, time
code = "import time; print('child up', flush=True); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", code, "harbour-child"])
print("parent up", flush=True)
code = child.wait()
print("child ended with", code, flush=True)
time.sleep(60)
"""
SERVER = """
import http.server
class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        print("got", body.decode(), flush=True)
        self.send_response(200); self.end_headers(); self.wfile.write(b"fine")
    do_GET = lambda self: self.send_error(503)
    log_message = lambda *_: None
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
print("port", server.server_port, "open", flush=True)
server.serve_forever()
"""


def started(code: str, folder: Path) -> Server:
    return Server([sys.executable, "-c", code], dict(os.environ), folder)


def alive(pid: int) -> bool:
    """Return whether a process runs; one that ended and waits for its parent to ask does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_output_is_kept_byte_for_byte_with_a_time_for_each_line(tmp_path: Path):
    """stdout and stderr as they come, also what is no text; a line that lacks its end has no time."""
    code = "import os; os.write(1, b'one\\r\\n\\xff\\x00\\n'); os.write(2, b'two\\nrest')"
    server = started(code, tmp_path)
    assert not server.wait_for("never", 10)
    assert server.stop("interrupt") == "ended by itself"
    assert bytes(server.output) == b"one\r\n\xff\x00\ntwo\nrest"
    assert sorted(server.times) == server.times
    assert len(server.times) == 3


def test_a_signal_reaches_the_child_that_is_named(tmp_path: Path):
    """The parent lives on and tells how the child ended."""
    server = started(PARENT, tmp_path)
    try:
        assert server.wait_for("child up", 10)
        assert "harbour-child" in server.signal("SIGKILL", "harbour-child$")
        assert server.wait_for(f"child ended with {-signal.SIGKILL}", 10)
        assert server.signal("SIGKILL", "nobody of that name") == ""
    finally:
        server.stop("kill")


@pytest.mark.parametrize("how", ["interrupt", "interrupt-main", "terminate", "kill", "freeze"])
def test_nothing_outlives_the_end_whichever_way(tmp_path: Path, how: str):
    """Children that their parent leaves behind are ended too, by their ids."""
    server = started(PARENT, tmp_path)
    assert server.wait_for("child up", 10)
    members = server.members()
    assert len(members) == 2
    server.stop(how)
    assert server.members() == []
    assert [member.pid for member in members if alive(member.pid)] == []


def test_a_process_of_another_session_is_left_alone(tmp_path: Path):
    """The same command line elsewhere on the machine is nobody of ours."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "harbour-child"]) as other:
        try:
            server = started(PARENT, tmp_path)
            assert server.wait_for("child up", 10)
            assert other.pid not in {member.pid for member in server.members()}
            server.stop("freeze")
            assert other.poll() is None
        finally:
            other.kill()


def test_a_frozen_log_ends_before_the_killing(tmp_path: Path):
    """What the parent says about its killed child is not the fault's."""
    server = started(PARENT, tmp_path)
    assert server.wait_for("child up", 10)
    before = bytes(server.output)
    server.stop("freeze")
    assert before == bytes(server.output)
    assert before.count(b"\n") == len(server.times)


def test_shared_memory_of_killed_processes_is_removed(tmp_path: Path):
    """What a process mapped and could not remove itself; other files there stay."""
    name = f"psm_harbour_{os.getpid()}"
    other = Path("/dev/shm") / f"{name}_other"
    code = (
        "import mmap, os, time\n"
        f"file = open('/dev/shm/{name}', 'w+b'); file.truncate(4096); mapped = mmap.mmap(file.fileno(), 4096)\n"
        "print('mapped', flush=True); time.sleep(60)"
    )
    try:
        other.write_bytes(b"x")
        server = started(code, tmp_path)
        assert server.wait_for("mapped", 10)
        server.members()
        server.stop("freeze")
        assert not (Path("/dev/shm") / name).exists()
        assert other.exists()
    finally:
        other.unlink()


def test_waiting_gives_up_when_the_time_is_over(tmp_path: Path):
    """A server that never gets ready does not hold up the recording."""
    server = started("import time; print('up', flush=True); time.sleep(60)", tmp_path)
    try:
        begun = time.monotonic()
        assert not server.wait_for("ready", 0.5)
        assert time.monotonic() - begun < 30
    finally:
        server.stop("kill")


def test_traffic_is_sent_as_the_catalogue_says(tmp_path: Path):
    """Bodies with placeholders filled, raw text, keys left out; the answers are noted."""
    server = started(SERVER, tmp_path)
    try:
        assert server.wait_for("open", 10)
        port = int(server.output.split()[1])
        client = Client(server, port, {"model": "/models/tiny"})
        client.do(
            [
                Action(do="request", body={"prompt": "{hello world * 3}", "max_tokens": "absent"}),
                Action(do="raw", text='{"model":'),
                Action(do="request", path="/health"),
                Action(do="signal", signal="SIGKILL", process="nobody of that name"),
                Action(do="wait-for", text='got {"model":', seconds=5),
            ]
        )
        assert server.wait_for('got {"model": "/models/tiny", "prompt": "hello world hello world hello world"}\n', 5)
        assert client.notes[:2] == ["/v1/completions 200 fine"] * 2
        assert client.notes[2].startswith("/health 503")
        assert client.notes[3:] == ["SIGKILL to NOBODY", "waited for 'got {\"model\":': seen"]
    finally:
        server.stop("kill")
