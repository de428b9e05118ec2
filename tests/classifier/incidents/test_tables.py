"""Tables and limits of reading incidents: functions by stage, words of death, how much is tried."""

from __future__ import annotations

import pytest

from tests.classifier.made import incidents, line_rule
from vllm_triage.classifier.incidents import effort
from vllm_triage.classifier.incidents.effort import Effort
from vllm_triage.classifier.incidents.reader import _is_quoted
from vllm_triage.classifier.incidents.stages import engine_of_traces, reached, stage_of, time_stages
from vllm_triage.classifier.incidents.types import StageSpan
from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.lines.types import Frame, Trace
from vllm_triage.classifier.matching.engine import Engine
from vllm_triage.classifier.matching.match import GIVE_UP
from vllm_triage.classifier.matching.types import Hit


def trace(*frames: tuple[str, str]) -> Trace:
    """Return an exception with these frames, path and function."""
    return Trace(1, 1, "", "ValueError", "x", [Frame(path, function) for path, function in frames])


@pytest.mark.parametrize(
    ("stage", "functions"),
    [
        ("distributed_init", "init_worker_distributed_environment init_distributed_environment init_process_group _init_workers_ray"),
        ("weights", "load_model load_weights"),
        ("profile", "profile_run determine_available_memory determine_num_available_blocks profile_num_available_blocks _dummy_sampler_run"),
        ("kv_cache", ("kernel_warmup flashinfer_autotune initialize_kv_cache initialize_from_config initialize_cache get_kv_cache_config "
                     "get_kv_cache_configs check_enough_kv_cache_memory _check_enough_kv_cache_memory compile_or_warm_up_model "
                     "_init_cache_engine raise_if_cache_size_invalid")),
        ("graph_capture", "capture_model _capture_cudagraphs capture_graph graph_capture"),
    ],
)  # fmt: skip
def test_functions_tell_the_stage(stage: str, functions: str) -> None:
    """Of vLLM's own code, or of torch's that sets processes up; the innermost decides."""
    for function in functions.split():
        assert stage_of(trace(("vllm/v1/a.py", "run"), ("vllm/v1/a.py", f"Worker.{function}"))) == stage
        assert stage_of(trace(("torch/distributed/a.py", function), ("x.py", "f"))) == stage
        assert stage_of(trace(("acme/a.py", function))) == ""
    assert stage_of(trace(("vllm/a.py", "load_model"), ("vllm/a.py", "profile_run"))) == "profile"


@pytest.mark.parametrize(
    "path",
    [
        "torch/_inductor/compile_fx.py", "torch/_inductor/codecache.py", "torch/_inductor/graph.py", "torch/_dynamo/convert_frame.py", "vllm/compilation/backends.py",
        "vllm/compilation/compiler_interface.py", "triton/compiler/code.py",
    ],
)  # fmt: skip
def test_compilers_within_a_profiling_run(path: str) -> None:
    """Elsewhere they tell nothing."""
    assert stage_of(trace(("vllm/a.py", "profile_run"), (path, "f"))) == "compile"
    assert stage_of(trace(("vllm/a.py", "load_model"), (path, "f"))) == "weights"


@pytest.mark.parametrize(
    ("path", "engine"),
    [
        ("vllm/v1/core.py", "V1"), ("vllm/worker/a.py", "V0"), ("vllm/engine/multiprocessing/a.py", "V0"), ("vllm/executor/gpu_executor.py", "V0"),
        ("vllm/executor/multiproc_gpu_executor.py", "V0"), ("vllm/config.py", ""), ("acme/vllm/v1/a.py", ""),
    ],
)  # fmt: skip
def test_files_tell_the_engine(path: str, engine: str) -> None:
    """Where they are not those of both."""
    assert engine_of_traces([trace((path, "f"))]) == engine
    assert engine_of_traces([trace(("vllm/v1/a.py", "f"), ("vllm/worker/a.py", "f"))]) == ""
    assert engine_of_traces([*[trace(("x", "f"))] * 50, trace((path, "f"))]) == ""


def said(text: str, number: int = 5, quoted: bool = False) -> Hit:
    """Return what a rule found on a line."""
    hit = Hit(line_rule("a", "x"), split_line(number, text), {})
    hit.quoted = quoted
    return hit


def spans(**lines: int) -> list[StageSpan]:
    """Return stages with their first lines."""
    return [StageSpan(stage, line, "") for stage, line in lines.items()]


@pytest.mark.parametrize(
    "words",
    [
        "EngineDeadError", "died unexpectedly", "exited unexpectedly", "is already dead", "encountered a fatal error", "encountered an issue",
        "has failed, terminating server", "Background loop has errored", "Background loop is not running", "background task failed",
        "Engine loop is not running",
    ],
)  # fmt: skip
def test_after_a_death_a_stop_is_none(words: str) -> None:
    """The server ends by itself; what is quoted, or stands before or after, is another matter."""
    life = spans(api_ready=2, serving=3, shutdown=9)
    assert reached(life, [], [said(f"it {words} now")]) == "serving"
    assert reached(life, [], [said("it lives")]) == "shutdown"
    assert reached(life, [], [said(words, quoted=True)]) == "shutdown"
    assert [reached(life, [], [said(words, number)]) for number in (2, 3, 9)] == ["shutdown", "serving", "shutdown"]
    assert reached(spans(shutdown=9), [], [said(words)]) == "serving"


def test_how_far_a_start_got() -> None:
    """The furthest stage of marks and stacks; a stop of a start that never came up is none."""
    assert reached([], [], []) == ""
    assert reached(spans(shutdown=9), [], []) == "shutdown"
    assert reached(spans(launch=1, shutdown=9), [], []) == "shutdown"
    assert reached(spans(launch=1, weights=2, shutdown=9), [], []) == "weights"
    assert reached(spans(launch=1), [trace(("vllm/a.py", "profile_run"))], []) == "profile"
    assert reached(spans(kv_cache=1), [trace(("vllm/a.py", "profile_run"))], []) == "kv_cache"
    assert reached(spans(api_ready=5, shutdown=4), [], []) == "api_ready"
    assert reached(spans(serving=5, shutdown=9), [], []) == "serving"
    strange = trace(("vllm/a.py", "profile_run"))
    strange.logging_error = True
    assert reached(spans(launch=1), [strange], []) == "launch"


@pytest.mark.parametrize(
    ("first", "second", "seconds"),
    [
        ("05-01 10:00:00", "05-01 10:00:07", 7.0), ("10:00:00.25", "10:00:01,5", 1.2), ("2026-05-01 23:59:59", "2026-05-02T00:00:01", 2.0),
        ("05-01 10:00:00", "10:00:07", None), ("2026-05-01 10:00:00", "05-01 10:00:07", None), ("00:00:00", "11:59:59", 43199.0), ("00:00:00", "12:00:00", None),
        ("x", "10:00:00", None),
    ],
)  # fmt: skip
def test_how_long_a_stage_took(first: str, second: str, seconds: float | None) -> None:
    """Between stamps of the same kind, over midnight, half a day at most."""
    stages = [StageSpan("weights", 1, first), StageSpan("profile", 2, second)]
    time_stages(stages, {})
    assert stages[0].seconds == seconds


def made(**keys: object) -> tuple[Effort, object]:
    """Return what is counted of one rule."""
    rule = line_rule("a", "word", **keys)
    return Effort(Engine([rule])), rule


@pytest.mark.parametrize(("role", "most"), [("fact", 60), ("cause", 400)])
def test_how_often_a_rule_may_match(role: str, most: int) -> None:
    """Then it has told what it can; one that matches everywhere at once."""
    counted, rule = made(role=role)
    for _ in range(most):
        counted.matched(0, rule)  # type: ignore[arg-type]
    assert counted.done == set()
    counted.matched(0, rule)  # type: ignore[arg-type]
    assert (counted.done, counted.given_up()) == ({0}, [])


def test_how_often_a_rule_may_miss() -> None:
    """Eight thousand times; then it is said."""
    counted, _ = made()
    for _ in range(8000):
        counted.missed(0)
    assert (counted.done, counted.given_up()) == (set(), [])
    counted.missed(0)
    assert counted.done == {0}
    assert counted.given_up() == [
        "The words of some rules are in more than 8,000 lines without fitting one; the rest were not tried: a."
    ]


def test_how_much_work_a_rule_may_be() -> None:
    """Sixty-four lines as long as rules see them; longer ones count as these."""
    counted, rule = made()
    assert all(counted.affords(0, rule, 10**9) for _ in range(64))  # type: ignore[arg-type]
    assert counted.given_up() == []
    assert not counted.affords(0, rule, 1)  # type: ignore[arg-type]
    assert counted.given_up() == [
        "Lines of more than 1,024 characters were too many for some rules, which did not see all of them: a."
    ]


def test_what_took_too_long_is_named() -> None:
    """Five rules, and how many more."""
    rules = [line_rule(f"r{number}", "word") for number in range(7)]
    counted = Effort(Engine(rules))
    for number, rule in enumerate(rules):
        counted.took_too_long(number, rule)
    assert counted.slow == {rule.id: 1 for rule in rules}
    assert counted.given_up() == [
        "Rules took too long on some lines, which they may therefore have missed: r0, r1, r2, r3, r4 and 2 more."
    ]
    while 0 not in counted.done:
        counted.took_too_long(0, rules[0])
    assert counted.slow["r0"] == GIVE_UP


def test_literals_that_stand_everywhere_are_muted() -> None:
    """Of blocks with many of them, after three hundred; looked for again near errors once two megabytes were read."""
    counted, _ = made()
    word = counted.scanner.words.index(b"word")  # type: ignore[union-attr]
    found = [(word, 0, 4)] * 63
    counted.learn(found, 3 << 20)
    first = counted.scanner
    counted.learn([(word, 0, 4)] * 300, 1)
    assert counted.scanner is first
    counted.learn([(word, 0, 4)] * 64, 1)
    assert counted.scanner is not first
    assert (effort.FEWEST, effort.VISITS, effort.SETTLE) == (64, 300, 2 << 20)


def test_a_start_that_said_nothing_is_one() -> None:
    """Of any log."""
    assert len(incidents(["plain"], line_rule("a", "word"))) == 1


@pytest.mark.parametrize(
    ("pattern", "in_code", "part", "quoted"),
    [
        ("out of memory", False, "code", True),
        ("out of memory", True, "code", False),
        ("out of memory", False, "frame", True),
        ('File ".*/vllm/', False, "frame", False),
        ('File ".*/vllm/', False, "code", True),
        ("out of memory", False, "final", False),
        ("out of memory", False, "", False),
    ],
)
def test_words_that_a_traceback_only_shows_prove_nothing(pattern: str, in_code: bool, part: str, quoted: bool) -> None:
    """But for rules that ask for a frame, on a frame's line, and those that count in code."""
    rule = line_rule("x", pattern)
    rule.in_code = in_code

    assert quoted is _is_quoted(rule, part)
