"""Limits and tables of reading lines: each entry, and what is just within and just beyond each bound."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.lines.context import AFTER, BEFORE, KEPT, SPAN, Contexts
from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.lines.tail import Tail
from vllm_triage.classifier.lines.traceback_patterns import looks_like_exception, short_path
from vllm_triage.classifier.lines.tracebacks import TraceReader
from vllm_triage.classifier.lines.types import Trace

STAMP = "2025-11-02 10:00:00"


@pytest.mark.parametrize("day", ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
@pytest.mark.parametrize("month", ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"])
def test_dates_of_system_logs(day: str, month: str) -> None:
    """Each month, with the day of the week or without."""
    assert split_line(1, f"{month} 02 10:00:00 host vllm[7]: text").text == "text"
    assert split_line(1, f"{day} {month} 02 10:00:00 host vllm[7]: text").text == "text"
    assert split_line(1, f"{day} 2025-11-02 10:00:00 UTC host python[7]: text").text == "text"


@pytest.mark.parametrize("words", ["Abc 02 10:00:00 host vllm[7]: text", "Janus 02 10:00:00 host vllm[7]: text"])
def test_other_words_are_no_months(words: str) -> None:
    """They are left."""
    assert split_line(1, words).text == words


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("WARN", "WARNING"), ("FATAL", "CRITICAL"), ("ERR", "ERROR"), ("INFO", "INFO"), ("DEBUG", "DEBUG"), ("CRITICAL", "CRITICAL"),
        ("ERROR", "ERROR"), ("WARNING", "WARNING"),
    ],
)  # fmt: skip
def test_levels_of_other_loggers(word: str, level: str) -> None:
    """vLLM's words for them."""
    line = split_line(1, f"{STAMP} | {word} | text")
    assert (line.level, line.text, line.logged) == (level, "text", False)


@pytest.mark.parametrize(
    ("word", "level"), [("error", "ERROR"), ("warning", "WARNING"), ("debug", "DEBUG"), ("group", ""), ("command", ""), ("section", "")]
)  # fmt: skip
def test_commands_of_ci_systems(word: str, level: str) -> None:
    """Some are levels."""
    line = split_line(1, f"##[{word}]text")
    assert (line.level, line.text) == (level, "text")


@pytest.mark.parametrize("level", ["INFO", "ERROR", "WARNING", "DEBUG", "CRITICAL"])
def test_levels_with_a_colon(level: str) -> None:
    """As uvicorn and Python's logging write them; what stands behind a logger's name is a line of its own."""
    assert (split_line(1, f"{level}:     text").level, split_line(1, f"{level}:     text").text) == (level, "text")
    assert split_line(1, f"{level}:some.logger:text").text == "text"
    inner = split_line(1, f"{level}: (EngineCore_0 pid=7) ERROR 11-02 10:00:00 [a.py:1] x")
    assert (inner.level, inner.process, inner.text) == ("ERROR", "EngineCore_0", "x")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("pod-1 ", True), ("a_b c d ", True), ("1 2 3 ", True), ("1 2 3 4 ", False), ("node/7 [x] ", True), ("said: ", False), ("it, ", False), ("it; ", False),
        ("it. ", False), ("it' ", False), ('it" ', False), ("'it ", False), ('"it ', False), ("it is ", False), ("<it ", True), ("*it ", True), ("it| ", True),
        ("x1 (EngineCore_0 pid=7) ", True),
    ],
)  # fmt: skip
def test_words_before_vllms_prefix(words: str, found: bool) -> None:
    """Up to three that are none of a sentence."""
    line = split_line(1, f"{words}ERROR 11-02 10:00:00 [a.py:1] text")
    assert (line.text == "text", line.logged) == (found, found)
    if "EngineCore" in words:
        assert line.process == "EngineCore_0"


@pytest.mark.parametrize("name", ["EngineCore_DP0", "APIServer_1", "ApiServer_1", "Worker_TP0", "VllmWorker rank=0", "DPSupervisor", "DPCoordinator"])  # fmt: skip
def test_processes_with_a_name_of_their_own(name: str) -> None:
    """The number tells the others apart; the main process has no name."""
    prefix = "INFO 11-02 10:00:00 [a.py:1]"
    assert split_line(1, f"({name} pid=7) {prefix} x").process == name
    assert split_line(1, f"(RayWorkerWrapper pid=7) {prefix} x").process == "RayWorkerWrapper pid=7"
    assert split_line(1, f"(pid=7) {prefix} x").process == "pid=7"
    assert (
        split_line(1, f"(RayWorkerWrapper pid=7, ip=10.0.0.1) {prefix} x").process
        == "RayWorkerWrapper pid=7 ip=10.0.0.1"
    )
    assert split_line(1, f"(MainProcess pid=7) {prefix} x").process == ""
    assert split_line(1, "(MainProcess pid=7) x").process == ""


@pytest.mark.parametrize(
    ("raw", "process", "text"),
    [
        ("[rank3]: x", "rank3", "x"), ("[default0]:x", "rank0", "x"), ("[gpu1] x", "rank1", "x"), ("[1,2]<stderr>:x", "rank2", "x"), ("3: x", "rank3", "x"),
        ("[rank0]: (Worker pid=7) x", "Worker pid=7 rank0", "x"), ("[rank7]: (Worker pid=7) x", "Worker pid=7 rank7", "x"),
        ("[rank0]: (Worker rank0 pid=7) x", "Worker rank0 pid=7", "x"), ("[WorkerA] x", "WorkerA", "x"), ("(raylet) x", "raylet", "x"),
        ("(gcs_server +3m2s) x", "gcs_server", "x"), ("(autoscaler, ip=1.2.3.4) x", "autoscaler", "x"), ("(dashboard) x", "dashboard", "x"),
        ("(W pid=7) x [repeated 3x across cluster] (Ray deduplicates)", "W pid=7", "x"), ("(W pid=7) [repeated 3x across cluster] x", "W pid=7", "x"),
    ],
)  # fmt: skip
def test_ranks_and_processes(raw: str, process: str, text: str) -> None:
    """As launchers and Ray show them."""
    line = split_line(1, raw)
    assert (line.process, line.text) == (process, text)


def test_so_many_wrappers_come_off() -> None:
    """Eight around one another, not nine."""
    assert split_line(1, "[rank0]: " * 8 + "x").text == "x"
    assert split_line(1, "[rank0]: " * 9 + "x").text == "[rank0]: x"


@pytest.mark.parametrize("raw", ["    x", "  (not a process) x", "   INFORMATION", "\tERROR x"])
def test_indented_messages_stay_indented(raw: str) -> None:
    """Only an indented line of a log loses its blanks."""
    assert split_line(1, raw).text == raw


def kept(log: bytes, number: int, cut: int | None = None) -> list[int]:
    """Return the numbers of the lines around one, of a log that comes in two blocks."""
    starts = [0, *(place + 1 for place, sign in enumerate(log) if sign == 10)]
    start, cut = starts[number - 1], len(log) if cut is None else cut
    contexts = Contexts()
    block = log[:cut]
    end = block.find(b"\n", start)
    contexts.keep(number, (block, start, len(block) if end < 0 else end), b"")
    contexts.extend(log[cut:])
    return [line for line, _, _ in contexts.lines(number)]


def test_six_lines_before_and_eight_after() -> None:
    """As many as there are at the ends of a log, also across blocks."""
    log = b"".join(b"line %d\n" % number for number in range(1, 31))
    assert (BEFORE, AFTER) == (6, 8)
    assert kept(log, 15) == list(range(9, 24))
    assert kept(log, 3) == list(range(1, 12))
    assert kept(log, 28) == list(range(22, 31))
    assert kept(log, 15, cut=log.index(b"line 20")) == list(range(9, 24))


@pytest.mark.parametrize(("size", "shown"), [(SPAN - 1, True), (SPAN, False), (SPAN + 1, False)])
def test_a_line_before_that_is_as_long_as_what_is_kept(size: int, shown: bool) -> None:
    """A piece of a line is not shown as one."""
    log = b"x" * (size - 1) + b"\nline 2\n"
    assert kept(log, 2) == ([1, 2] if shown else [2])


def test_a_long_line_is_cut_and_numbers_are_kept_once() -> None:
    """Two spans of the line itself; of one start no more than 240 places."""
    contexts = Contexts()
    data = b"y" * (3 * SPAN)
    contexts.keep(1, (data, 0, len(data)), b"")
    assert len(contexts.lines(1)[0][1]) == 2 * SPAN
    contexts.keep(1, (b"z", 0, 1), b"")
    assert contexts.lines(1)[0][1].startswith("y")
    for number in range(2, KEPT + 2):
        contexts.keep(number, (b"z", 0, 1), b"")
    assert KEPT == 240
    assert (contexts.lines(KEPT) != [], contexts.lines(KEPT + 1)) == (True, [])


def test_what_stood_before_the_block_is_kept_too() -> None:
    """The end of the block before."""
    contexts = Contexts()
    contexts.keep(4, (b"four\nfive\n", 0, 4), b"one\ntwo\nthree\n")
    assert contexts.lines(4) == [(1, "one", ""), (2, "two", ""), (3, "three", ""), (4, "four", ""), (5, "five", "")]


def test_the_line_at_a_place_of_the_end() -> None:
    """Carriage returns end lines too, of the same number."""
    tail = Tail()
    tail.extend(b"one\ntwo\rthree\nfour", 3)
    assert [tail.line_at(at)[0].raw for at in (0, 5, 9, 14)] == ["one", "two\rthree", "three", "four"]
    assert [tail.line_at(at)[0].number for at in (0, 5, 9, 14)] == [1, 2, 2, 3]
    assert tail.line_at(9)[1:] == (8, 13)
    assert [line.raw for line in tail.lines()] == ["one", "two", "three", "four"]


def test_sixty_lines_are_the_end_of_a_log() -> None:
    """Unless more are asked for."""
    tail = Tail()
    tail.extend(b"x\n" * 100, 101)
    assert (len(tail.lines()), len(tail.lines(70))) == (60, 70)


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/x/site-packages/torch/a.py", "torch/a.py"), ("/x/dist-packages/vllm/a.py", "vllm/a.py"), ("/usr/lib/python3.12/asyncio/a.py", "asyncio/a.py"),
        ("/usr/lib/python3/a.py", "a.py"), ("/usr/lib/python3.11/lib-dynload/a.py", "a.py"), ("/src/vllm/v1/a.py", "vllm/v1/a.py"), ("/home/me/run.py", "/home/me/run.py"),
        ("C:\\x\\site-packages\\vllm\\a.py", "vllm/a.py"), ("vllm/a.py", "vllm/a.py"), ("/x/site-packages/", "/x/site-packages/"),
    ],
)  # fmt: skip
def test_paths_from_the_package_on(path: str, short: str) -> None:
    """Where Python keeps packages, or a checkout of vLLM."""
    assert short_path(path) == short


@pytest.mark.parametrize(
    "ending",
    [
        "Error", "Exception", "Exit", "Interrupt", "Warning", "Failure", "Fault", "Failed", "Timeout", "Killed", "NotFound", "Unavailable", "Died",
        "OutOfResources", "Dead", "Full", "Empty", "Abort", "Unsupported", "Iteration", "Invalid", "Mismatch", "Disconnected", "Closed",
        "Cancelled", "Terminated", "Stop", "Group",
    ],
)  # fmt: skip
def test_endings_of_exceptions_names(ending: str) -> None:
    """With a message or alone; in small letters only in packages that are known for it."""
    assert looks_like_exception(f"Harbour{ending}: x")
    assert looks_like_exception(f"Harbour{ending}")
    assert not looks_like_exception(f"harbour{ending}: x")
    for package in ("torch", "zmq", "concurrent", "asyncio"):
        assert looks_like_exception(f"{package}.harbour{ending}: x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("pkg.Thing: x", True), ("pkg.thing: x", False), ("pkg.Thing", False), ("Thing: x", False), ("[rank0]: ValueError: x", True), ("pid 7: ValueError: x", True), ("two words: x", False)],
)  # fmt: skip
def test_other_names_of_exceptions(text: str, expected: bool) -> None:
    """Dotted with a message, behind a rank."""
    assert looks_like_exception(text) is expected


def read(*lines: str) -> list[Trace]:
    """Return the exceptions of a log."""
    reader = TraceReader()
    for number, line in enumerate(lines, 1):
        reader.feed(split_line(number, line))
    reader.close_all()
    return reader.traces


HEAD = "Traceback (most recent call last):"
FRAME = '  File "/x/site-packages/vllm/a.py", line 3, in f'


@pytest.mark.parametrize(("more", "kept_lines"), [(1, 1), (11, 11), (12, 11)])
def test_a_message_goes_on_for_twelve_lines(more: int, kept_lines: int) -> None:
    """Its own line counted."""
    (trace,) = read(HEAD, FRAME, "    g()", "ValueError: one", *[f"line {number}" for number in range(more)])
    assert trace.message.count("\n") == kept_lines
    assert (trace.number, trace.last) == (4, 4 + kept_lines)


@pytest.mark.parametrize(("foreign", "kind"), [(25, "ValueError"), (26, "")])
def test_lines_of_others_within_a_stack(foreign: int, kind: str) -> None:
    """Twenty-five are passed over; after more the stack is given up, and its end stands alone."""
    traces = read(HEAD, FRAME, "    g()", *["other text"] * foreign, "ValueError: x")
    assert traces[0].kind == kind
    assert len(traces) == (1 if kind else 2)


@pytest.mark.parametrize(("silent", "is_open"), [(400, 1), (401, 0)])
def test_a_silent_stack_is_closed_after_four_hundred_lines(silent: int, is_open: int) -> None:
    """With the frames that it has."""
    reader = TraceReader()
    reader.feed(split_line(1, HEAD))
    reader.feed(split_line(2, FRAME))
    reader.sweep(2 + silent)
    assert reader.open == is_open
    assert len(reader.traces) == 1 - is_open


def test_frames_of_one_stack_are_bounded() -> None:
    """Two hundred are kept."""
    frames = [FRAME.replace("line 3", f"line {number}") for number in range(1, 203)]
    assert len(read(HEAD, *frames, "ValueError: x")[0].frames) == 200


def test_frames_of_a_stack_in_cpp_are_bounded() -> None:
    """Sixty are kept, the innermost last."""
    native = [f"frame #{number}: f{number}(int) + 0x1f (0x7f00 in /usr/lib/libtorch.so)" for number in range(3)]
    (trace,) = read("RuntimeError: CUDA error", *native)
    assert [(frame.path, frame.function) for frame in trace.frames] == [
        ("libtorch.so", f"f{number}(int)") for number in (2, 1, 0)
    ]


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        (["RuntimeError: x"], ["RuntimeError"]), (["INFO 11-02 10:00:00 [a.py:1] RuntimeError: x"], []), (["WARNING 11-02 10:00:00 [a.py:1] RuntimeError: x"], []),
        (["ERROR 11-02 10:00:00 [a.py:1] RuntimeError: x"], ["RuntimeError"]), (["CRITICAL 11-02 10:00:00 [a.py:1] it was RuntimeError: x"], ["RuntimeError"]),
        (["RuntimeError:"], []), (["RuntimeError"], []), (["ray.exceptions.RayTaskError(ValueError): x"], ["RayTaskError"]),
        ([HEAD, FRAME, "ray.exceptions.RayTaskError(pkg.ValueError): x"], ["ValueError"]), (["TypeError: x", "ValueError: y"], ["TypeError", "ValueError"]),
    ],
)  # fmt: skip
def test_exceptions_without_a_stack(lines: list[str], kinds: list[str]) -> None:
    """Of bare lines and of errors; with a message."""
    assert [trace.kind for trace in read(*lines)] == kinds


def test_stacks_as_rules_search_them() -> None:
    """One line a frame; of very deep ones the ends."""
    frames = [FRAME.replace("line 3, in f", f"line {number}, in f{number}") for number in range(1, 83)]
    text = read(HEAD, *frames, "ValueError: x")[0].stack()
    assert text.count("\n") == 79
    assert text.startswith("vllm/a.py:f1: \n")
    assert "\nvllm/a.py:f10: \nvllm/a.py:f13: \n" in text
    assert text.endswith("vllm/a.py:f82: ")
    assert read(HEAD, FRAME, "    g()", "ValueError: x")[0].stack() == "vllm/a.py:f: g()"
    assert read("ValueError: x")[0].stack() == ""
