"""``vllm-triage run -- COMMAND``: what passes through is untouched, and the failure is explained below it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import product, takewhile
from pathlib import Path
from threading import Thread

import pytest

from tests.everyday import sample
from tests.service.conftest import COMMAND
from tests.service.live.conftest import FAKE, LONGEST, RECORDED, RUN

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="does not apply: run is for POSIX systems")
FAILED = RECORDED / "0.32.0" / "kv-no-blocks.log"
HEALTHY = RECORDED / "0.32.0" / "healthy-serve.log"
CAUSE = "kv_cache_oom/context_exceeds_cache"
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="does not apply: /proc")


def ran(*words: str, through: bool = True, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run the stand-in, through our command or bare."""
    command = [*RUN, "--", *FAKE, *words] if through else [*FAKE, *words]
    return subprocess.run(command, capture_output=True, timeout=LONGEST, check=False, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    "words",
    [
        ["out:one\\n", "err:two\\n", "out:three", "exit:0"],
        ["bytes:700000", "exit:3"],
        ["out:no line end", "exit:1"],
        ["exit:0"],
        [f"log:{HEALTHY}", "exit:0"],
    ],
    ids=["both streams", "any bytes", "no line end", "nothing", "a healthy log"],
)
def test_what_passes_through_is_untouched(words):
    """Standard output byte for byte; standard error too, below which alone something may follow."""
    bare, through = ran(*words, through=False), ran(*words)

    assert (through.returncode, through.stdout) == (bare.returncode, bare.stdout)
    assert through.stderr.startswith(bare.stderr)
    assert bare.returncode or through.stderr == bare.stderr


@pytest.mark.parametrize("words", [["exit:0"], ["exit:1"], ["exit:137"], ["exit:255"]])
@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_the_exit_code_is_the_commands(live, words, terminal):
    """Whatever it is."""
    bare, through = live([*FAKE, *words], terminal), live([*RUN, "--", *FAKE, *words], terminal)

    assert through.end() == bare.end()


@pytest.mark.parametrize(
    ("name", "terminal"),
    sample(product(["SIGTERM", "SIGKILL", "SIGSEGV", "SIGABRT", "SIGILL"], ["", "terminal"]), 2),
)
def test_a_command_that_a_signal_ends_ends_us_by_it_too(live, name, terminal):
    """So that whoever started us sees what a bare run shows."""
    through = live([*RUN, "--", *FAKE, f"raise:{name}"], terminal)

    assert through.end() == -getattr(signal, name)


@pytest.mark.parametrize(
    ("name", "caught", "terminal"),
    sample(
        product(["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"], ["", "caught"], ["", "terminal"]), 3
    ),
)
def test_signals_reach_the_command_once(live, name, caught, terminal):
    """The matrix: whichever signal, caught there or not, on pipes and on a terminal, ends as a bare run does."""
    words = [*([f"catch:{name}"] if caught else []), "out:ready\\n", "wait"]
    outcomes = []
    for command in ([*FAKE, *words], [*RUN, "--no-status", "--", *FAKE, *words]):
        process = live(command, terminal)
        process.until("ready")
        process.send(getattr(signal, name))
        if caught and name.startswith(("SIGUSR", "SIGHUP", "SIGQUIT")):
            process.until(f"got {name}")
            process.send(signal.SIGKILL if process.children() == [] else signal.SIGTERM)
        code = process.end()
        outcomes.append((code if not caught or name in ("SIGTERM", "SIGINT") else 0, process.text.count(f"got {name}")))

    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("caught", [False, True], ids=["not caught", "caught"])
def test_ctrl_c_on_a_terminal_reaches_the_command_once(live, caught):
    """As the terminal would have sent it."""
    words = [*(["catch:SIGINT"] if caught else []), "out:ready\\n", "wait"]
    process = live([*RUN, "--", *FAKE, *words], terminal=True)
    process.until("ready")
    process.type("\x03")

    assert process.end() == (7 if caught else -signal.SIGINT)
    assert process.text.count("got SIGINT") == int(caught)


def test_on_a_terminal_the_command_has_one_of_its_own(live):
    """It sees a terminal on both streams, with the size of ours less the status row, and what is typed."""
    process = live([*RUN, "--", *FAKE, "tty", "size", "read", "exit:0"], terminal=True)
    process.until("size 100 29")
    process.type("hello\n")

    assert process.end() == 0
    assert "tty True True" in process.text
    assert "read hello" in process.text


@pytest.mark.parametrize(("redirected", "seen"), [(">{file}", "tty False True"), ("2>{file}", "tty True False")])
def test_each_stream_is_what_ours_is(live, tmp_path, redirected, seen):
    """A terminal where ours is one, a pipe where it is not."""
    line = " ".join([*RUN, "--", *FAKE, "tty", "exit:0", redirected.format(file=tmp_path / "other")])
    process = live(["bash", "-c", line], terminal=True)

    assert process.end() == 0
    assert seen in process.text + (tmp_path / "other").read_text()


def test_a_failure_is_explained_once_below_the_output():
    """Cause and corrected command, on standard error, when the server has died."""
    through = ran(f"log:{FAILED}", "exit:1")
    told = through.stderr.decode()

    assert (through.returncode, through.stdout) == (1, FAILED.read_bytes())
    assert told.count(CAUSE) == 1
    assert "--max-model-len 524160" in told
    assert "ended with exit code 1" in told


def test_the_status_row_shows_the_stage_and_what_is_known_of_the_memory(live, tmp_path):
    """And is gone when the command has ended: the last word to the terminal gives it back."""
    process = live([*RUN, "--", *FAKE, f"log:{HEALTHY}", f"until:{tmp_path}/gate", "exit:0"], terminal=True)
    process.wait_for(lambda: b"vllm-triage \xc2\xb7 " in process.out and b"full context" in process.out, "status row")
    (tmp_path / "gate").touch()

    assert process.end() == 0
    assert process.out.rindex(b"\x1b[r") > process.out.rindex(b"vllm-triage \xc2\xb7 ")


def test_a_healthy_command_is_not_commented_on():
    """Neither a server that was stopped nor a program that is none."""
    assert ran(f"log:{HEALTHY}", "exit:0").stderr == b""
    assert ran("out:hello\\n", "exit:0").stderr == b""


def test_a_failure_without_a_cause_in_the_log_is_not_called_healthy():
    """The exit code says that something went wrong."""
    told = ran(f"log:{HEALTHY}", "exit:3").stderr.decode()

    assert "ended with exit code 3, and its output names no failure" in told


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        (["/no/such/program"], 127, "command not found"),
        (["/etc/passwd"], 126, "cannot be run"),
        ([], 2, "nothing to run"),
    ],
)
def test_a_command_that_cannot_be_run_ends_as_in_a_shell(command, code, told):
    """126 and 127, and one line."""
    ended = subprocess.run([*RUN, "--", *command], capture_output=True, text=True, timeout=LONGEST, check=False)

    assert (ended.returncode, ended.stdout) == (code, "")
    assert told in ended.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--patience", "nonsense=3"], "'nonsense' is not a stage of a start"),
        (["--patience", "weights=soon"], "give STAGE=SECONDS"),
        (["--rules", "/no/such"], "/no/such: no such rule file or folder"),
        (["--as", "fax"], "it is one of shell"),
        (["--retry", "-1"], "not a number of attempts"),
        (["--json-events", "/no/such/folder/x"], "/no/such/folder/x: cannot be written"),
        (["--vllm-version", "banana"], "'banana' is not a vLLM release"),
    ],
)
def test_misuse_is_told_before_anything_is_started(words, told):
    """Exit code 2, and the command has not run."""
    ended = subprocess.run(
        [*RUN, *words, "--", *FAKE, "out:started\\n"], capture_output=True, text=True, timeout=LONGEST, check=False
    )

    assert (ended.returncode, ended.stdout) == (2, "")
    assert told in ended.stderr


def test_the_log_file_holds_what_passed_through(tmp_path):
    """Both streams."""
    kept = tmp_path / "server.log"
    command = [*RUN, "--log-file", str(kept), "--", *FAKE, "out:one\\n", "err:two\\n", "exit:0"]
    subprocess.run(command, capture_output=True, timeout=LONGEST, check=True)

    assert sorted(kept.read_text().splitlines()) == ["one", "two"]


def test_events_for_programs(live, tmp_path):
    """A JSON object on each line: stages, the cause before the end, the whole report at the end."""
    path, gate = tmp_path / "events", tmp_path / "gate"
    command = [*RUN, "--json-events", str(path), "--", *FAKE, f"log:{FAILED}", f"until:{gate}", "exit:1"]
    process = live(command)
    process.wait_for(lambda: path.exists() and '"event": "cause"' in path.read_text(), "cause")
    gate.touch()
    process.end()
    events = [json.loads(line) for line in path.read_text().splitlines()]

    assert [event["event"] for event in events if event["event"] in ("cause", "end")] == ["cause", "end"]
    assert events[-1]["report"]["cause"] == CAUSE
    assert events[-1]["exit_code"] == 1
    assert any(event.get("stage") == "kv_cache" for event in events)
    assert not any("text" in event for event in events)


def test_on_failure_runs_a_command(tmp_path):
    """With the report on its input and the verdict in its environment; its output is not the server's."""
    action = f'cat >{tmp_path}/report; echo "$VLLM_TRIAGE_CAUSE" >{tmp_path}/cause; echo said'
    command = [*RUN, "--on-failure", action, "--", *FAKE, f"log:{FAILED}", "exit:1"]
    ended = subprocess.run(command, capture_output=True, timeout=LONGEST, check=False)

    assert (tmp_path / "cause").read_text() == f"{CAUSE}\n"
    assert json.loads((tmp_path / "report").read_text())["cause"] == CAUSE
    assert (ended.returncode, ended.stdout) == (1, FAILED.read_bytes())
    assert b"said" in ended.stderr


def test_on_failure_posts_to_an_address():
    """The report as JSON; an address that does not answer is told, and changes no exit code."""
    got: list[bytes] = []

    class Takes(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Takes) as server:
        Thread(target=server.handle_request, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/hook"
        command = [*RUN, "--on-failure", address, "--", *FAKE, f"log:{FAILED}", "exit:1"]
        first = subprocess.run(command, capture_output=True, timeout=LONGEST, check=False)
    second = subprocess.run(command, capture_output=True, timeout=LONGEST, check=False)

    assert json.loads(got[0])["cause"] == CAUSE
    assert (first.returncode, second.returncode) == (1, 1)
    assert f"--on-failure {address}: ".encode() in second.stderr


def test_the_termination_message_fits_and_names_the_cause(tmp_path):
    """What `kubectl describe pod` shows: 4096 bytes."""
    path = tmp_path / "termination-log"
    command = [*RUN, "--termination-log", str(path), "--", *FAKE, f"log:{FAILED}", "exit:1"]
    subprocess.run(command, capture_output=True, timeout=LONGEST, check=False)
    told = path.read_bytes()

    assert len(told) <= 4096
    assert CAUSE.encode() in told
    assert b"corrected: vllm serve" in told


def test_the_evidence_of_a_failure_is_written_to_a_file(tmp_path):
    """To paste into an assistant: the lines, the question, the form of a good answer."""
    path = tmp_path / "prompt.md"
    command = [*RUN, "--prompt", str(path), "--", *FAKE, f"log:{FAILED}", "exit:1"]
    subprocess.run(command, capture_output=True, timeout=LONGEST, check=False)

    assert CAUSE in path.read_text()
    assert "Answer in this form" in path.read_text()


@LINUX
def test_output_that_nobody_reads_any_more_is_the_commands_matter(live):
    """`… | head -1`: the command gets SIGPIPE, as in a bare run, and it is over."""
    line = f"{' '.join(RUN)} -- bash -c 'while echo a line; do :; done' | head -1"

    assert live(["bash", "-c", line]).end() == 0


@LINUX
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)], ids=["killed", "hangs"]
)
def test_a_reader_that_fails_takes_nothing_with_it(live, number, monkeypatch):
    """The process that reads the log is ended, or hangs: output, exit code and the rest of the run are untouched."""
    size = 3_000_000
    process = live([*RUN, "--", *FAKE, "out:ready\\n", "read", f"bytes:{size}", "exit:5"], stdin=subprocess.PIPE)
    process.until("ready")
    ours = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    reader = next(pid for pid in process.children() if Path(f"/proc/{pid}/cmdline").read_bytes() == ours)
    os.kill(reader, number)
    process.process.stdin.write(b"go\n")
    process.process.stdin.close()

    assert process.end() == 5
    assert b"no diagnosis" in process.out
    assert len(process.out) > size


def test_a_full_disk_takes_nothing_with_it():
    """The log cannot be written to its file: told once, at the end."""
    command = [*RUN, "--log-file", "/dev/full", "--", *FAKE, "bytes:300000", "exit:0"]
    ended = subprocess.run(command, capture_output=True, timeout=LONGEST, check=False)

    assert ended.returncode == 0
    assert ended.stderr.count(b"the log is not kept any further (No space left on device)") == 1
    assert len(ended.stdout) + len(ended.stderr) > 300000


def test_rules_that_are_broken_take_nothing_with_them(tmp_path):
    """A rule file that cannot be read is no reason not to start the server."""
    (tmp_path / "broken.toml").write_text("id = ")
    command = [*RUN, "--rules", str(tmp_path), "--", *FAKE, f"log:{FAILED}", "exit:1"]
    ended = subprocess.run(command, capture_output=True, timeout=LONGEST, check=False)

    assert (ended.returncode, ended.stdout) == (1, FAILED.read_bytes())
    assert CAUSE.encode() in ended.stderr


def test_a_process_left_behind_does_not_hold_us(live):
    """It holds the output open for a minute; a bare run would not wait for it either."""
    process = live([*RUN, "--", *FAKE, "orphan:40", "out:done\\n", "exit:4"])
    process.until("done")

    assert process.process.wait(30) == 4


@LINUX
def test_as_the_first_process_of_a_container_it_reaps_and_passes_sigterm_on():
    """Without a process 1 that does so, orphans stay as zombies and `docker stop` has to kill."""
    alone = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no rights to make a process namespace (unshare --pid)")
    first = [*alone, *RUN, "--", *FAKE, "orphan:0.1", "catch:SIGTERM", "sleep:0.5", "out:ready\\n", "wait"]
    process = subprocess.Popen(first, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        # unshare's only child is process 1 of the namespace; its children are all that it has not reaped.
        one = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
        below = Path(f"/proc/{one}/task/{one}/children").read_text().split()
        states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in below]
        os.kill(one, signal.SIGTERM)
        out, _ = process.communicate(timeout=LONGEST)
    finally:
        process.kill()

    assert "Z" not in states
    assert (process.returncode, out) == (7, b"got SIGTERM\n")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A command named vllm that fails, unless it is given the corrected context."""
    vllm = tmp_path / "vllm"
    vllm.write_text(
        f'#!/bin/bash\ncase "$*" in *--max-model-len*524160*) cat {HEALTHY};; *) cat {FAILED}; exit 1;; esac\n'
    )
    vllm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return [str(vllm), "serve", "/models/tiny-long-context", "--load-format", "dummy"]


def test_the_corrected_command_is_tried_with_consent(tmp_path, server):
    """Each attempt is kept and compared; where nobody can be asked and nothing was said, there is one."""
    kept = tmp_path / "kept.log"
    start = [*RUN, "--log-file", str(kept), "--retry", "2"]
    refused = subprocess.run(
        [*start, "--", *server], capture_output=True, timeout=LONGEST, check=False, stdin=subprocess.DEVNULL
    )
    tried = subprocess.run([*start, "--yes", "--", *server], capture_output=True, timeout=LONGEST, check=False)

    assert (refused.returncode, b"that needs --yes" in refused.stderr) == (1, True)
    assert tried.returncode == 0, tried.stderr.decode()
    assert tried.stdout == FAILED.read_bytes() + HEALTHY.read_bytes()
    assert kept.read_bytes() == FAILED.read_bytes()
    assert (tmp_path / "kept.log.2").read_bytes() == HEALTHY.read_bytes()
    told = tried.stderr.decode()
    assert f"1  ✖ {CAUSE}" in told
    assert "2  ✔ no failure" in told


@pytest.mark.parametrize(("answer", "code", "attempts"), [("y", 0, 2), ("n", 1, 0), ("", 1, 0)])
def test_on_a_terminal_it_is_asked(live, tmp_path, server, answer, code, attempts):
    """Only yes is consent; where no log file was asked for, there is none."""
    (tmp_path / "here").mkdir()
    process = live([*RUN, "--retry", "1", "--", *server], terminal=True, cwd=tmp_path / "here")
    process.until("? [y/N]")
    process.type(f"{answer}\n")

    assert process.end() == code
    assert process.text.count("reached ") == attempts
    assert list((tmp_path / "here").iterdir()) == []


def test_the_command_is_named_without_dashes_too():
    """`vllm-triage run vllm serve …`; options of ours stand before it."""
    ended = subprocess.run(
        [*RUN, "--color", "never", *FAKE, "out:x\\n", "exit:6"], capture_output=True, timeout=LONGEST, check=False
    )

    assert (ended.returncode, ended.stdout) == (6, b"x\n")


def test_help_names_it():
    """Users find it where they look."""
    ended = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, timeout=LONGEST, check=True)

    assert "vllm-triage run" in ended.stdout


def test_where_nobody_watches_a_cause_is_told_when_it_is_certain(tmp_path):
    """A server that lost its engine and lingers: text and action come while it does, and once."""
    seen, go = tmp_path / "seen", tmp_path / "go"
    command = [
        *RUN,
        "--on-failure",
        f"echo $VLLM_TRIAGE_CAUSE >> {seen}",
        "--",
        *FAKE,
        f"log:{FAILED}",
        f"until:{go}",
        "exit:1",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        try:
            shown = list(takewhile(lambda line: "kv_cache_oom/" not in line, lines))
            assert any(line.startswith("✖") for line in shown[-1:])
            assert process.poll() is None
            until = time.monotonic() + LONGEST
            while not seen.exists() and time.monotonic() < until:
                time.sleep(0.05)
        finally:
            go.touch()  # whatever fails here, the server ends
        rest = "".join(lines)
    assert "the cause is told above" in rest
    assert "\n✖" not in rest
    assert len(seen.read_text().splitlines()) == 1


def test_what_a_launcher_leaves_in_the_background_lives_on(tmp_path):
    """Its output goes where it would have gone without us, and the exit code is the launcher's."""
    alive = tmp_path / "alive"
    script = f"(for i in 1 2 3 4; do sleep .5; echo late $i || exit 1; done; echo 1 > {alive}) & echo main; exit 3"
    done = subprocess.run([*RUN, "--", "sh", "-c", script], capture_output=True, timeout=LONGEST, check=False)

    assert (done.returncode, done.stdout) == (3, b"main\nlate 1\nlate 2\nlate 3\nlate 4\n")
    assert b"left something running" in done.stderr
    assert alive.exists()
