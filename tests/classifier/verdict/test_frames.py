"""What the stack of an exception says where nobody knows its words."""

from __future__ import annotations

import pytest

from tests.classifier.verdict.logs import START, WITH_MODEL, findings
from vllm_triage.classifier.advice import advise
from vllm_triage.classifier.lines.types import Frame, Trace
from vllm_triage.classifier.text_model.guess import Guess
from vllm_triage.classifier.verdict import policy
from vllm_triage.classifier.verdict.deciders.trouble import unexplained_trouble
from vllm_triage.classifier.verdict.frames import neighbour, reweighed, votes, with_frames


def raised(*frames: tuple[str, str]) -> Trace:
    """Return an exception with a stack, outermost first: (path, function)."""
    stack = [
        Frame(path, function, line=10 + 2 * number, raw=f'  File "{path}"', code_line=11 + 2 * number, code_raw="go()")
        for number, (path, function) in enumerate(frames)
    ]
    return Trace(99, 9, "EngineCore", "CogError", "the cog is gone", stack, text="CogError: the cog is gone")


RUNNER = ("vllm/v1/worker/gpu_model_runner.py", "execute_model")
MODULE = ("torch/nn/modules/module.py", "_call_impl")


@pytest.mark.parametrize(
    ("frame", "bucket"),
    [
        (("lmcache/v1/gpu_connector.py", "to_gpu"), "kv_transfer"),
        (("peft/utils/save_and_load.py", "load"), "lora"),
        (("quark/torch/export/api.py", "run"), "quantization_mismatch"),
        (("tilelang/3rdparty/tvm/python/tvm/build.py", "build"), "compile_failure"),
        (("mistral_common/protocol/instruct/validator.py", "validate"), "chat_template"),
        (("cupy/cuda/nccl.py", "send"), "nccl_error"),
        (("httpx/_transports/default.py", "handle"), "client_connection"),
        (("runai_model_streamer/file_streamer.py", "read"), "weights_mismatch"),
        (("vllm_ascend/worker/eagle_proposer_v1.py", "propose"), "speculative_decoding"),
        (("vllm_ascend/worker/model_runner_v1.py", "apply_grammar_bitmask"), "structured_output"),
        (("transformers/models/glm/image_processing_glm.py", "preprocess"), "multimodal"),
        (("vllm/lora/layers/base.py", "set_lora"), "lora"),
        (("acme_plugin/weights.py", "load_weights"), "weights_mismatch"),
        (("acme_plugin/__init__.py", "<module>"), "install_mismatch"),
        (("vllm/distributed/utils.py", "ensure_divisibility"), "parallel_config"),
    ],
)
def test_the_part_that_raised_votes_for_its_bucket(frame: tuple[str, str], bucket: str) -> None:
    (vote,) = votes(raised(RUNNER, frame))

    assert (bucket, 1.0, frame) == (vote.bucket, vote.weight, (vote.frame.path, vote.frame.function))


@pytest.mark.parametrize(
    ("frames", "bucket"),
    [
        ([RUNNER, ("tilelang/cogs/layout.py", "turn")], "compile_failure"),
        ([("peft/tuners/cogs.py", "turn")], "lora"),
        ([("peft/tuners/cogs.py", "turn"), RUNNER], ""),  # a callback of vLLM's
        ([RUNNER, ("cupy/cogs.py", "turn")], ""),  # does more than one thing
        ([RUNNER, ("vllm/lora/layers/base.py", "apply")], ""),
        ([], ""),
    ],
)
def test_a_neighbour_that_does_one_thing_alone_stands_for_it(frames: list[tuple[str, str]], bucket: str) -> None:
    vote = neighbour(raised(*frames))

    assert bucket == (vote.bucket if vote is not None else "")


def test_what_everything_runs_through_is_passed_over() -> None:
    """The modules of torch between the raise and its caller do not make the caller less near."""
    (vote,) = votes(raised(RUNNER, ("vllm/lora/layers/base.py", "apply"), MODULE, MODULE))
    assert 1.0 == vote.weight


def test_a_part_further_out_counts_less_and_a_runner_not_at_all() -> None:
    outer, inner = ("vllm/multimodal/registry.py", "create"), ("vllm/v1/core/sched/scheduler.py", "schedule")
    (vote,) = votes(raised(outer, inner))

    assert ("multimodal", 0.5) == (vote.bucket, vote.weight)
    assert [] == votes(raised(RUNNER, inner))


def test_reweighed_probabilities_add_up_and_go_by_how_much_the_part_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [("engine_bug", 0.5), ("kv_transfer", 0.1), ("attention_backend", 0.1), ("unknown", 0.3)]
    much = dict(reweighed(before, votes(raised(("lmcache/a.py", "get")))))
    some = dict(reweighed(before, votes(raised(("flashinfer/a.py", "plan")))))

    assert 1.0 == pytest.approx(sum(much.values())) == pytest.approx(sum(some.values()))
    assert 0.1 * policy.FRAMES_MUCH / 0.5 == pytest.approx(much["kv_transfer"] / much["engine_bug"])
    assert 0.1 * policy.FRAMES_SOME / 0.5 == pytest.approx(some["attention_backend"] / some["engine_bug"])


def test_a_guess_that_the_stack_turned_shows_the_exception_and_the_frame() -> None:
    guess = Guess([("engine_bug", 0.5), ("kv_transfer", 0.2), ("unknown", 0.3)], 0.6, own=False, terms=set())
    turned = with_frames(guess, raised(RUNNER, ("lmcache/v1/gpu_connector.py", "to_gpu")))

    assert ("kv_transfer", "connector_crashed") == (turned.bucket, turned.cause)
    assert [99, 12, 13] == [item.line for item in turned.evidence]
    assert "KV transfer and offload (lmcache/v1/gpu_connector.py:to_gpu)" in turned.described()


def test_an_answer_by_the_stack_says_so() -> None:
    """And names a cause that can be looked up, with fixes, be they shown or held back as guesses."""
    log = (
        START
        + """(EngineCore_DP0 pid=77) ERROR 11-02 10:00:21 [core.py:710] Traceback (most recent call last):
(EngineCore_DP0 pid=77) ERROR 11-02 10:00:21 [core.py:710]   File "/usr/lib/python3.12/site-packages/acme/plugin.py", line 3, in set_lora
(EngineCore_DP0 pid=77) ERROR 11-02 10:00:21 [core.py:710]     self.cogs.turn()
(EngineCore_DP0 pid=77) ERROR 11-02 10:00:21 [core.py:710] CogError: the seventh cog does not turn
"""
    )
    found = findings(log, WITH_MODEL)
    guess = Guess([("engine_bug", 0.4), ("lora", 0.3), ("unknown", 0.3)], 0.6, own=False, terms=set())
    found.__dict__["guess"] = with_frames(guess, found.unread[0])
    answer = unexplained_trouble(found)

    assert answer is not None
    assert ("lora/lora_layer_failure", "model") == (answer.cause, answer.decided_by)
    assert "LoRA (acme/plugin.py:set_lora)" in answer.notes[0]
    advice = advise(answer, found.known)
    assert advice.fixes or advice.withheld
