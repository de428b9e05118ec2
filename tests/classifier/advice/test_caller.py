"""A fix is given in the form in which who makes the engine takes it: a server, a script, a trainer, another framework."""

from __future__ import annotations

import pytest

from tests.classifier.advice.test_presumed import situation, trace
from tests.fixes import context, tried
from tests.fixes import made as fix
from vllm_triage.classifier import triage
from vllm_triage.classifier.advice.adapters.caller import adapt, as_released, caller_of
from vllm_triage.classifier.fix import Fix
from vllm_triage.classifier.situation.programs import SCRIPT

SCRIPTED = """Traceback (most recent call last):
  File "/home/ana/run.py", line 3, in <module>
    llm = LLM(model="acme/tiny-7b", tensor_parallel_size=4)
  File "/opt/venv/lib/python3.12/site-packages/vllm/entrypoints/llm.py", line 243, in __init__
    self.llm_engine = LLMEngine.from_engine_args(
  File "/opt/venv/lib/python3.12/site-packages/vllm/config/parallel.py", line 20, in verify
    raise ValueError(
ValueError: Total number of attention heads (14) must be divisible by tensor parallel size (4).
"""


@pytest.mark.parametrize(
    ("words", "who"),
    [
        ("vllm/entrypoints/llm.py:__init__: x", SCRIPT),
        ("    llm = LLM(model='acme/tiny')", SCRIPT),
        ("vllm/entrypoints/llm.py:__init__: x\nvllm/entrypoints/openai/api_server.py:main: y", ""),
        ("llm = LLM(model=m)  (APIServer pid=1)", ""),
        ("vllm/v1/engine/core.py:step: x", ""),
        ("    scores = llm.score(q, docs)\nvllm/entrypoints/pooling/offline.py:score: x", SCRIPT),
        ("File /root/verl/verl/trainer/main_ppo.py\nvllm/entrypoints/llm.py:generate: x", "verl"),
        ("actor_rollout_ref.rollout.n=8 vllm", "verl"),
        ("ray/llm/_internal/serve/server.py:start: x\nvllm/v1/engine/async_llm.py:__init__: y", "Ray Serve"),
        ("", ""),
    ],
)
def test_who_makes_the_engine_is_told_by_the_words_of_a_failure(words: str, who: str) -> None:
    """A server's own marks go before those of a script, a framework's before both."""
    assert caller_of(situation(words)) == who


def adapted(change: str, kind: str, who: str, *tags: str) -> tuple[Fix | None, str]:
    """Return a fix as who makes the engine takes it."""
    start = context()
    start.__dict__["caller"] = who  # as if worked out
    return adapt(fix(change, kind, tags=tags), start)


@pytest.mark.parametrize(
    ("change", "kind", "script", "framework"),
    [
        ("--max-num-seqs 64 --enforce-eager", "flag", "LLM(…, max_num_seqs=64, enforce_eager=True)", "max_num_seqs=64, enforce_eager=True   # an"),
        ("--no-enable-prefix-caching", "flag", "LLM(…, enable_prefix_caching=False)", "enable_prefix_caching=False   #"),
        ("""--compilation-config '{"cudagraph_mode": "NONE"}'""", "flag", 'LLM(…, compilation_config={"cudagraph_mode": "NONE"})', "compilation_config={"),
        ("--tensor-parallel-size <divisor> --pipeline-parallel-size <rest>", "flag", "LLM(…, tensor_parallel_size=<divisor>, pipeline_parallel_size=<rest>)", "tensor_parallel_size=<"),
        ("leave out --enable-lora", "flag", "leave enable_lora out of LLM(…)", "leave enable_lora out of the engine arguments that trl sets"),
        ("--tool-call-parser NAME", "flag", "--tool-call-parser NAME", "--tool-call-parser NAME"),
        ("CUDA_LAUNCH_BLOCKING=1 vllm serve … --enforce-eager", "command", "CUDA_LAUNCH_BLOCKING=1 python SCRIPT.py   # with LLM(…, enforce_eager=True)", "CUDA_LAUNCH_BLOCKING=1 <the command that starts trl>   # with enforce_eager=True"),
        ("VLLM_USE_V1=0", "env", "VLLM_USE_V1=0", "VLLM_USE_V1=0"),
        ("--max-model-len N", "flag", "LLM(…, max_model_len=N)", "max_model_len=N   # an engine"),
        ("leave out --port", "flag", "leave out --port", "leave out --port"),
        ("vllm serve --help=all | less", "command", "vllm serve --help=all | less", "vllm serve --help=all | less"),
        ("A=1 vllm serve m … --disable-custom-all-reduce", "command", "A=1 python SCRIPT.py   # with LLM(…, disable_custom_all_reduce=True)", "A=1 <the command that starts trl>   # with disable"),
    ],
)  # fmt: skip
def test_options_become_arguments_of_the_engine(change: str, kind: str, script: str, framework: str) -> None:
    """Options that are the server's alone stay; there is nothing else that they could become."""
    assert adapted(change, kind, SCRIPT)[0].change == script  # type: ignore[union-attr]
    made = adapted(change, kind, "trl")[0]
    assert made is not None
    assert made.change.startswith(framework)


@pytest.mark.parametrize(
    "change",
    [
        "curl -X POST http://localhost:8000/wake_up",
        "--host 0.0.0.0",
        "until curl -sf http://x/health; do sleep 5; done",
        "POST /v1/embeddings",
        "docker run vllm/vllm-openai:v0.10.0",
    ],
)
def test_nothing_is_asked_of_a_server_that_is_not_there(change: str) -> None:
    """A reason stands in its place."""
    tags = ("endpoint",) if change.startswith("POST") else () if change.startswith("--") else ("server",)
    kept, reason = adapted(change, "flag" if change.startswith("--") else "command", SCRIPT, *tags)
    assert kept is None
    assert "script" in reason


@pytest.mark.parametrize(
    ("release", "change"),
    [
        ("0.4.0", "python -m vllm.entrypoints.openai.api_server --model acme/tiny --dtype half"),
        ("0.5.2", "vllm serve acme/tiny --dtype half"),
        ("", "vllm serve acme/tiny --dtype half"),
    ],
)
def test_releases_before_the_command_are_started_by_their_module(release: str, change: str) -> None:
    """0.5.2 was the first with a program of the name."""
    assert as_released(fix("vllm serve acme/tiny --dtype half", "command"), context(release=release)).change == change


def test_a_script_gets_arguments_and_no_command_of_a_server() -> None:
    """Over the whole way from the log."""
    report = triage(SCRIPTED)
    assert report.cause == "parallel_config/heads_not_divisible"
    assert report.fixes[0].change == "LLM(…, tensor_parallel_size=2)"
    assert report.corrected_command == ""
    assert not any("status 200" in fix.verify or "startup complete" in fix.verify for fix in report.fixes)


def test_a_plug_ins_error_is_looked_for_at_the_plug_ins_own_tracker() -> None:
    """The innermost frame that is no library's decides."""

    made = fix(
        "search https://github.com/vllm-project/vllm/issues for: KeyError x",
        "step",
        title="Search vLLM's issues",
        tags=("look", "search"),
    )
    own = trace(
        "KeyError", "vllm/v1/engine/core.py:run", "vllm_ascend/worker/model_runner_v1.py:step", "torch/nn/x.py:f"
    )
    (kept,), _ = tried([made], situation("vllm_ascend", own))
    assert kept.change == "search the issues of vllm-ascend's repository for: KeyError x"
    vllms = trace("KeyError", "vllm_ascend/worker/worker.py:step", "vllm/v1/worker/gpu_model_runner.py:step")
    (kept,), _ = tried([made], situation("vllm_ascend", vllms))
    assert kept.change == made.change


def test_who_calls_a_server_does_not_make_its_engine() -> None:
    """A trainer's client fails at a server that has a command line of its own."""
    words = "File /root/verl/verl/trainer/main_ppo.py"
    assert caller_of(situation(words)) == "verl"
    assert caller_of(context(words, words=words, asked=True)) == ""
