"""A log that is piped in on a terminal, or followed: it passes by, and is explained as soon as that is certain."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.service.conftest import COMMAND
from tests.service.live.conftest import FAKE, LONGEST, RECORDED

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="does not apply: terminals and signals of POSIX")
TRIAGE = " ".join(COMMAND)
SERVER = " ".join(FAKE)
FAILED = RECORDED / "0.32.0" / "kv-no-blocks.log"
HEALTHY = RECORDED / "0.32.0" / "healthy-serve.log"
CAUSE = "kv_cache_oom/context_exceeds_cache"
FATAL = 67
"""Line of the failed log on which its cause stands."""


def kept_logs(tmp_path: Path) -> list[Path]:
    """Return the logs that were kept unasked."""
    return sorted((tmp_path / "state" / "vllm-triage" / "logs").glob("*.log"))


def shell(live, line: str):
    """Run a command line in bash, on a terminal."""
    return live(["bash", "-c", line], terminal=True)


def test_on_a_terminal_a_pipe_is_alive(live, tmp_path):
    """The log passes through, the verdict comes while the server still hangs on to life, and again at the end."""
    gate = tmp_path / "gate"
    process = shell(
        live, f"{SERVER} log:{FAILED} 'out:and so on\\n' until:{gate} 'out:last line\\n' exit:1 | {TRIAGE} -"
    )
    early = process.until("The KV cache cannot hold one request")
    gate.touch()
    code = process.end()

    assert "Starting to load model" in early
    assert (code, process.text.count("The KV cache cannot hold one request")) == (1, 2)
    (kept,) = kept_logs(tmp_path)
    assert kept.read_bytes() == FAILED.read_bytes() + b"and so on\nlast line\n"
    assert kept.stat().st_mode & 0o077 == 0
    assert str(kept) in process.text.replace("\r\n", "")


def test_quiet_shows_how_far_it_is_and_no_log(live, tmp_path):
    """`--quiet`: the status row alone; `--no-keep`: no file."""
    gate = tmp_path / "gate"
    process = shell(live, f"{SERVER} log:{HEALTHY}@300 until:{gate} | {TRIAGE} - --quiet --no-keep")
    process.until("vllm-triage · ")
    gate.touch()
    code = process.end()

    assert (code, kept_logs(tmp_path)) == (0, [])
    assert "Starting to load model" not in process.text
    assert "no_failure" in process.text


def test_off_a_terminal_a_pipe_is_what_it_was(tmp_path):
    """One answer at the end, nothing passed through, nothing kept."""
    ended = subprocess.run(
        ["bash", "-c", f"cat {FAILED} | {TRIAGE} -"], capture_output=True, text=True, timeout=LONGEST, check=False
    )

    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.startswith("✖ ")
    assert "Starting to load" not in ended.stdout
    assert kept_logs(tmp_path) == []


def test_other_formats_on_a_terminal_are_answered_once(live):
    """JSON on a terminal is for reading, not for mixing with a log."""
    process = shell(live, f"cat {FAILED} | {TRIAGE} - -f json")

    assert process.end() == 1
    assert json.loads(process.text)["cause"] == CAUSE


def test_ctrl_c_reads_on_until_the_server_has_ended(live):
    """What it prints while it stops belongs to the log; then the answer follows."""
    server = (
        'bash -c \'trap "sleep 1; echo stopped now; exit" INT; cat ' + str(FAILED) + "; while :; do sleep 0.1; done'"
    )
    process = shell(live, f"{server} | {TRIAGE} -")
    process.until(CAUSE)
    process.type("\x03")
    code = process.end()

    assert "reading on while the server stops" in process.text
    assert process.text.index("stopped now") < process.text.rindex(CAUSE)
    assert code == 1


def test_an_empty_pipe_on_a_terminal_is_misuse(live):
    """As it is off a terminal."""
    process = shell(live, f"true | {TRIAGE} -")

    assert process.end() == 2
    assert process.text.count("the log is empty") == 1


def test_following_a_pipe_tells_a_cause_once_and_before_the_end(live, tmp_path):
    """The moment it is certain, and at the end in one line; the log itself is not shown."""
    gate = tmp_path / "gate"
    process = live(["bash", "-c", f"{SERVER} log:{FAILED} until:{gate} 'out:late\\n' | {TRIAGE} - --follow; exit $?"])
    process.until(CAUSE)
    gate.touch()
    code = process.end()

    assert (code, process.text.count("✖ The KV cache cannot hold")) == (1, 1)
    assert "it is still kv_cache_oom/context_exceeds_cache" in process.text
    assert "Starting to load" not in process.text


def test_what_is_passed_on_while_following_is_the_log_alone(tmp_path):
    """`--tee`: standard output is the log, byte for byte; what is told goes to standard error."""
    ended = subprocess.run(
        ["bash", "-c", f"cat {FAILED} | {TRIAGE} - --follow --tee"], capture_output=True, timeout=LONGEST, check=False
    )

    assert (ended.returncode, ended.stdout) == (1, FAILED.read_bytes())
    assert CAUSE.encode() in ended.stderr


def test_following_for_programs():
    """Events, one on a line, on standard output."""
    ended = subprocess.run(
        ["bash", "-c", f"cat {FAILED} | {TRIAGE} - --follow -f jsonl"],
        capture_output=True,
        timeout=LONGEST,
        check=False,
    )
    events = [json.loads(line) for line in ended.stdout.splitlines()]

    assert (ended.returncode, events[-1]["event"], events[-1]["report"]["cause"]) == (1, "end", CAUSE)
    assert {"stage"} <= {event["event"] for event in events}


def test_a_cause_is_corrected_when_a_better_one_comes(live, tmp_path):
    """First a line that speaks for the one, then, in another process, the reason for it."""
    first = "ERROR 11-21 12:05:08 [engine.py:448] OSError: [Errno 98] Address already in use: ('0.0.0.0', 8000)\\n"
    gate = tmp_path / "gate"
    process = live(
        ["bash", "-c", f'{SERVER} "out:{first}" until:{gate} log:{FAILED} until:{gate}.2 | {TRIAGE} - --follow']
    )
    process.until("port_in_use")
    gate.touch()
    process.until("corrected: not port_in_use")
    Path(f"{gate}.2").touch()
    process.end()
    told = process.text

    assert told.index("port_in_use") < told.index("corrected: not port_in_use")
    assert told.index("corrected: not") < told.index(CAUSE)


def test_a_cause_that_the_server_survived_is_withdrawn(live, tmp_path):
    """It came up all the same: what was told is taken back."""
    first = "ERROR 11-21 12:05:08 [engine.py:448] ValueError: No available memory for the cache blocks.\\n"
    gate = tmp_path / "gate"
    process = live(
        ["bash", "-c", f'{SERVER} "out:{first}" until:{gate} log:{HEALTHY} until:{gate}.2 | {TRIAGE} - --follow']
    )
    process.until("kv_cache_oom/no_cache_blocks")
    gate.touch()
    process.until("withdrawn: kv_cache_oom")
    Path(f"{gate}.2").touch()
    code = process.end()
    told = process.text

    assert told.index("✖") < told.index("withdrawn: kv_cache_oom")
    assert (code, "no_failure" in told[told.index("withdrawn") :]) == (0, True)


class Followed:
    """A file that is written to while it is followed."""

    def __init__(self, live, path: Path, *words: str) -> None:
        self.path = path
        self.process = live([*COMMAND, str(path), "--follow", "--tee", *words])

    def add(self, text: str, seen: bool = True) -> None:
        with self.path.open("a") as file:
            file.write(text)
        if seen:
            self.process.until(text.strip())

    def end(self) -> str:
        """Press Ctrl-C; return what passed through."""
        self.process.send(signal.SIGINT)
        self.code = self.process.end()
        return str(self.process.text).partition("\n? This is")[0]


@pytest.fixture
def followed(live, tmp_path):
    """A file with one line, and the command that follows it."""
    path = tmp_path / "server.log"
    path.write_text("line one\n")
    made = Followed(live, path)
    made.process.until("line one")
    return made


def test_a_file_is_followed_until_ctrl_c(followed):
    """What it held, what is added, and then the answer."""
    followed.add("INFO 11-21 10:00:00 [x.py:1] line two\n")
    followed.add("ValueError: No available memory for the cache blocks.\n")
    followed.process.until("kv_cache_oom/no_cache_blocks")
    told = followed.end()

    assert followed.code == 1
    assert told.count("line one") == 1


@pytest.mark.parametrize("packed", [False, True], ids=["moved", "moved and compressed"])
def test_a_file_that_is_rotated_is_followed_on(followed, packed):
    """logrotate's default: the old file is moved, perhaps compressed, a new one made; no line is lost or read twice."""
    for turn in range(3):
        old = followed.path.with_suffix(f".{turn}")
        followed.add(f"before {turn}\n", seen=False)
        followed.path.rename(old)
        with old.open("a") as file:
            file.write(f"late {turn}\n")
        if packed:
            followed.process.until(f"late {turn}")
            old.with_suffix(f".{turn}.gz").write_bytes(gzip.compress(old.read_bytes()))
            old.unlink()
        followed.add(f"after {turn}\n")
    told = followed.end()

    for turn in range(3):
        for word in ("before", "late", "after"):
            assert told.splitlines().count(f"{word} {turn}") == 1


def test_the_old_file_is_read_while_the_new_one_is_empty(followed):
    """logrotate's create: what the server writes until it opens the new file still comes to the old one."""
    old = followed.path.with_suffix(".1")
    followed.path.rename(old)
    followed.path.touch()
    with old.open("a") as file:
        for number in range(3):
            time.sleep(0.4)
            file.write(f"late {number}\n")
            file.flush()
    followed.process.until("late 2")
    followed.add("after\n")
    told = followed.end()

    assert [told.splitlines().count(word) for word in ("late 0", "late 1", "late 2", "after")] == [1, 1, 1, 1]


def test_a_file_that_is_cut_is_read_from_its_beginning(followed):
    """logrotate's copytruncate, or `> server.log`."""
    followed.path.write_text("new\n")
    followed.process.until("new")
    told = followed.end()

    assert (told.splitlines().count("line one"), told.splitlines().count("new")) == (1, 1)


def test_a_file_that_is_not_there_yet_is_waited_for(live, tmp_path):
    """The follower may be started first."""
    path = tmp_path / "later.log"
    followed = Followed(live, path)
    followed.process.until("waiting for")
    followed.add("here it is\n")

    assert "here it is" in followed.end()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["{folder}/x.log.gz", "--follow"], "is compressed"),
        (["{folder}", "--follow"], "is a folder"),
        (["{folder}/no/x.log", "--follow"], "there is no folder"),
        (["{folder}/a", "{folder}/b", "--follow"], "--follow takes one log"),
        (["{folder}/a", "--follow", "-f", "sarif"], "--follow answers as text, json, jsonl"),
        (["{folder}/a", "--follow", "-f", "json", "--tee"], "give one of the two"),
        (["{folder}/a", "--follow", "--patience", "x0"], "give a factor above 0"),
        (["{folder}/a", "--follow", "--only", "nothing"], "'nothing' is not a bucket"),
    ],
)
def test_misuse_of_following(words, told, tmp_path):
    """Exit code 2 and one line, at once."""
    command = [*COMMAND, *(word.format(folder=tmp_path) for word in words)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert told in ended.stderr


def test_old_logs_make_room(live, tmp_path):
    """Twenty are kept, the oldest goes; what lies beside them stays."""
    folder = tmp_path / "state" / "vllm-triage" / "logs"
    folder.mkdir(parents=True)
    for number in range(25):
        (folder / f"20200101-0000{number:02}-1.log").write_text("old")
    (folder / "notes.txt").write_text("mine")
    shell(live, f"cat {HEALTHY} | {TRIAGE} -").end()

    assert len(kept_logs(tmp_path)) == 20
    assert not (folder / "20200101-000000-1.log").exists()
    assert (folder / "notes.txt").exists()
