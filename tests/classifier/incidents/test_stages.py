"""How far a start got, how long its stages took, and where one start ends and the next begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.incidents.stages import reached, stage_of, time_stages
from vllm_triage.classifier.incidents.types import StageSpan
from vllm_triage.classifier.lines.types import Frame, Trace
from vllm_triage.classifier.report.model import Report
from vllm_triage.corpus.stages import STAGES

VERSION = "(APIServer pid=7) INFO 10-25 13:08:43 [api_server.py:1] vLLM API server version 0.12.0"
LOGO = "(APIServer pid=7) INFO 03-01 10:00:00 [utils.py:265]   ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.19.0"
ARGS = "INFO 10-25 13:08:43 [utils.py:233] non-default args: {'model': 'acme/tiny-7b'}"
ENGINE = (
    "(EngineCore_DP0 pid=8) INFO 10-25 13:08:50 [core.py:93] Initializing a V1 LLM engine (v0.12.0) with config: "
    "model='acme/tiny-7b', enforce_eager=False, kv_cache_dtype=auto, device_config=cuda"
)
WEIGHTS = "(EngineCore_DP0 pid=8) INFO 10-25 13:09:10 [x.py:1] Model loading took 7.93 GiB memory and 9.3 seconds"
CACHE = "(EngineCore_DP0 pid=8) INFO 10-25 13:09:20 [x.py:1] GPU KV cache size: 67,888 tokens"
WARM = "(EngineCore_DP0 pid=8) INFO 10-25 13:09:21 [kernel_warmup.py:52] Warming up FlashInfer attention."
GRAPHS = "(EngineCore_DP0 pid=8) INFO 10-25 13:09:30 [x.py:1] Graph capturing finished in 9 secs, took 0.45 GiB"
READY = "(APIServer pid=7) INFO:     Application startup complete."
HEALTH = '(APIServer pid=7) INFO:     127.0.0.1:5 - "GET /health HTTP/1.1" 200 OK'
POST = '(APIServer pid=7) INFO:     127.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
STOP = "(APIServer pid=7) INFO 10-25 14:00:00 [launcher.py:99] Shutting down FastAPI HTTP server."
DEATH = (
    "(APIServer pid=7) ERROR 10-25 14:00:00 [core_client.py:600] "
    "Engine core proc EngineCore_DP0 died unexpectedly, shutting down client."
)
END = "(APIServer pid=7) INFO:     Application shutdown complete."
FAILED = (
    "(APIServer pid=7) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
)
OFFLINE = "Processed prompts: 100%|██████████| 4/4 [00:00<00:00,  9.60it/s]"
UP = [VERSION, ARGS, ENGINE, WEIGHTS, CACHE, GRAPHS, READY]


def diagnose(lines: list[str]) -> Report:
    """Diagnose a log of ``lines``."""
    return shared().report("\n".join(lines))


@pytest.mark.parametrize(
    ("lines", "stage"),
    [
        ([ARGS], "launch"),
        ([VERSION, ARGS, ENGINE], "engine_init"),
        (UP[:4], "weights"),
        ([*UP[:5], WARM], "kv_cache"),
        (UP[:6], "graph_capture"),
        (UP, "api_ready"),
        ([*UP, HEALTH], "api_ready"),
        ([*UP, HEALTH, POST], "serving"),
        ([*UP, POST, STOP, END], "shutdown"),
        ([ARGS, ENGINE, WEIGHTS, CACHE, OFFLINE], "serving"),
        ([STOP, END], "shutdown"),
    ],
)
def test_a_start_reached_its_furthest_stage(lines: list[str], stage: str) -> None:
    """Each stage by its marks; health probes are no requests, offline runs are service, warm-up is no capture."""
    assert stage == diagnose(lines).startup.reached


def test_a_failed_request_is_service_too() -> None:
    """The first request may be the one that kills the engine."""
    assert "serving" == diagnose([*UP, POST.replace("200 OK", "500 Internal Server Error")]).startup.reached


def test_a_server_that_ends_after_its_engine_died_was_not_stopped() -> None:
    """The same words of uvicorn end a crash and a stop; the engine's death tells them apart."""
    assert "serving" == diagnose([*UP, POST, DEATH, END]).startup.reached


def test_a_stop_in_start_up_is_no_shutdown() -> None:
    """What had been reached when Ctrl-C came counts."""
    assert "weights" == diagnose([*UP[:4], STOP, END]).startup.reached


def test_another_program_being_up_does_not_make_vllm_ready() -> None:
    """A web service in the same log says 'startup complete' without the API server's name."""
    other = "INFO:     Application startup complete."
    assert "weights" == diagnose([*UP[:4], other]).startup.reached
    assert "api_ready" == diagnose([*UP[:4], other, READY]).startup.reached


@pytest.mark.parametrize(
    ("function", "stage"),
    [("load_model", "weights"), ("profile_run", "profile"), ("capture_model", "graph_capture"), ("forward", "")],
)
def test_an_exception_tells_its_stage_by_vllm_s_own_frames(function: str, stage: str) -> None:
    """Where the marks are missing, the stack says what was running."""
    trace = Trace(1, 1, "", "ValueError")
    trace.frames = [Frame("vllm/v1/worker/gpu_worker.py", function), Frame("torch/nn/modules/module.py", "load_model")]
    assert stage == stage_of(trace)


def test_compiling_within_profiling_is_compiling() -> None:
    """The profiling run is what triggers the compiler."""
    trace = Trace(1, 1, "", "InductorError")
    trace.frames = [Frame("vllm/v1/worker/gpu_worker.py", "profile_run"), Frame("torch/_inductor/compile_fx.py", "f")]
    assert "compile" == stage_of(trace)
    assert "compile" == reached([StageSpan("weights", 1)], [trace], [])


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ([*UP[:3], FAILED] * 28, 28),
        ([ARGS, ENGINE, WEIGHTS, CACHE, OFFLINE] * 8, 8),
        ([ENGINE, "(EngineCore_DP0 pid=8) ERROR 10-25 13:08:51 [core.py:1] EngineCore failed to start."] * 3, 3),
        ([*UP, POST, *[line.replace("pid=7", "pid=9") for line in UP]], 2),
        ([*UP, STOP, END, LOGO, ENGINE], 2),
        ([WEIGHTS, READY, POST, VERSION, ENGINE], 2),
        ([*UP[:2], ENGINE, ENGINE.replace("DP0", "DP1"), WEIGHTS, ENGINE.replace("DP0", "DP2"), READY], 1),
        ([*UP[:2], *[line.replace("APIServer", "ApiServer_1") for line in UP[2:]], READY, READY], 1),
        ([*UP[:3], FAILED, READY, POST], 2),
        (["nothing of vLLM"], 1),
    ],
)
def test_every_server_start_is_an_incident(lines: list[str], count: int) -> None:
    """Crash loops, offline runs and second launchers are split; engines and API servers of one start are not."""
    assert count == diagnose(lines).incidents


def test_a_start_without_its_beginning_is_configured_like_the_one_before() -> None:
    """Two launchers wrote one file: the second's tail tells no version of its own."""
    answer = diagnose([*UP[:3], FAILED, READY, POST])
    assert ("0.12.0", "serving") == (answer.facts["vllm_version"], answer.startup.reached)


def test_stages_are_timed_over_midnight_and_never_between_two_clocks() -> None:
    """A container's stamps may be in another time zone than vLLM's own."""
    spans = [
        StageSpan("weights", 1, "10-25 23:59:50"),
        StageSpan("kv_cache", 2, "10-26 00:00:10.5"),
        StageSpan("api_ready", 3, "2025-10-26T08:00:20Z"),
        StageSpan("serving", 4, ""),
    ]
    time_stages(spans, {})
    assert [20.5, None, None, None] == [span.seconds for span in spans]


@pytest.mark.parametrize(
    ("facts", "seconds"),
    [
        ({}, {"weights": 20.0, "compile": 15.0, "profile": 0.0, "kv_cache": 900.0, "graph_capture": None}),
        ({"weights_seconds": 12.34}, {"weights": 12.3, "kv_cache": 900.0}),
        ({"compile_seconds": 9.0, "graph_seconds": 4.0, "init_seconds": 20.0},
         {"compile": 9.0, "profile": 0.0, "kv_cache": 7.0, "graph_capture": 4.0}),
        ({"init_seconds": 40.0}, {"compile": 15.0, "profile": 0.0, "kv_cache": 25.0, "graph_capture": 0.0}),
        ({"compile_seconds": 9.0, "graph_seconds": 30.0, "init_seconds": 20.0}, {"profile": 0.0, "kv_cache": 0.0}),
        ({"init_seconds": 1000.0}, {"compile": 15.0, "profile": 85.0, "kv_cache": 900.0}),
    ],
)  # fmt: skip
def test_vllms_own_figures_stand_before_stamps(facts: dict[str, object], seconds: dict[str, float | None]) -> None:
    """A silence after the engine was there is no time of its KV cache; the parts of its start add up to the whole."""
    stamps = {"weights": "10:00:00", "compile": "10:00:20", "profile": "10:00:35", "kv_cache": "10:00:35"}
    spans = [StageSpan(stage, number, f"10-25 {at}") for number, (stage, at) in enumerate(stamps.items(), 1)]
    spans.append(StageSpan("graph_capture", 5, "10-25 10:15:35"))
    time_stages(spans, facts)
    assert seconds == {span.stage: span.seconds for span in spans if span.stage in seconds}


def test_a_configuration_that_is_refused_is_a_stage_of_its_own() -> None:
    """The stack of the error tells it where no line does."""
    trace = Trace(1, 1, "", "ValidationError")
    trace.frames = [Frame("vllm/engine/arg_utils.py", "create_engine_config")]
    assert "config" == stage_of(trace)


@given(st.lists(st.tuples(st.sampled_from(STAGES), st.text(alphabet="0123456789:-/T.,Z ", max_size=30)), max_size=12))
def test_no_stamp_breaks_the_clock(items: list[tuple[str, str]]) -> None:
    """Times are missing or lie between nothing and half a day, whatever stands where a stamp is expected."""
    spans = [StageSpan(stage, number, stamp) for number, (stage, stamp) in enumerate(items, 1)]
    time_stages(spans, {})
    assert all(span.seconds is None or 0 <= span.seconds <= 43200 for span in spans)
    assert reached(spans, [], []) in {"", *STAGES}
