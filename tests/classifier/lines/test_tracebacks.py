"""Tracebacks become whole exceptions, however they were printed, wrapped, interleaved or cut."""

from __future__ import annotations

import random
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.lines.traceback_limits import FOREIGN, FRAMES, GIVE_UP, STREAMS
from vllm_triage.classifier.lines.traceback_patterns import looks_like_exception, short_path
from vllm_triage.classifier.lines.tracebacks import TraceReader
from vllm_triage.classifier.lines.types import Line, Trace

SITE = "/usr/lib/python3.12/site-packages"


def read(text: str, prefix: str = "") -> list[Trace]:
    """Return the exceptions that a log prints."""
    reader = TraceReader()
    for number, line in enumerate(textwrap.dedent(text).strip("\n").split("\n"), 1):
        reader.feed(split_line(number, prefix + line))
    reader.close_all()
    assert reader.open == 0
    return reader.traces


def only(text: str, prefix: str = "") -> Trace:
    """Return the one exception that a log prints."""
    (trace,) = read(text, prefix)
    return trace


def stack(trace: Trace) -> list[tuple[str, str, str]]:
    """Return an exception's frames, outermost first."""
    return [(frame.path, frame.function, frame.code) for frame in trace.frames]


PLAIN = f"""
Traceback (most recent call last):
  File "{SITE}/vllm/v1/engine/core.py", line 700, in run_engine_core
    engine_core = EngineCoreProc(*args)
                  ^^^^^^^^^^^^^^^^^^^^^
  File "{SITE}/vllm/v1/engine/core.py", line 498, in __init__
    super().__init__(vllm_config)
ValueError: No room. Try this:
  or that
"""
FRAMES_OF_PLAIN = [
    ("vllm/v1/engine/core.py", "run_engine_core", "engine_core = EngineCoreProc(*args)"),
    ("vllm/v1/engine/core.py", "__init__", "super().__init__(vllm_config)"),
]
WRAPPERS = [
    "",
    "(EngineCore_DP0 pid=7) ",
    "(EngineCore_DP0 pid=7) ERROR 11-02 10:00:00 [core.py:712] ",
    "vllm-1  | ",
    "[rank0]: ",
    "> ",
    "    ",
    "2025-11-02T10:00:00.123456789Z ",
    "2025-11-02T10:00:00.123456789Z stderr F ERROR 11-02 10:00:00 core.py:7] ",
    "12.5s 381 ",
    "[2025-11-02T10:00:00Z] ",
    "[1,0]<stderr>:",
    "Nov 02 09:14:03 gpu vllm[1]: ",
    "2023-12-22 00:21:40 | ERROR | stderr | ",
    "(RayWorkerWrapper pid=9, ip=10.0.0.2) ",
    "\xa0\xa0",
]


@pytest.mark.parametrize("prefix", WRAPPERS)
def test_traceback_is_read_behind_every_prefix(prefix: str) -> None:
    """Kind, message, place and frames are found whatever stands before each line."""
    trace = only(PLAIN, prefix)
    assert (trace.kind, trace.number, trace.first) == ("ValueError", 7, 1)
    assert stack(trace) == FRAMES_OF_PLAIN
    assert [line.strip() for line in trace.message.split("\n")] == ["No room. Try this:", "or that"]
    assert [frame.number for frame in trace.frames] == [700, 498]


@pytest.mark.parametrize(
    ("link", "direct"),
    [
        ("The above exception was the direct cause of the following exception:", True),
        ("During handling of the above exception, another exception occurred:", False),
    ],
)
@pytest.mark.parametrize("prefix", ["", "(EngineCore_DP0 pid=7) ERROR 11-02 10:00:00 [core.py:712] "])
def test_chained_exceptions_are_linked(link: str, direct: bool, prefix: str) -> None:
    """The exception printed first is what the second was raised from, in both wordings."""
    first, second = read(PLAIN + f"\n{link}\n" + PLAIN.replace("ValueError: No room", "RuntimeError: Failed"), prefix)
    assert (first.kind, second.kind) == ("ValueError", "RuntimeError")
    assert second.raised_from is first
    assert first.cause_of is second
    assert direct is second.direct


def test_the_end_of_a_logged_stack_may_have_lost_its_prefix() -> None:
    """Whoever pasted it cut the front of the last lines; another process's bare exception is none of it."""
    logged = "ERROR 11-02 10:05:01 [async_llm.py:420] "
    head = [f'{logged}  File "{SITE}/vllm/v1/engine/detokenizer.py", line 117, in update', f"{logged}    self.turn()"]
    trace = only("\n".join([*head, "    cogs.turn()", "TypeError: the cog is None"]))
    assert ("TypeError", [("vllm/v1/engine/detokenizer.py", "update", "self.turn()")]) == (trace.kind, stack(trace))

    traces = read("\n".join([*head, "(Worker_TP0 pid=9) KeyError: 'cog'"]))
    assert ["KeyError"] == [trace.kind for trace in traces if not trace.frames]


def test_rays_remote_stack_is_the_cause_of_its_wrapper() -> None:
    """Ray prints the remote exception below the local one that wraps it."""
    wrapper, cause = read(f"""
        Traceback (most recent call last):
          File "{SITE}/ray/_private/worker.py", line 2782, in get_objects
            raise value.as_instanceof_cause()
        ray.exceptions.RayTaskError(ValueError): ray::RayWorkerWrapper.execute_method() (pid=12, ip=10.0.0.1, actor_id=ab)
          File "{SITE}/vllm/worker/worker.py", line 2, in load
            raise ValueError("boom")
        ValueError: boom
    """)
    assert (wrapper.kind, cause.kind, cause.message) == ("ValueError", "ValueError", "boom")
    assert stack(cause) == [("vllm/worker/worker.py", "load", 'raise ValueError("boom")')]
    assert wrapper.raised_from is cause


def test_exception_group_is_raised_from_its_member() -> None:
    """Margins and rules of an exception group are peeled off, and the group points at what is in it."""
    group, member = read(f"""
          + Exception Group Traceback (most recent call last):
          |   File "{SITE}/starlette/_utils.py", line 77, in collapse
          |     yield
          | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
          +-+---------------- 1 ----------------
            | Traceback (most recent call last):
            |   File "{SITE}/vllm/x.py", line 3, in g
            |     raise ValueError("boom")
            | ValueError: boom
            +------------------------------------
    """)
    assert (group.kind, group.message) == ("ExceptionGroup", "unhandled errors in a TaskGroup (1 sub-exception)")
    assert (member.kind, member.message) == ("ValueError", "boom")
    assert stack(group) == [("starlette/_utils.py", "collapse", "yield")]
    assert stack(member) == [("vllm/x.py", "g", 'raise ValueError("boom")')]
    assert group.raised_from is member


def test_notebook_traceback() -> None:
    """IPython shows lines around each call, with an arrow at the one that counts."""
    trace = only(f"""
        ---------------------------------------------------------------------------
        ValueError                                Traceback (most recent call last)
        Cell In[3], line 5
              2 from vllm import LLM
        ----> 5 llm = LLM(model="x")

        File {SITE}/vllm/entrypoints/llm.py:243, in LLM.__init__(self, model)
            240     kwargs["disable_log_stats"] = True
        --> 243 self.engine = make()

        File ~/own/setup.py:12
             11 a()
        ---> 12 b()

        ValueError: boom
    """)
    assert (trace.kind, trace.message) == ("ValueError", "boom")
    assert stack(trace) == [
        ("Cell In[3]", "", 'llm = LLM(model="x")'),
        ("vllm/entrypoints/llm.py", "LLM.__init__", "self.engine = make()"),
        ("~/own/setup.py", "", "b()"),
    ]


def test_old_notebook_traceback() -> None:
    """Older IPython, and Colab with its links, write the frames the other way round."""
    trace = only(f"""
        ValueError                                Traceback (most recent call last)
        <ipython-input-3-abcdef> in <module>
        ----> 1 f()
        {SITE}/vllm/entrypoints/llm.py in __init__(self, model)
            240     kwargs["disable_log_stats"] = True
        --> 243 self.engine = make()
        [{SITE}/vllm/x.py](https://localhost:8080/#) in f(self)
              1 a
        ----> 2 b
        Input In [3], in <cell line: 5>()
        ----> 5 llm

        ValueError: boom
    """)
    assert trace.kind == "ValueError"
    assert stack(trace) == [
        ("<ipython-input-3-abcdef>", "<module>", "f()"),
        ("vllm/entrypoints/llm.py", "__init__", "self.engine = make()"),
        ("vllm/x.py", "f", "b"),
        ("Input In [3]", "<cell line: 5>", "llm"),
    ]


def test_boxed_traceback() -> None:
    """Rich draws a box around the traceback; the exception stands below it."""
    trace = only(f"""
        ╭───────────────── Traceback (most recent call last) ─────────────────╮
        │ {SITE}/vllm/cli.py:12 in main                                       │
        │                                                                     │
        │   11 │   x                                                          │
        │ ❱ 12 │   run(args)                                                  │
        ╰─────────────────────────────────────────────────────────────────────╯
        ValueError: boom
    """)
    assert (trace.kind, stack(trace)) == ("ValueError", [("vllm/cli.py", "main", "run(args)")])


def test_faulthandlers_dump_is_turned_round() -> None:
    """A crash names the innermost call first, and only the current thread is to blame."""
    trace = only(f"""
        Fatal Python error: Segmentation fault

        Thread 0x00007f0 (most recent call first):
          File "/usr/lib/python3.12/threading.py", line 355 in wait

        Current thread 0x00007f1 (most recent call first):
          File "{SITE}/vllm/inner.py", line 12 in inner
          File "{SITE}/vllm/outer.py", line 3 in outer

        Thread 0x00007f2 (most recent call first):
          File "/usr/lib/python3.12/threading.py", line 355 in wait

        Extension modules: numpy (total: 1)
    """)
    assert (trace.kind, trace.message, trace.number) == ("Fatal Python error", "Segmentation fault", 1)
    assert stack(trace) == [("vllm/outer.py", "outer", ""), ("vllm/inner.py", "inner", "")]


@pytest.mark.parametrize("head", ["Thread 0x00007f0 (most recent call first):", "Stack (most recent call last):"])
def test_stacks_without_an_exception_are_no_exceptions(head: str) -> None:
    """Threads dumped for information, and stacks of log records, blame nobody."""
    assert read(f'Timeout (0:01:00)!\n{head}\n  File "/a/threading.py", line 355, in wait\n    x()\n\nINFO: on') == []


def test_thrown_in_cpp() -> None:
    """What C++ threw has its text on the next line and its stack innermost first."""
    trace = only("""
        terminate called after throwing an instance of 'c10::DistBackendError'
          what():  [Rank 1] Watchdog caught collective operation timeout
        Exception raised from checkTimeout at ../ProcessGroupNCCL.cpp:632 (most recent call first):
        frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f12 in /usr/lib/libc10.so)
        frame #1: c10d::ProcessGroupNCCL::heartbeat() + 0x12 (0x7f34 in /usr/lib/libtorch_cuda.so)

        done
    """)
    assert (trace.kind, trace.number) == ("DistBackendError", 2)
    assert trace.message.startswith("[Rank 1] Watchdog caught collective operation timeout")
    assert [(frame.path, frame.function) for frame in trace.frames] == [
        ("libtorch_cuda.so", "c10d::ProcessGroupNCCL::heartbeat()"),
        ("libc10.so", "c10::Error::Error(c10::SourceLocation, std::string)"),
    ]


def test_thrown_without_a_text() -> None:
    """Where the process died before saying what, the class is known all the same."""
    trace = only("terminate called after throwing an instance of 'std::bad_alloc'\nAborted\nx\ny\nz")
    assert (trace.kind, trace.message, trace.number) == ("bad_alloc", "", 1)


@pytest.mark.parametrize("cut", range(1, 7))
def test_traceback_cut_above_keeps_its_end(cut: int) -> None:
    """A log that begins within a traceback still tells the exception."""
    trace = only("\n".join(PLAIN.strip("\n").split("\n")[cut:]))
    assert trace.kind == "ValueError"
    assert stack(trace)[-1:] == FRAMES_OF_PLAIN[-1:] if cut < 5 else True


@pytest.mark.parametrize("left", range(2, 7))
def test_traceback_cut_below_keeps_its_frames(left: int) -> None:
    """A log that ends within a traceback tells how deep it had got."""
    trace = only("\n".join(PLAIN.strip("\n").split("\n")[:left]))
    assert (trace.kind, trace.number) == ("", left)
    assert [(path, function) for path, function, _ in FRAMES_OF_PLAIN[: 1 if left < 5 else 2]] == [
        frame[:2] for frame in stack(trace)
    ]


def test_repeated_exceptions_are_counted() -> None:
    """The same exception from many ranks is one, with its processes; its message does not grow."""
    reader = TraceReader()
    number = 0
    for rank in range(4):
        for line in PLAIN.strip("\n").split("\n"):
            number += 1
            reader.feed(
                split_line(
                    number, f"(Worker_TP{rank} pid={rank}) ERROR 11-02 10:00:00 [multiproc_executor.py:7] {line}"
                )
            )
    reader.close_all()
    (trace,) = reader.traces
    assert (trace.count, trace.number, trace.last) == (4, 7, number)
    assert trace.processes == ["Worker_TP0", "Worker_TP1", "Worker_TP2", "Worker_TP3"]
    assert trace.message.count("or that") == 1


def test_containers_with_processes_of_the_same_name_are_told_apart() -> None:
    """Two replicas shown together do not mix their tracebacks."""
    reader = TraceReader()
    lines = [line for line in PLAIN.strip("\n").split("\n") if "^" not in line]
    for number, line in enumerate(lines, 1):
        reader.feed(split_line(2 * number, f"vllm-1  | {line}"))
        reader.feed(split_line(2 * number + 1, f"vllm-2  | {line.replace('ValueError', 'RuntimeError')}"))
    reader.close_all()
    assert [(trace.kind, stack(trace)) for trace in reader.traces] == [
        ("ValueError", FRAMES_OF_PLAIN),
        ("RuntimeError", FRAMES_OF_PLAIN),
    ]


def test_foreign_lines_within_a_traceback_do_no_harm() -> None:
    """Access lines and warnings of others may stand between the lines of a bare traceback."""
    lines = PLAIN.strip("\n").split("\n")
    noise = ['INFO:     127.0.0.1:5 - "GET /health HTTP/1.1" 200 OK', "INFO: SomeError: retried", "10% done"]
    mixed = [line for pair in zip(lines[:6], noise * 2, strict=True) for line in pair] + lines[6:]
    assert stack(only("\n".join(mixed))) == FRAMES_OF_PLAIN


def test_traceback_that_nobody_continues_is_closed() -> None:
    """An open traceback is given up after many lines of others, or after a long silence."""
    head = PLAIN.strip("\n").split("\n")[:3]
    reader = TraceReader()
    for number, line in enumerate([*head, *["other words"] * (FOREIGN + 1)], 1):
        reader.feed(split_line(number, line))
    assert (reader.open, [trace.kind for trace in reader.traces]) == (0, [""])
    for number, line in enumerate(head, 1):
        reader.feed(split_line(number, f"(Worker_TP1 pid=7) {line}"))
    reader.sweep(GIVE_UP)
    assert reader.open == 1
    reader.sweep(GIVE_UP + 10)
    assert reader.open == 0


def test_loggings_own_errors_are_marked() -> None:
    """A traceback that the logging module prints about itself is no fault of the server."""
    assert only("--- Logging error ---\n" + PLAIN).logging_error
    assert not only(PLAIN).logging_error


def test_endless_recursion_and_endless_names_are_bounded() -> None:
    """Neither frames nor streams grow with the input."""
    frame = '  File "/a/b.py", line 3, in f\n    f()\n'
    trace = only(
        "Traceback (most recent call last):\n"
        + frame * (FRAMES + 50)
        + "RecursionError: maximum recursion depth exceeded"
    )
    assert (len(trace.frames), trace.kind) == (FRAMES, "RecursionError")
    reader = TraceReader()
    for number in range(STREAMS * 2):
        reader.feed(split_line(number, f"(task pid={number}) words"))
    assert len(reader.streams) <= STREAMS


def test_impossible_line_numbers_do_no_harm() -> None:
    """A number of thousands of digits, which Python refuses to convert, is no error."""
    assert [frame.path for frame in only(f'  File "/a.py", line {"9" * 5000}, in f\nValueError: x').frames] == ["/a.py"]


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: x",
        "torch.OutOfMemoryError: CUDA out of memory.",
        "AssertionError",
        "KeyError: 'a'",
        "vllm.v1.engine.exceptions.EngineDeadError: x",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error",
        "ray.exceptions.RayTaskError(ValueError): ray::f()",
        "zmq.error.ZMQError: x",
        "triton.runtime.errors.OutOfResources: out of resource",
        "torch._dynamo.exc.Unsupported: x",
        "subprocess.CalledProcessError: x",
        "KeyboardInterrupt",
        "[rank0]: RuntimeError: x",
        "ExceptionGroup: unhandled errors",
        "json.decoder.JSONDecodeError: x",
        "concurrent.futures.process.BrokenProcessPool: x",
    ],
)
def test_exceptions_own_lines_are_known(text: str) -> None:
    """Exceptions are told by their names, whatever package they come from."""
    assert looks_like_exception(text)


@pytest.mark.parametrize(
    "text",
    [
        "Loading weights: 10%",
        "error: x",
        "http://127.0.0.1:8000",
        "INFO",
        "key: value",
        "vllm serve x",
        "Model: acme/tiny",
        "the ValueError: x",
        "a.b.c: d",
        "",
    ],
)
def test_other_lines_are_no_exceptions(text: str) -> None:
    """Ordinary lines with a colon are no exceptions."""
    assert not looks_like_exception(text)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{SITE}/vllm/v1/engine/core.py", "vllm/v1/engine/core.py"),
        ("/usr/local/lib/python3.12/dist-packages/torch/nn/x.py", "torch/nn/x.py"),
        ("C:\\venv\\Lib\\site-packages\\vllm\\x.py", "vllm/x.py"),
        ("/usr/lib/python3.12/threading.py", "threading.py"),
        ("/workspace/vllm/vllm/x.py", "vllm/x.py"),
        ("/app/serve.py", "/app/serve.py"),
    ],
)
def test_paths_start_at_the_package(path: str, expected: str) -> None:
    """Where something was installed tells nothing; the path within its package does."""
    assert expected == short_path(path)


PROCESSES = [
    "(EngineCore_DP0 pid=7) ",
    "(Worker_TP0 pid=8) ERROR 11-02 10:00:00 [multiproc_executor.py:671] ",
    "(Worker_TP1 pid=9) ",
    "[rank3]: ",
    "(RayWorkerWrapper pid=5, ip=10.0.0.2) ",
]


@given(
    st.lists(st.sampled_from(PROCESSES), min_size=1, max_size=5, unique=True),
    st.integers(),
    st.integers(min_value=1, max_value=12),
)
def test_interleaved_tracebacks_come_out_whole(processes: list[str], seed: int, depth: int) -> None:
    """Each process's exception is found with all its frames, however their lines were mixed."""
    queues = []
    for index, prefix in enumerate(processes):
        lines = ["Traceback (most recent call last):"]
        for level in range(depth):
            lines += [f'  File "/app/part{index}.py", line {level + 1}, in step{level}', f"    call{level}()"]
        queues.append([prefix + line for line in [*lines, f"ValueError: boom {index}"]])
    chance = random.Random(seed)
    reader = TraceReader()
    number = 0
    while queues:
        queue = chance.choice(queues)
        number += 1
        reader.feed(split_line(number, queue.pop(0)))
        queues = [other for other in queues if other]
    reader.close_all()
    expected = {
        (f"boom {index}", tuple((f"step{level}", f"call{level}()") for level in range(depth)))
        for index in range(len(processes))
    }
    assert expected == {
        (trace.message, tuple((frame.function, frame.code) for frame in trace.frames)) for trace in reader.traces
    }


PIECES = [
    *PLAIN.strip("\n").split("\n"),
    "",
    "  + Exception Group Traceback (most recent call last):",
    "  | ExceptionGroup: x (1 sub-exception)",
    "  +-+---- 1 ----",
    "    | ValueError: x",
    "ray.exceptions.RayTaskError(ValueError): ray::f() (pid=1)",
    "Fatal Python error: Aborted",
    "Thread 0x1 (most recent call first):",
    "Current thread 0x1 (most recent call first):",
    "terminate called after throwing an instance of 'c10::Error'",
    "  what():  x",
    "--- Logging error ---",
    "frame #0: f + 0x1 (0x2 in /a/b.so)",
    "Cell In[3], line 5",
    "---> 5 x",
    "File /a/b.py:3, in f(x)",
    "│ /a/b.py:3 in f │",
    "│ ❱ 3 │ x │",
    "╰──╯",
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
    "words",
    "INFO:     words",
    "(Worker_TP0 pid=8) ValueError: other",
    "vllm-1  | ValueError: x",
    "[pod/a/b] Traceback (most recent call last):",
    "KeyError: 'a'",
]


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_any_order_of_lines_can_be_read(lines: list[str]) -> None:
    """Halves of tracebacks in any order neither fail nor leave anything open, and no exception is its own cause."""
    reader = TraceReader()
    for number, line in enumerate(lines, 1):
        part, _ = reader.feed(split_line(number, line))
        assert part in ("head", "frame", "code", "final", "more", "")
    reader.close_all()
    assert reader.open == 0
    for trace in reader.traces:
        link, steps = trace.raised_from, 0
        while link is not None:
            assert link is not trace
            link, steps = link.raised_from, steps + 1
            # Halves without a last line are links that are not listed.
            assert steps <= len(lines)
        assert 1 <= trace.number <= len(lines)


@given(st.lists(st.text(max_size=120), max_size=20))
def test_any_text_can_be_read(lines: list[str]) -> None:
    """No text makes the reader fail."""
    reader = TraceReader()
    for number, line in enumerate(["Traceback (most recent call last):", *lines], 1):
        reader.feed(split_line(number, line))
    reader.close_all()
    assert reader.open == 0


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("assert isinstance(layer, DecoderLayer)", "AssertionError"),
        ("raise ValueError(", "ValueError"),
        ("raise exceptions.EngineDeadError(", "EngineDeadError"),
        ("raise error from None", ""),
        ("return self.run()", ""),
    ],
)
def test_a_stack_that_is_cut_before_its_exception_tells_it_by_its_last_code(code: str, kind: str) -> None:
    """What the code raises, where it says so."""
    reader = TraceReader()
    for number, text in enumerate(
        ["Traceback (most recent call last):", '  File "/a/vllm/worker.py", line 3, in run', f"    {code}"], 1
    ):
        reader.feed(Line(number, text, raw=text))
    reader.close_all()

    assert [kind] == [trace.kind for trace in reader.traces]
