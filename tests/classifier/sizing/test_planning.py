"""The arithmetic without a log: verdicts, the smallest change, and what never happens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.classifier.sizing.models import NAMES, config
from vllm_triage.classifier.sizing.architecture import ConfigError
from vllm_triage.classifier.sizing.placement import Fit, Setup
from vllm_triage.classifier.sizing.planning import make_plan, token_formula

GIB = 1 << 30


def planned(name, gib, gpus=1, version="", **changes):
    return make_plan(config(name), Setup(int(gib * GIB), gpus, version).changed(**changes))


def test_a_model_that_fits_needs_no_flags():
    """Qwen2.5-7B on 24 GiB: budget minus weights minus allowance holds several requests of the full context."""
    plan = planned("qwen2.5-7b", 24)
    assert (plan.verdict, plan.flags(), plan.changes) == ("fits", [], [])
    left = 24 * 0.92 * GIB - plan.fit.weights - plan.fit.overhead
    assert plan.fit.kv_memory == pytest.approx(left, abs=2)
    assert plan.fit.concurrency(32768) == pytest.approx(left / (32768 * 56 * 1024), rel=0.001)


def test_the_smallest_number_of_ranks_is_taken():
    """Of four GPUs two suffice for the weights and the context of Llama-3.1-70B at 8 bits."""
    plan = planned("llama-3.1-70b", 80, 4, quantization="fp8")
    assert (plan.verdict, plan.fit.tensor) == ("fits", 2)
    assert any("--data-parallel-size 2" in note for note in plan.notes)


def test_a_shorter_context_is_proposed_with_what_would_lengthen_it():
    """Llama-3.1-70B on 2 × 80 GiB starts with part of its context; each change gives more."""
    plan = planned("llama-3.1-70b", 80, 2)
    assert plan.verdict == "fits_shorter"
    assert ("--max-model-len", str(plan.context)) in plan.flags()
    assert [change for change, _ in plan.changes] == [
        "--gpu-memory-utilization 0.95",
        "--kv-cache-dtype fp8",
        "4 GPUs of 80.0 GiB: --tensor-parallel-size 4",
    ]
    again = planned("llama-3.1-70b", 80, 2, max_model_len=plan.context)
    assert again.verdict == "fits"
    assert planned("llama-3.1-70b", 80, 2, max_model_len=plan.context + 32).verdict == "fits_shorter"


def test_what_no_flag_fixes_says_so():
    """Weights above all memory: the sentence, and another checkpoint or more GPUs as the smallest change."""
    plan = planned("llama-3.1-70b", 48, 2)
    assert plan.verdict == "does_not_fit"
    assert plan.problem == "No flag fixes this: weights 131.4 GiB, GPUs 2 × 48.0 GiB."
    assert [change for change, _ in plan.changes] == [
        "an FP8 checkpoint of the model with --tensor-parallel-size 2",
        "4 GPUs of 48.0 GiB: --tensor-parallel-size 4",
    ]


def test_a_budget_that_is_too_small_for_memory_that_is_not():
    """14.2 GiB of weights in 16 GiB: the weights are smaller than the GPU, what is left is not enough."""
    plan = planned("qwen2.5-7b", 16)
    assert plan.verdict == "does_not_fit"
    assert plan.problem.startswith("On each GPU 14.7 GiB (0.92 of 16.0 GiB) are too little: weights 14.2 GiB")
    assert planned("llama-3.1-70b", 70, 2).problem.startswith("On each GPU 64.4 GiB (0.92 of 70.0 GiB) are too little")


def test_every_proposed_change_does_what_it_says():
    """The plan for the changed setup comes to the promised verdict."""
    assert planned("llama-3.1-70b", 80, 2, utilization=0.95).context > planned("llama-3.1-70b", 80, 2).context
    assert planned("llama-3.1-70b", 48, 2, quantization="fp8", max_model_len=2048).verdict == "fits"
    assert planned("llama-3.1-70b", 48, 4, tensor=4, max_model_len=2048).verdict == "fits"
    assert planned("llama-3.1-70b", 80, 4, tensor=4, max_model_len=131072).verdict == "fits"


def test_ranks_that_do_not_divide_are_refused_with_one_that_does():
    """28 heads over 8 ranks."""
    plan = planned("qwen2.5-7b", 24, 8, tensor=8)
    assert (plan.verdict, plan.changes) == ("does_not_fit", [("--tensor-parallel-size 4", "divides the model")])


def test_mla_needs_no_kv_heads_that_divide():
    """DeepSeek-V3 over 16 ranks: 128 heads, one latent kept by each."""
    plan = planned("deepseek-v3", 80, 16)
    assert (plan.verdict, plan.fit.tensor) == ("fits", 16)


def test_weights_of_unknown_width_are_asked_for():
    """The plan names the option that gives the number, and goes on with it."""
    shape = config("llama-3.1-8b") | {"quantization_config": {"quant_method": "quark"}}
    plan = make_plan(shape, Setup(24 * GIB))
    assert (plan.verdict, "--weights" in plan.problem) == ("unknown", True)
    assert make_plan(shape, Setup(24 * GIB).changed(weights=int(8.5 * GIB), max_model_len=8192)).verdict == "fits"


def test_the_release_decides_defaults():
    """0.9 of the memory up to 0.19; CUDA graphs count from 0.20 on."""
    old, new = planned("qwen2.5-7b", 24, version="0.19.1"), planned("qwen2.5-7b", 24, version="0.20.0")
    assert (old.setup.utilization, new.setup.utilization) == (0.9, 0.92)
    assert new.fit.overhead - old.fit.overhead == pytest.approx(0.5 * GIB, abs=2)


def test_more_ranks_than_gpus_are_refused():
    """A misuse, not a verdict."""
    with pytest.raises(ConfigError, match="8 ranks"):
        planned("llama-3.1-70b", 80, 4, tensor=4, pipeline=2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama-3.1-8b", "32 layers × 8 KV heads × (128 + 128) × 2 bytes = 128 KiB"),
        ("deepseek-v3", "61 layers × 576 (MLA) × 2 bytes = 68.625 KiB"),
        ("gpt-oss-20b", "24 layers × 8 KV heads × (64 + 64) × 2 bytes = 48 KiB; 12 layers keep only a window of 128"),
        (
            "qwen3-next-80b-a3b",
            "12 layers × 2 KV heads × (256 + 256) × 2 bytes = 24 KiB; 36 layers keep a state of fixed size",
        ),
    ],
)
def test_bytes_per_token_in_words(name, expected):
    """The arithmetic that is shown gives the number that is used."""
    plan = planned(name, 640)
    assert token_formula(plan.model, plan.fit.layout, 1, "auto") == expected


SETUPS = st.fixed_dictionaries(
    {
        "utilization": st.floats(0.05, 1),
        "kv_dtype": st.sampled_from(["auto", "fp8"]),
        "max_model_len": st.sampled_from([0, 1, 512, 32768, 1_000_000]),
        "max_num_seqs": st.integers(1, 1024),
        "max_num_batched_tokens": st.sampled_from([0, 1, 2048, 65536]),
        "enforce_eager": st.booleans(),
    }
)


@given(
    name=st.sampled_from(NAMES),
    gib=st.floats(1, 300),
    more=st.floats(0, 100),
    gpus=st.integers(1, 16),
    version=st.sampled_from(["0.6.6", "0.9.2", "0.19.1", "0.33.0", ""]),
    setup=SETUPS,
)
def test_plans_hold_together(name, gib, more, gpus, version, setup):
    """Memory is never exceeded, sizes divide, more memory never shortens the context, verdict and flags agree."""
    plan, larger = (planned(name, size, gpus, version, **setup) for size in (gib, gib + more))
    fit = plan.fit
    assert 0 <= fit.longest <= fit.wanted
    assert plan.model.heads % fit.tensor == 0
    assert fit.tensor <= gpus
    assert (plan.verdict == "fits") == (fit.longest == fit.wanted)
    assert bool(plan.problem) == (plan.verdict != "fits")
    if fit.longest:
        used = fit.weights + fit.overhead + fit.layout.request_bytes(fit.longest, fit.batched)
        assert used <= gib * GIB * setup["utilization"] + 1
    same = Fit(plan.model, larger.setup, fit.tensor)
    if same.overhead == fit.overhead and same.batched == fit.batched:
        assert same.longest >= fit.longest
