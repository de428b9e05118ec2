"""How far a start got and how long each stage took, from the marks in the log and from where exceptions were raised."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from ...corpus.stages import STAGES
from ...corpus.types import Rule
from ..lines.types import Trace
from ..matching.types import Hit
from ..patterns.lazy import LazyPattern
from .types import Incident, StageSpan

ORDER = {stage: index for index, stage in enumerate(STAGES)}

_STAMP = LazyPattern(
    r"(?:(?:(?P<year>\d{4})[-/])?(?P<month>\d\d)[-/]\d\d[T ])?"
    r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
)
_LONGEST = 43200
"""Seconds that a stage may take; longer is a stamp of another clock."""

# Where vLLM's own code stands while a stage runs: the innermost frame that says so decides.
_FUNCTIONS = {
    "config": "create_engine_config create_model_config",
    "distributed_init": (
        "init_worker_distributed_environment init_distributed_environment init_process_group _init_workers_ray"
    ),
    "weights": "load_model load_weights",
    "profile": (
        "profile_run determine_available_memory determine_num_available_blocks profile_num_available_blocks "
        "_dummy_sampler_run"
    ),
    "kv_cache": (
        "kernel_warmup flashinfer_autotune initialize_kv_cache initialize_from_config initialize_cache "
        "get_kv_cache_config get_kv_cache_configs check_enough_kv_cache_memory _check_enough_kv_cache_memory "
        "compile_or_warm_up_model _init_cache_engine raise_if_cache_size_invalid"
    ),
    "graph_capture": "capture_model _capture_cudagraphs capture_graph graph_capture",
}
_STAGE_OF = {function: stage for stage, functions in _FUNCTIONS.items() for function in functions.split()}
_FIGURES = {"weights": "weights_seconds", "compile": "compile_seconds", "graph_capture": "graph_seconds"}
"""Facts that tell how long a stage took."""
_OF_ENGINE = ("compile", "profile", "kv_cache", "graph_capture")
"""Stages of which vLLM tells the sum ("init engine … took")."""
_COMPILERS = (
    "torch/_inductor/compile_fx",
    "torch/_inductor/codecache",
    "torch/_inductor/graph",
    "torch/_dynamo/convert_frame",
    "vllm/compilation/backends",
    "vllm/compilation/compiler_interface",
    "triton/compiler/",
)
_OLD_ENGINE = (
    "vllm/worker/",
    "vllm/engine/multiprocessing/",
    "vllm/executor/gpu_executor",
    "vllm/executor/multiproc_gpu_executor",
)
_DEATHS = (
    "EngineDeadError",
    "died unexpectedly",
    "exited unexpectedly",
    "is already dead",
    "encountered a fatal error",
    "encountered an issue",
    "has failed, terminating server",
    "Background loop has errored",
    "Background loop is not running",
    "background task failed",
    "Engine loop is not running",
)
_FAILED_STARTS = (
    "Engine core initialization failed",
    "Engine process failed to start",
    "EngineCore failed to start",
    "WorkerProc initialization failed",
)


def begins(rule: Rule, process: str, number: int, incident: Incident, starts: dict[str, str]) -> bool:
    """Return whether a mark belongs to another start than the one being read.

    Args:
        rule: The fact rule that matched.
        process: The process that said it.
        number: Its line.
        incident: The start being read.
        starts: What began it (a rule's ``start``), with the process that said so last.
    """
    order = ORDER.get(incident.reached, -1)
    if not rule.start:
        # A start that failed for good never opens its port: another one's output follows.
        closed = rule.stage == "api_ready" and order < ORDER["api_ready"]
        return closed and 0 < _failed(incident.hits) < number
    loaded = order >= ORDER["weights"]
    server = "server" in starts
    if rule.start == "server":
        return server or loaded
    if server or starts.get(rule.start, process) != process:
        # A server prints its arguments once, and the engine's banner once for each engine process.
        return False
    if rule.start in starts and not loaded:
        # Offline runs that fail before they load anything, one after the other.
        return rule.start == "engine" and 0 < _failed(incident.hits) < number
    return loaded


def reached(spans: list[StageSpan], traces: list[Trace], hits: list[Hit]) -> str:
    """Return the furthest stage of a start.

    A stop counts only where the server had come up and its engine was alive: after a crash a server ends by itself.
    """
    first = {span.stage: span.line for span in reversed(spans)}
    best = max((stage for stage in first if stage != "shutdown"), key=ORDER.__getitem__, default="")
    ready = min((first[stage] for stage in ("api_ready", "serving") if stage in first), default=0)
    if not ready:
        if "shutdown" in first and set(first) <= {"launch", "shutdown"}:
            # The end of a server whose life is not in the log.
            return "serving" if any(_is_death(hit) for hit in hits) else "shutdown"
        for trace in traces:
            if not trace.logging_error and (stage := stage_of(trace)) and ORDER[stage] > ORDER.get(best, -1):
                best = stage
        return best
    stop = first.get("shutdown", 0)
    # An offline run ends its engine itself.
    if (
        "api_ready" in first
        and stop > ready
        and not any(ready < hit.line.number < stop for hit in hits if _is_death(hit))
    ):
        return "shutdown"
    return best


def stage_of(trace: Trace) -> str:
    """Return the start-up stage that was running when an exception was raised; "" where the stack does not tell."""
    stage = ""
    for frame in trace.frames:
        name = frame.function.rpartition(".")[2]
        if name in _STAGE_OF and frame.path.startswith(("vllm/", "torch/distributed/")):
            stage = _STAGE_OF[name]
        elif stage == "profile" and frame.path.startswith(_COMPILERS):
            stage = "compile"
    return stage


def engine_of_traces(traces: list[Trace]) -> str:
    """Return ``V0`` or ``V1`` where the stacks show the one's code and not the other's."""
    paths = {frame.path for trace in traces[:50] for frame in trace.frames if frame.path.startswith("vllm/")}
    new = any(path.startswith("vllm/v1/") for path in paths)
    old = any(path.startswith(_OLD_ENGINE) for path in paths)
    return "" if new == old else ("V1" if new else "V0")


def time_stages(spans: list[StageSpan], facts: Mapping[str, object]) -> None:
    """Fill in the seconds spent in each stage: vLLM's own figure, else from its first line's stamp to the next stage's.

    Stamps of two kinds (a container's and vLLM's own) may tell two time zones: only like is taken from like.
    """
    _by_stamps(spans)
    _by_figures({span.stage: span for span in spans}, facts)


def _by_stamps(spans: list[StageSpan]) -> None:
    stamped = [
        (span, *stamp)
        for span in sorted(spans, key=lambda item: item.line)
        if (stamp := _seconds(span.time)) is not None
    ]
    for (span, start, kind), (_, end, other) in pairwise(stamped):
        # Stamps have no year and often no date: a start over midnight, never one over days.
        took = (end - start) % 86400
        if kind == other and took < _LONGEST:
            span.seconds = round(took, 1)


def _by_figures(spans: dict[str, StageSpan], facts: Mapping[str, object]) -> None:
    """Put vLLM's own figures in the place of what stamps of whole seconds, between lines of several processes, show."""
    told = {
        stage: float(value) for stage, fact in _FIGURES.items() if isinstance(value := facts.get(fact), (int, float))
    }
    for stage, seconds in told.items():
        if stage in spans:
            spans[stage].seconds = round(seconds, 1)
    whole = facts.get("init_seconds")
    if not isinstance(whole, (int, float)):
        return
    # What the engine took as a whole is shared out: first what vLLM tells, then what stamps show, up to what is left.
    left = float(whole) - sum(told.get(stage, 0.0) for stage in _OF_ENGINE if stage in spans)
    measured = [spans[stage] for stage in _OF_ENGINE if stage in spans and stage not in told]
    for span in measured:
        span.seconds = round(max(0.0, min(left, span.seconds or 0.0)), 1)
        left -= span.seconds
    # The profiling run begins before its first line, at the end of the weights.
    if measured and left > 0:
        first = next((span for span in measured if span.stage == "profile"), measured[0])
        first.seconds = round((first.seconds or 0.0) + left, 1)


def _failed(hits: list[Hit]) -> int:
    """Return the line on which a start ended for good; 0 where none did."""
    lines = [
        hit.line.number for hit in hits if not hit.quoted and any(words in hit.line.text for words in _FAILED_STARTS)
    ]
    return min(lines, default=0)


def _is_death(hit: Hit) -> bool:
    return not hit.quoted and any(words in hit.line.text for words in _DEATHS)


def _seconds(stamp: str) -> tuple[float, str] | None:
    found = _STAMP.search(stamp[:60])
    if not found:
        return None
    hours, minutes, seconds = int(found["hour"]), int(found["minute"]), int(found["second"])
    total = hours * 3600 + minutes * 60 + seconds + float(f"0.{found['fraction'] or 0}")
    return total, "dated" if found["year"] else ("vllm" if found["month"] else "clock")
