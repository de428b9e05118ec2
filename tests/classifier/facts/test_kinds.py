"""The type of each fact, which of several values wins, and vLLM's own names for what its log calls otherwise."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.facts.book import FactBook
from vllm_triage.classifier.facts.kinds import BACKENDS, CHOOSERS, PLATFORMS, PLUGINS, convert, engine_of
from vllm_triage.classifier.facts.readers import READERS, Said
from vllm_triage.classifier.facts.types import BANNER, FINAL, GIVEN, HINT, PLAIN
from vllm_triage.classifier.lines.prefix import split_line


@pytest.mark.parametrize(
    "name",
    [
        "max_model_len", "max_num_seqs", "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "gpu_count",
        "kv_cache_tokens", "max_len_that_fits", "gpu_blocks", "cpu_blocks", "port", "running", "waiting", "http_500",
        "num_attention_heads", "max_num_batched_tokens",
    ],
)  # fmt: skip
def test_whole_numbers(name: str) -> None:
    """Also with commas or underscores between thousands; anything else is no value."""
    assert (convert(name, "'1,024'"), convert(name, "1_024"), convert(name, 7)) == (1024, 1024, 7)
    assert (convert(name, "7.5"), convert(name, "x")) == (None, None)


@pytest.mark.parametrize(
    "name",
    [
        "gpu_memory_utilization", "gpu_memory_total_gib", "gpu_memory_free_gib", "weights_gib", "kv_cache_available_gib",
        "kv_cache_needed_gib", "max_concurrency", "graph_memory_gib", "kv_cache_usage_percent", "prompt_throughput",
        "generation_throughput", "requested_gib", "non_torch_gib", "activation_gib", "init_seconds", "weights_seconds",
        "compile_seconds", "graph_seconds", "oom_tried_gib", "cpu_offload_gb", "swap_space",
    ],
)  # fmt: skip
def test_numbers(name: str) -> None:
    """To four digits behind the point."""
    assert (convert(name, "1,024.5"), convert(name, "0.123456"), convert(name, 3)) == (1024.5, 0.1235, 3.0)
    assert (convert(name, "1e12"), convert(name, "-1e12"), convert(name, "999999999999")) == (None, None, 999999999999)
    assert convert(name, "x") is None


@pytest.mark.parametrize("name", ["enforce_eager", "trust_remote_code", "enable_lora"])
def test_switches(name: str) -> None:
    """As Python and as JSON print them."""
    assert [convert(name, value) for value in ("True", "true", "1", True, "False", "0", "no")] == [True] * 4 + [
        False
    ] * 3


def test_texts() -> None:
    """Without quotes and blanks around them; of versions also without a full stop behind or a v before."""
    assert convert("model", " 'acme/tiny' ") == "acme/tiny"
    assert [convert("vllm_version", text) for text in ("v0.9.2.", "0.9.2,", "0.9.2;", "0.9.2:")] == ["0.9.2"] * 4


@pytest.mark.parametrize(
    "name", ["weights_gib", "gpu_memory_total_gib", "kv_cache_needed_gib", "activation_gib", "non_torch_gib", "gpu_count"]
)  # fmt: skip
def test_the_largest_of_several_ranks(name: str) -> None:
    """Whatever comes first."""
    assert book((name, 2), (name, 3), (name, 1)) == {name: 3}


@pytest.mark.parametrize(
    "name", ["kv_cache_available_gib", "gpu_memory_free_gib", "kv_cache_tokens", "max_len_that_fits", "max_concurrency", "gpu_blocks"]
)  # fmt: skip
def test_the_smallest_of_several_ranks(name: str) -> None:
    """Whatever comes first."""
    assert book((name, 2), (name, 1), (name, 3)) == {name: 1}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("kv_cache_usage_percent", (1.0, 2.0)), ("prompt_throughput", (2.0, 1.0)), ("generation_throughput", (1.0, 2.0)),
        ("running", (2, 1)), ("waiting", (1, 2)), ("driver_version", ("2", "1")),
    ],
)  # fmt: skip
def test_the_latest_of_what_changes(name: str, values: tuple[object, object]) -> None:
    """What is so at the end."""
    assert book((name, values[0]), (name, values[1])) == {name: values[1]}


def test_the_first_of_all_others() -> None:
    """A second line of the same worth changes nothing; one that says nothing neither."""
    assert book(("max_model_len", 1), ("max_model_len", 2)) == {"max_model_len": 1}
    assert book(("model", "a"), ("model", "b"), ("model", "")) == {"model": "a"}
    assert book(("model", ""), ("model", None)) == {}


def book(*told: tuple[str, object]) -> dict[str, object]:
    """Return the facts after these were set in this order."""
    made = FactBook()
    for name, value in told:
        made.set(name, value)  # type: ignore[arg-type]
    return made.facts()  # type: ignore[return-value]


def test_worth_of_sources() -> None:
    """What was settled in the end, the banner, a line, what was given, what is only inferred."""
    for better, worse in ((FINAL, BANNER), (BANNER, PLAIN), (PLAIN, GIVEN), (GIVEN, HINT)):
        for order in ((better, worse), (worse, better)):
            made = FactBook()
            for worth in order:
                made.set("weights_gib", 1 if worth == better else 9, worth)
            assert made.value("weights_gib") == 1
    assert FactBook().value("weights_gib") is None


@pytest.mark.parametrize(
    ("version", "engine"),
    [
        ("0.6.3", "V0"), ("0.6.4", ""), ("v0.6.3.post1", "V0"), ("0.10.9", ""), ("0.11", "V1"), ("0.11.0rc1", "V1"), ("1.0", "V1"),
        ("0.6", "V0"), ("0.7", ""), ("0.1.dev7", ""), ("0.1.2", "V0"), ("x", ""), ("0.5.0.dev3", "V0"),
    ],
)  # fmt: skip
def test_the_engine_of_a_release(version: str, engine: str) -> None:
    """One alone up to 0.6.3, the other alone from 0.11 on."""
    assert engine_of(version) == engine


@pytest.mark.parametrize(
    ("words", "backend"),
    [
        ("Flash Attention", "FLASH_ATTN"), ("FlashInfer", "FLASHINFER"), ("XFormers", "XFORMERS"), ("Torch SDPA", "TORCH_SDPA"),
        ("Triton", "TRITON_ATTN"), ("Triton Attention", "TRITON_ATTN"), ("FlashMLA", "FLASHMLA"), ("Triton MLA", "TRITON_MLA"),
        ("Cutlass MLA", "CUTLASS_MLA"), ("FlashInfer MLA", "FLASHINFER_MLA"), ("FlashAttention MLA", "FLASH_ATTN_MLA"),
        ("Sparse MLA", "FLASHMLA_SPARSE"), ("XPU MLA Sparse", "XPU_MLA_SPARSE"), ("CPU MLA", "CPU_MLA"), ("AITER MLA", "ROCM_AITER_MLA"),
        ("AITER Triton MLA", "ROCM_AITER_TRITON_MLA"), ("Aiter Flash Attention", "ROCM_AITER_FA"), ("Rocm/Aiter Attention", "ROCM_AITER_FA"),
        ("Aiter Unified Attention", "ROCM_AITER_UNIFIED_ATTN"), ("ROCm Attention", "ROCM_ATTN"), ("ROCmFlashAttention", "ROCM_FLASH"),
        ("FlexAttention", "FLEX_ATTENTION"), ("Tree Attention", "TREE_ATTN"), ("TurboQuant", "TURBOQUANT"),
        ("BlocksparseFlashAttention", "BLOCK_SPARSE_FLASH_ATTN"), ("DualChunkFlashAttention", "DUAL_CHUNK_FLASH_ATTN"),
        ("Differential Flash Attention", "DIFFERENTIAL_FLASH_ATTN"), ("Pallas", "PALLAS"), ("Pallas V1", "PALLAS"),
        ("HPU Attention", "HPU_ATTN"), ("IPEX", "IPEX"), ("OpenVINO", "OPENVINO"), ("OpenVINO Attention", "OPENVINO"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("module", ["cuda", ""])
def test_names_of_attention_backends(words: str, backend: str, module: str) -> None:
    """Whatever a release writes, its enum's name is the fact."""
    assert read("attention_words", module, attention_name=words) == {"attention_backend": backend}


@pytest.mark.parametrize(
    "module", ["cuda", "rocm", "cpu", "xpu", "tpu", "hpu", "neuron", "openvino", "selector", "interface", "__init__"]
)  # fmt: skip
def test_modules_that_choose_a_backend(module: str) -> None:
    """All others speak of something else."""
    assert read("attention_name", module, attention_backend="FLASHINFER") == {"attention_backend": "FLASHINFER"}
    assert read("attention_words", module, attention_name="Triton") == {"attention_backend": "TRITON_ATTN"}
    assert read("attention_name", f"{module}_moe", attention_backend="FLASHINFER") == {}
    assert read("attention_words", "mxfp4", attention_name="Triton") == {}
    assert read("attention_words", module, attention_name="Harbour") == {}


def read(reader: str, module: str = "", /, **captures: str) -> dict[str, object]:
    """Return what a reader writes into an empty book."""
    line = split_line(1, "x")
    line.source = f"vllm/{module}.py:1" if module else ""
    made = FactBook()
    READERS[reader](made, Said(line, captures))
    return made.facts()  # type: ignore[return-value]


@pytest.mark.parametrize("platform", ["cuda", "rocm", "cpu", "tpu", "xpu", "hpu", "neuron", "npu"])
def test_platforms(platform: str) -> None:
    """As the banner names the device, and as plug-ins are called."""
    table = f"config: model='m', device_config={platform}"
    assert read("engine_config", "core", table=table)["platform"] == platform
    assert read("platform_plugin", plugin=platform.upper()) == {"platform": platform}
    assert "platform" not in read("engine_config", "core", table="config: device_config=toaster")


@pytest.mark.parametrize(("plugin", "platform"), [("Ascend", "npu"), ("gaudi", "hpu")])
def test_plugins_of_other_names(plugin: str, platform: str) -> None:
    """Their makers' names."""
    assert read("platform_plugin", plugin=plugin) == {"platform": platform}


def test_tables_hold_nothing_else() -> None:
    """An entry is not added without a test."""
    assert (len(BACKENDS), len(CHOOSERS), len(PLATFORMS), len(PLUGINS)) == (33, 12, 8, 2)


@pytest.mark.parametrize(
    ("reader", "module", "captures", "facts"),
    [
        ("engine_v0", "", {}, {"engine": "V0"}), ("engine_v1", "", {}, {"engine": "V1"}), ("rocm", "", {}, {"platform": "rocm"}),
        ("engine_config", "core", {"table": "config: model='m'"}, {"engine": "V1", "model": "m"}),
        ("engine_config", "llm_engine", {"table": "config: model='m'"}, {"engine": "V0", "model": "m"}),
        ("engine_config", "other", {"table": "model='m', max_seq_len=5"}, {"model": "m", "max_model_len": 5}),
        ("engine_config", "llm_engine", {"table": "", "engine": "V1", "vllm_version": "v0.8.0"}, {"engine": "V1", "vllm_version": "0.8.0"}),
        ("engine_config", "", {"table": "seed=0 config: dtype=torch.half, quantization=None, tokenizer=None"}, {"dtype": "half"}),
        ("engine_config", "", {"table": "dtype=float, served_model_name=s, trust_remote_code=True, load_format=auto, tokenizer=t"},
         {"dtype": "float", "served_model_name": "s", "trust_remote_code": True, "load_format": "auto", "tokenizer": "t"}),
        ("engine_config", "", {"table": "tensor_parallel_size=2, pipeline_parallel_size=3, data_parallel_size=4, quantization=awq"},
         {"tensor_parallel_size": 2, "pipeline_parallel_size": 3, "data_parallel_size": 4, "quantization": "awq"}),
        ("engine_config", "", {"table": "enforce_eager=True, kv_cache_dtype=fp8"}, {"enforce_eager": True, "kv_cache_dtype": "fp8"}),
        ("listed_gpu", "", {"gpu_name": "NVIDIA L4 (UUID: GPU-1)", "gpu_index": "0"}, {"gpu_name": "NVIDIA L4", "gpu_count": 1}),
        ("different_gpus", "", {"names": "A, B,C"}, {"gpu_name": "A", "gpu_count": 3}),
        ("device_file", "", {"gpu_name": "NVIDIA_H100_80GB"}, {"gpu_name": "NVIDIA H100 80GB"}),
        ("driver_table", "", {"driver_version": "535.1", "cuda_version": "12.2"}, {"driver_version": "535.1", "cuda_version": "12.2"}),
        ("torch_build", "", {"torch_version": "2.6.0+cu124"}, {"torch_version": "2.6.0+cu124", "cuda_version": "12.4"}),
        ("torch_build", "", {"torch_version": "2.6.0+rocm6"}, {"torch_version": "2.6.0+rocm6"}),
        ("weights_took", "", {"unit": "seconds", "weights_gib_old": "7.5"}, {"weights_seconds": 7.5}),
        ("weights_took", "", {"unit": "GB", "weights_gib_old": "7.5"}, {"weights_gib": 7.5}),
        ("memory_profile", "", {"weights_gib": "7.5", "non_torch_gib": "1", "activation_gib_2": "3"}, {"weights_gib": 7.5, "non_torch_gib": 1}),
        ("concurrency", "", {"kv_cache_tokens": "67,888", "max_concurrency": "16.57", "concurrency_len": "4,096"},
         {"kv_cache_tokens": 67888, "max_concurrency": 16.57, "max_model_len": 4096}),
        ("cache_tokens", "", {"max_model_len": "32768", "max_len_that_fits": "7344"},
         {"max_model_len": 32768, "max_len_that_fits": 7344, "kv_cache_tokens": 7344}),
        ("auto_fit", "", {"max_len_that_fits": "7344"}, {"max_len_that_fits": 7344, "max_model_len": 7344}),
        ("arguments", "", {"table": "{'port': 1}"}, {"port": 1, "arguments": {"port": 1}}),
        ("call", "", {"table": "model='m', port=1"}, {"model": "m", "port": 1, "arguments": {"model": "m", "port": 1}}),
        ("listed_command", "", {"table": "['vllm', 'serve', 'a/b', '--port', '1']"},
         {"model": "a/b", "port": 1, "arguments": {"model": "a/b", "port": 1}}),
        ("container_arguments", "", {"command": "--model a/b > log"}, {"model": "a/b", "arguments": {"model": "a/b"}}),
        ("container_image", "", {"tag": "v0.9.2", "command": "--model a/b"},
         {"vllm_version": "0.9.2", "model": "a/b", "arguments": {"model": "a/b"}}),
    ],
)  # fmt: skip
def test_what_each_reader_writes(reader: str, module: str, captures: dict[str, str], facts: dict[str, object]) -> None:
    """Facts by vLLM's names, each of its type."""
    assert read(reader, module, **captures) == facts


def test_sources_of_the_same_fact() -> None:
    """A size that loading told stands against the profile's, a listed GPU against one in a file's name, torch's against the driver."""
    for first, then, expected in (
        (("memory_profile", {"weights_gib": "9"}), ("weights_took", {"unit": "GB", "weights_gib_old": "7"}), {"weights_gib": 7}),
        (("device_file", {"gpu_name": "X"}), ("listed_gpu", {"gpu_name": "Y", "gpu_index": "0"}), {"gpu_name": "Y", "gpu_count": 1}),
        (("torch_build", {"torch_version": "2+cu124"}), ("driver_table", {"cuda_version": "12.8"}), {"torch_version": "2+cu124", "cuda_version": "12.8"}),
        (("auto_fit", {"max_len_that_fits": "5"}), ("engine_config", {"table": "max_seq_len=9"}), {"max_len_that_fits": 5, "max_model_len": 5}),
        (("concurrency", {"concurrency_len": "5"}), ("cache_tokens", {"max_model_len": "9"}), {"max_model_len": 9}),
    ):  # fmt: skip
        for order in ((first, then), (then, first)):
            made = FactBook()
            for reader, captures in order:
                READERS[reader](made, Said(split_line(1, "x"), captures))
            assert made.facts() == expected


def test_commands_with_what_stands_in_front() -> None:
    """The first that started the server counts; a container's image needs ``run`` in front of it to be one."""
    line = split_line(1, "A=1 docker run img --model a/b > log")
    made = FactBook()
    READERS["container_image"](made, Said(line, {"tag": "1", "command": "img --model a/b > log"}))
    READERS["command"](made, Said(split_line(1, "$ vllm serve c/d"), {"command": " vllm serve c/d "}))
    assert made.facts()["command"] == "A=1 docker run img --model a/b"
    alone = FactBook()
    READERS["container_image"](
        alone, Said(split_line(1, "img --model a/b"), {"tag": "1", "command": "img --model a/b"})
    )
    assert "command" not in alone.facts()
    prose = FactBook()
    READERS["command"](prose, Said(split_line(1, "vllm serve on it"), {"command": "vllm serve on it"}))
    assert prose.facts() == {}
