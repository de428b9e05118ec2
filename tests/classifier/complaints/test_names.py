"""Which option a message is about: by a field of vLLM's configurations, by words, by the value it was given."""

from __future__ import annotations

from typing import Any

import pytest

from vllm_triage.classifier.complaints.case import Case, of_field, of_value, of_words

RELEASE = "0.32.0"


def case(release: str = RELEASE, **arguments: Any) -> Case:
    """Return a case of a release with what was given."""
    return Case("", {"arguments": arguments}, release)


@pytest.mark.parametrize(
    ("owner", "option"),
    [
        ("CompilationConfig", "--compilation-config"), ("PassConfig", "--compilation-config"),
        ("SpeculativeConfig", "--speculative-config"), ("KVTransferConfig", "--kv-transfer-config"),
        ("KVEventsConfig", "--kv-events-config"), ("StructuredOutputsConfig", "--structured-outputs-config"),
        ("PoolerConfig", "--pooler-config"), ("EPLBConfig", "--eplb-config"), ("ProfilerConfig", "--profiler-config"),
        ("AttentionConfig", "--attention-config"), ("KernelConfig", "--kernel-config"),
        ("ReasoningConfig", "--reasoning-config"), ("ECTransferConfig", "--ec-transfer-config"),
        ("WeightTransferConfig", "--weight-transfer-config"),
    ],
)  # fmt: skip
def test_configurations_that_are_one_json_value(owner: str, option: str) -> None:
    """A field of theirs is a key of the option, keys within it follow behind dots."""
    assert of_field(owner, ["mode"], case()) == f"{option}.mode"
    assert of_field(owner, ["a", "b"], case()) == f"{option}.a.b"


def test_a_configuration_that_came_later_has_no_option_in_an_old_release() -> None:
    """Its field is looked for among the options then."""
    assert of_field("StructuredOutputsConfig", ["mode"], case("0.9.2")) == ""
    assert of_field("StructuredOutputsConfig", ["dtype"], case("0.9.2")) == "--dtype"


@pytest.mark.parametrize(
    ("path", "option"),
    [
        (["max_num_seqs"], "--max-num-seqs"),
        (["cache_dtype"], "--kv-cache-dtype"),
        (["model_weights"], "--model"),
        (["expert_parallel"], "--enable-expert-parallel"),
        (["num_gpu_blocks"], "--num-gpu-blocks-override"),
        (["pipeline_parallel"], "--pipeline-parallel-size"),
        (["method"], ""),
        (["backend"], ""),
        (["no_such_field"], ""),
        ([], ""),
        (["hf_overrides", "rope_theta"], "--hf-overrides.rope_theta"),
        (["hf_overrides"], "--hf-overrides"),
        (["max_num_seqs", "int"], "--max-num-seqs"),
    ],
)
def test_fields_of_other_configurations(path: list[str], option: str) -> None:
    """Most are called like their option; keys count where the option takes JSON."""
    assert of_field("ModelConfig", path, case()) == option


def test_the_device_was_an_option_once() -> None:
    """A field is an option's only in releases that have the option."""
    assert of_field("DeviceConfig", ["device"], case("0.8.5")) == "--device"


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("GPU memory utilization must be less than 1", "--gpu-memory-utilization"),
        ("Unknown attention backend", "--attention-backend"),
        ("Unknown quantization method", "--quantization"),
        ("Load format is not supported", "--load-format"),
        ("the block  size is too large", "--block-size"),
        ("Reasoning parser was not found", "--reasoning-parser"),
        ("invalid tool parser", "--tool-call-parser"),
        ("invalid tool call parser", "--tool-call-parser"),
        ("the KV cache dtype is not one", "--kv-cache-dtype"),
        ("Unknown dtype", "--dtype"),
        ("Invalid compilation mode", "--compilation-config.mode"),
        ("unknown optimization level", "-O"),
        ("unknown tokenizer mode", "--tokenizer-mode"),
        ("Unknown scheduling policy", "--scheduling-policy"),
        ("Unknown speculative method", "--speculative-config.method"),
        ("Unknown runner", "--runner"),
        ("`max_num_batched_tokens` (512) is too small", "--max-num-batched-tokens"),
        ("nothing_like_it and max_num_seqs", "--max-num-seqs"),
        ("--no-such-option and --max-num-seqs clash", "--max-num-seqs"),
        ("set VLLM_USE_V1 with --max-num-seqs", "VLLM_USE_V1"),
        ("give --compilation-config.mode a number", "--compilation-config.mode"),
        ("the 'dtype' of `model`", "--dtype"),
        ("no option at all", ""),
        ("nothing_like_it", ""),
        ("", ""),
    ],
)
def test_what_messages_call_options(words: str, option: str) -> None:
    """Variables first, then flags, the words of messages, and names with underscores that the release has."""
    assert of_words(words, case()) == option


def test_tasks_were_an_option_before_runners() -> None:
    """Words for an option that a release has not tell nothing."""
    assert of_words("Unknown task", case("0.9.2")) == "--task"
    assert of_words("Unknown runner", case("0.6.6")) == ""


@pytest.mark.parametrize(
    ("value", "arguments", "option"),
    [
        ("awq2", {"quantization": "awq2"}, "--quantization"),
        ("awq2", {"quantization": "awq2", "load_format": "awq2"}, ""),
        ("awq2", {"quantization": "awq"}, ""),
        ("4096", {"max_model_len": 4096}, "--max-model-len"),
        ("x", {"load_format": "x"}, ""),
        ("xy", {"load_format": "xy"}, "--load-format"),
        ("", {"load_format": ""}, ""),
        ("org/m", {"model": "org/m"}, ""),
        ("org/m", {"model_tag": "org/m"}, ""),
        ("org/m", {"model": "org/m", "tokenizer": "org/m"}, "--tokenizer"),
        ("eagel", {"speculative_config": {"method": "eagel", "model": "m"}}, "--speculative-config.method"),
        ("eagel", {"speculative_config": {"method": "eagel", "model": "eagel"}}, ""),
        ("eagel", {"load_format": "eagel", "x": "eagel", "speculative_config": {"method": "eagel"}}, ""),
    ],
)
def test_the_argument_that_was_given_a_value(value: str, arguments: dict[str, Any], option: str) -> None:
    """One alone; a single letter, the model's name, or a value that stands in two places tells nothing."""
    assert of_value(value, case(**arguments)) == option
