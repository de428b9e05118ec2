"""Whatever containers, clouds, CI systems and launchers put in front of a line, the same line comes out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.lines.types import Line

VLLM = [
    # line and what it is: process, level, source, time, text
    (
        "INFO 08-23 10:11:12 llm_engine.py:184] Initializing",
        "",
        "INFO",
        "llm_engine.py:184",
        "08-23 10:11:12",
        "Initializing",
    ),
    ("ERROR 04-30 10:20:36 [core.py:396] failed", "", "ERROR", "core.py:396", "04-30 10:20:36", "failed"),
    ("WARNING 04-30 10:20:36 [__init__.py:239] odd", "", "WARNING", "__init__.py:239", "04-30 10:20:36", "odd"),
    (
        "DEBUG 04-30 10:20:36 [distributed/parallel_state.py:1563] x",
        "",
        "DEBUG",
        "distributed/parallel_state.py:1563",
        "04-30 10:20:36",
        "x",
    ),
    (
        "(VllmWorkerProcess pid=9) ERROR 04-30 10:20:36 worker.py:7] x",
        "VllmWorkerProcess pid=9",
        "ERROR",
        "worker.py:7",
        "04-30 10:20:36",
        "x",
    ),
    (
        "(VllmWorker rank=0 pid=9) ERROR 04-30 10:20:36 [a.py:7] x",
        "VllmWorker rank=0",
        "ERROR",
        "a.py:7",
        "04-30 10:20:36",
        "x",
    ),
    (
        "(VllmWorker TP0 pid=9) INFO 04-30 10:20:36 [a.py:7] x",
        "VllmWorker TP0",
        "INFO",
        "a.py:7",
        "04-30 10:20:36",
        "x",
    ),
    ("(ApiServer_0 pid=9) INFO 04-30 10:20:36 [a.py:7] x", "ApiServer_0", "INFO", "a.py:7", "04-30 10:20:36", "x"),
    ("(APIServer pid=9) INFO 04-30 10:20:36 [a.py:7] x", "APIServer", "INFO", "a.py:7", "04-30 10:20:36", "x"),
    ("(EngineCore_0 pid=9) INFO 04-30 10:20:36 [a.py:7] x", "EngineCore_0", "INFO", "a.py:7", "04-30 10:20:36", "x"),
    (
        '(EngineCore_DP0 pid=9) ERROR 10-25 13:08:43 [core.py:708]   File "/a.py", line 1, in f',
        "EngineCore_DP0",
        "ERROR",
        "core.py:708",
        "10-25 13:08:43",
        '  File "/a.py", line 1, in f',
    ),
    (
        "(EngineCore pid=9) ERROR 10-25 13:08:43 [core.py:708] ",
        "EngineCore",
        "ERROR",
        "core.py:708",
        "10-25 13:08:43",
        "",
    ),
    (
        "(Worker_DP1_PP0_TP0_EP0 pid=9) INFO 04-30 10:20:36 [a.py:7] x",
        "Worker_DP1_PP0_TP0_EP0",
        "INFO",
        "a.py:7",
        "04-30 10:20:36",
        "x",
    ),
    ("(Worker pid=9) INFO 04-30 10:20:36 [a.py:7] x", "Worker pid=9", "INFO", "a.py:7", "04-30 10:20:36", "x"),
    ("(MainProcess pid=9) INFO 04-30 10:20:36 [a.py:7] x", "", "INFO", "a.py:7", "04-30 10:20:36", "x"),
    (
        "(APIServer_DPRank_1 pid=9) CRITICAL 04-30 10:20:36 [a.py:7] x",
        "APIServer_DPRank_1",
        "CRITICAL",
        "a.py:7",
        "04-30 10:20:36",
        "x",
    ),
    (
        "(RayWorkerWrapper pid=9, ip=10.0.0.2) ERROR 04-30 10:20:36 [a.py:7] x",
        "RayWorkerWrapper pid=9 ip=10.0.0.2",
        "ERROR",
        "a.py:7",
        "04-30 10:20:36",
        "x",
    ),
    ("(pid=9) INFO 04-30 10:20:36 [a.py:7] x", "pid=9", "INFO", "a.py:7", "04-30 10:20:36", "x"),
    (
        "(RayWorkerWrapper pid=9) INFO 04-30 10:20:36 [a.py:7] x [repeated 3x across cluster]",
        "RayWorkerWrapper pid=9",
        "INFO",
        "a.py:7",
        "04-30 10:20:36",
        "x",
    ),
    ("INFO 04-30 10:20:36.123 [a.py:7] x", "", "INFO", "a.py:7", "04-30 10:20:36.123", "x"),
    ("INFO 04-30 10:20:36 [a.py:7] (shape) of it", "", "INFO", "a.py:7", "04-30 10:20:36", "(shape) of it"),
    ("INFO 04-30 10:20:36 [a.py:7] [rank0]: quoted", "", "INFO", "a.py:7", "04-30 10:20:36", "[rank0]: quoted"),
]

OTHERS = [
    # line and what it is: process, level, text
    (
        '(APIServer pid=9) INFO:     127.0.0.1:5 - "GET /health HTTP/1.1" 200 OK',
        "APIServer",
        "INFO",
        '127.0.0.1:5 - "GET /health HTTP/1.1" 200 OK',
    ),
    (
        "(EngineCore_DP0 pid=9) Traceback (most recent call last):",
        "EngineCore_DP0",
        "",
        "Traceback (most recent call last):",
    ),
    ('(EngineCore_DP0 pid=9)   File "/a.py", line 1, in f', "EngineCore_DP0", "", '  File "/a.py", line 1, in f'),
    ("(APIServer pid=9) (DPMoEEngineCoreActor pid=8) x", "DPMoEEngineCoreActor pid=8", "", "x"),
    (
        "(MapWorker(MapBatches(vLLMEngineStageUDF)) pid=8, ip=10.0.0.2) x",
        "MapWorker(MapBatches(vLLMEngineStageUDF)) pid=8 ip=10.0.0.2",
        "",
        "x",
    ),
    ("(raylet, ip=10.0.0.2) x", "raylet", "", "x"),
    ("[rank0]:     return f()", "rank0", "", "    return f()"),
    (
        "[rank0]:[W1102 10:00:00.1 ProcessGroupNCCL.cpp:1496] Warning: x",
        "rank0",
        "",
        "[W1102 10:00:00.1 ProcessGroupNCCL.cpp:1496] Warning: x",
    ),
    ("[default1]:[rank1]: ValueError: x", "rank1", "", "ValueError: x"),
    ("[1,3]<stderr>:ValueError: x", "rank3", "", "ValueError: x"),
    ('3:   File "/a.py", line 1, in f', "rank3", "", '  File "/a.py", line 1, in f'),
    ("21:08:33 - x: y", "", "", "21:08:33 - x: y"),  # a time of day, no rank
    (
        "(RayWorkerWrapper pid=9) ValueError: x [repeated 3x across cluster] (Ray deduplicates logs by default.)",
        "RayWorkerWrapper pid=9",
        "",
        "ValueError: x",
    ),
    ("ERROR:    Exception in ASGI application", "", "ERROR", "Exception in ASGI application"),
    ("ERROR:vllm.engine:failed", "", "ERROR", "failed"),
    ("ValueError: x", "", "", "ValueError: x"),
    ('  File "/a.py", line 1, in f', "", "", '  File "/a.py", line 1, in f'),
    ("    x = {'a': 1}", "", "", "    x = {'a': 1}"),
    ("  | ExceptionGroup: x", "", "", "  | ExceptionGroup: x"),
    ("see ERROR 10-25 13:08:43 [core.py:708] in the log", "", "", "see ERROR 10-25 13:08:43 [core.py:708] in the log"),
    (
        "RuntimeError: gpu-3 said: ERROR 10-25 13:08:43 [core.py:708] x",
        "",
        "",
        "RuntimeError: gpu-3 said: ERROR 10-25 13:08:43 [core.py:708] x",
    ),
    ("model.layers[0]: weight is missing", "", "", "model.layers[0]: weight is missing"),
    ("", "", "", ""),
]

WRAPPERS = {
    "compose": "vllm-1  | ",
    "compose old": "vllm_server_1 | ",
    "kubectl prefix": "[pod/vllm-7d9f/server] ",
    "kubectl timestamps": "2025-11-02T10:00:00.123456789Z ",
    "cri": "2025-11-02T10:00:00.123456789Z stderr F ",
    "cri partial": "2025-11-02T10:00:00.123456789+00:00 stdout P ",
    "stern": "vllm-6d8f7c9b5d-x2x4z vllm ",
    "journald": "Nov 02 09:14:03 gpu-box vllm[123]: ",
    "journald one digit": "Nov  2 09:14:03 gpu-box python3[123]: ",
    "journald iso": "2025-11-02T09:14:03+0000 gpu-box vllm.service[123]: ",
    "journald micro": "Nov 02 09:14:03.123456 gpu-box vllm[123]: ",
    "journald full": "Sun 2025-11-02 09:14:03 UTC gpu-box vllm[123]: ",
    "ts": "Nov 02 09:14:03 ",
    "actions": "2025-11-02T10:00:00.1234567Z ",
    "gh run view": "serve\tStart the server\t2025-11-02T10:00:00.1234567Z ",
    "gh run view, mark": "serve\tStart the server\t\ufeff2025-11-02T10:00:00.1234567Z ",
    "gitlab": "2025-11-02T10:00:00.123456Z 01E ",
    "buildkite": "_bk;t=1698888888123\x07",
    "buildkite stamp": "[2025-11-02T10:00:00Z] ",
    "kaggle": "356.7s 381 ",
    "kaggle tabs": "356.7s\t381\t",
    "fastchat": "2023-12-22 00:21:40 | ERROR | stderr | ",
    "quote": "> ",
    "quote twice": "> > ",
    "stamp": "2025-11-02 10:00:00,123 ",
    "stamp with zone": "2025-11-02 10:00:00 +0000 UTC ",
    "bracket stamp": "[10:00:00] ",
    "aws logs tail": "2025-11-02T10:00:00.123000+00:00 AllTraffic/i-0a1b2c3d4e5f ",
    "sagemaker djl": "INFO  PyProcess W-195-a53f1d2b-stdout: ",
    "sagemaker djl bracket": "[WARN ] PyProcess - W-195-a53f1d2b-stderr: ",
    "vertex": "ERROR\t2025-11-02 10:00:00 +0000\tworkerpool0-0\t",
    "runpod": "2025-11-02T10:00:00.123Z j6zswihe185nfq[info]",
    "fly": "2025-11-02T10:00:00Z app[148ed599] iad [info] ",
    "heroku": "2025-11-02T10:00:00.1+00:00 app[web.1]: ",
    "grafana": "1698888888000000000\t2025-11-02T10:00:00.000Z\t",
    "epoch": "1698888888.123456 ",
    "pm2": "0|vllm  | ",
    "cat -n": "   812\t",
}
"""What stands in front, but for launchers, which tell processes apart."""
INDENTS = {"indented code": "    ", "tab": "\t"}
PEELED = [*VLLM, *((line, process, level, "", None, text) for line, process, level, text in OTHERS)]


def shown(line: Line, with_time: bool) -> tuple[object, ...]:
    """Return what must not depend on wrappers: a bare line may take its time from one."""
    return (line.text, line.process, line.level, line.source, line.logged, line.time if with_time else "")


@pytest.mark.parametrize(("raw", "process", "level", "source", "time", "text"), VLLM)
def test_vllms_prefix_of_every_release(raw: str, process: str, level: str, source: str, time: str, text: str) -> None:
    """Process, level, time and source of the prefix, in the formats of releases 0.2 to 0.33."""
    line = split_line(3, raw)
    assert (text, process, level, source, True, time) == shown(line, with_time=True)
    assert (line.number, line.raw) == (3, raw)


@pytest.mark.parametrize(("raw", "process", "level", "text"), OTHERS)
def test_lines_of_others(raw: str, process: str, level: str, text: str) -> None:
    """Launchers' labels and other loggers' levels are peeled, sentences and source code are not."""
    assert (text, process, level, "", False, "") == shown(split_line(1, raw), with_time=False)


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
def test_any_wrapper_around_any_line_gives_the_same_line(wrapper: str) -> None:
    """What stands in front changes neither message nor process nor level."""
    changed = []
    for raw in (*(case[0] for case in VLLM), *(case[0] for case in OTHERS)):
        plain, wrapped = split_line(1, raw), split_line(1, wrapper + raw)
        changed += [raw] if shown(plain, plain.logged) != shown(wrapped, plain.logged) else []
    assert changed == []


@pytest.mark.parametrize("indent", INDENTS.values(), ids=INDENTS)
def test_indented_log_line_is_a_log_line(indent: str) -> None:
    """A code block of an issue moves log lines to the right."""
    for raw in (case[0] for case in VLLM):
        assert shown(split_line(1, raw), with_time=True) == shown(split_line(1, indent + raw), with_time=True)


@given(st.lists(st.sampled_from(sorted(WRAPPERS.values())), max_size=3), st.sampled_from([case[0] for case in VLLM]))
def test_stacked_wrappers_come_off_one_after_the_other(wrappers: list[str], raw: str) -> None:
    """A log that went through several collectors is peeled of each."""
    if any("PyProcess" in inner or inner[:3] == "ERR" for inner in wrappers[1:]):
        wrappers = wrappers[:1]
    assert shown(split_line(1, raw), with_time=True) == shown(split_line(1, "".join(wrappers) + raw), with_time=True)


@pytest.mark.parametrize("before", ["gpu-3 ", "[node1] ", "job/7 step-2 "])
def test_unforeseen_wrapper_gives_way_to_vllms_prefix(before: str) -> None:
    """A few words that are no sentence do not hide vLLM's own prefix."""
    for raw in ("ERROR 10-25 13:08:43 [core.py:708] x", "(EngineCore_DP0 pid=9) ERROR 10-25 13:08:43 [core.py:708] x"):
        assert shown(split_line(1, raw), with_time=True) == shown(split_line(1, before + raw), with_time=True)


@pytest.mark.parametrize(
    ("raw", "level", "text"),
    [
        ("2025-11-02 10:00:00.123 | WARNING  | app.serve:start:12 - odd", "WARNING", "odd"),
        ("2025-11-02 10:00:00,123 - app - ERROR - odd", "ERROR", "odd"),
        ("2025-11-02 10:00:00,123 ERROR worker.py:12 -- odd", "ERROR", "odd"),
        ("2025-11-02T10:00:00.123456Z  WARN router: odd", "WARNING", "router: odd"),
        ("[2025-11-02 10:00:00,123] [INFO] odd", "INFO", "odd"),
        ("##[error]odd", "ERROR", "odd"),
        ("[12345.678901] odd", "", "odd"),
        ("[Sun Nov  2 09:14:03 2025] odd", "", "odd"),
        ("Nov 02 09:14:03 gpu-box kernel: odd", "", "odd"),
        ("```ERROR: odd", "ERROR", "odd"),
        ("- ERROR: odd", "ERROR", "odd"),
        ("\ufeffERROR: odd", "ERROR", "odd"),
    ],
)
def test_other_loggers_formats(raw: str, level: str, text: str) -> None:
    """Launchers, routers and the kernel write in formats of their own."""
    line = split_line(1, raw)
    assert (text, level) == (line.text, line.level)


@given(st.text(max_size=300))
def test_any_text_can_be_split(text: str) -> None:
    """No line makes the splitting fail, and the message is what the line ends with, or nearly so."""
    line = split_line(1, text)
    assert line.raw == text
    assert line.text in text


@given(
    st.lists(
        st.sampled_from(
            [
                *WRAPPERS.values(),
                "(",
                ")",
                "pid=",
                "[",
                "]",
                ": ",
                "ERROR",
                " 10-25 13:08:43 ",
                "a.py:1",
                "9" * 20,
                " | ",
            ]
        ),
        max_size=12,
    )
)
def test_any_mixture_of_prefixes_can_be_split(pieces: list[str]) -> None:
    """Halves of prefixes in any order do not make the splitting fail."""
    raw = "".join(pieces)
    assert split_line(1, raw).text in raw


def test_each_worker_has_its_own_name() -> None:
    """Processes of one name are told apart by process id and host."""
    raws = [
        f"({name} pid={pid}{ip}) x"
        for name, pid, ip in itertools.product(["RayWorkerWrapper", "Worker"], [7, 8], ["", ", ip=10.0.0.2"])
    ]
    assert len(raws) == len({split_line(1, raw).process for raw in raws})
