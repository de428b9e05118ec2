"""Facts: what a log says about versions, hardware, model, arguments and memory, and which of several values wins."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.facts import arguments
from vllm_triage.classifier.facts.book import FactBook
from vllm_triage.classifier.facts.kinds import convert, engine_of

BANNER = (
    "(EngineCore_DP0 pid=7) INFO 10-25 13:08:50 [core.py:93] Initializing a V1 LLM engine (v0.12.0) with config: "
    "model='acme/tiny-7b', speculative_config=None, tokenizer='acme/tiny-7b', trust_remote_code=False, "
    "dtype=torch.bfloat16, max_seq_len=4096, load_format=auto, tensor_parallel_size=2, pipeline_parallel_size=1, "
    "data_parallel_size=1, quantization=None, enforce_eager=True, kv_cache_dtype=auto, device_config=cuda, seed=0"
)


def facts(*lines: str) -> dict[str, Any]:
    """Return the facts that a log of ``lines`` tells."""
    return dict(shared().report("\n".join(lines)).facts)


def test_the_engine_banner_tells_the_resolved_configuration() -> None:
    """Version, engine, platform, model, type, sizes come from one line; what is None is absent."""
    found = facts(BANNER)
    expected = {
        "vllm_version": "0.12.0",
        "engine": "V1",
        "platform": "cuda",
        "model": "acme/tiny-7b",
        "dtype": "bfloat16",
        "max_model_len": 4096,
        "tensor_parallel_size": 2,
        "pipeline_parallel_size": 1,
        "data_parallel_size": 1,
        "enforce_eager": True,
        "kv_cache_dtype": "auto",
    }
    assert expected == {name: found.get(name) for name in expected}
    assert "quantization" not in found


def test_resolved_values_go_before_given_ones() -> None:
    """The banner's length and type stand, whatever the arguments asked for; arguments stay as they were given."""
    found = facts(
        "INFO 10-25 13:08:43 [utils.py:233] non-default args: "
        "{'model': 'acme/tiny-7b', 'dtype': 'half', 'max_model_len': 9000, 'quantization': 'none'}",
        BANNER,
    )
    assert (4096, "bfloat16") == (found["max_model_len"], found["dtype"])
    assert (9000, "half") == (found["arguments"]["max_model_len"], found["arguments"]["dtype"])
    assert "quantization" not in found


@pytest.mark.parametrize(
    ("source", "engine"),
    [("[core.py:58]", "V1"), ("llm_engine.py:184]", "V0")],
)
def test_an_old_banner_tells_its_engine_by_the_module_that_wrote_it(source: str, engine: str) -> None:
    """Up to 0.7.0 the line says 'an LLM engine' for both generations."""
    line = f"INFO 12-01 10:00:00 {source} Initializing an LLM engine (v0.6.4.post1) with config: model='acme/tiny-7b'"
    assert engine == facts(line)["engine"]


def test_ranks_give_the_largest_weights_and_the_smallest_cache() -> None:
    """Where ranks differ, weights count at their largest, cache and free memory at their smallest."""
    found = facts(
        "(Worker_TP0 pid=1) INFO 10-25 13:09:00 [gpu_worker.py:1] Free memory on device (22.10/23.57 GiB) on startup. "
        "Desired GPU memory utilization is (0.9, 21.21 GiB).",
        "(Worker_TP1 pid=2) INFO 10-25 13:09:00 [gpu_worker.py:1] Free memory on device (20.05/23.57 GiB) on startup. "
        "Desired GPU memory utilization is (0.9, 21.21 GiB).",
        "(Worker_TP0 pid=1) INFO 10-25 13:09:10 [gpu_model_runner.py:1] "
        "Model loading took 7.51 GiB memory and 9.1 seconds",
        "(Worker_TP1 pid=2) INFO 10-25 13:09:10 [gpu_model_runner.py:1] "
        "Model loading took 7.93 GiB memory and 9.3 seconds",
        "(Worker_TP0 pid=1) INFO 10-25 13:09:20 [gpu_worker.py:1] Available KV cache memory: 9.12 GiB",
        "(Worker_TP1 pid=2) INFO 10-25 13:09:20 [gpu_worker.py:1] Available KV cache memory: 8.31 GiB",
        "(EngineCore_DP0 pid=7) INFO 10-25 13:09:21 [kv_cache_utils.py:1] GPU KV cache size: 67,888 tokens",
        "(EngineCore_DP0 pid=7) INFO 10-25 13:09:21 [kv_cache_utils.py:1] "
        "Maximum concurrency for 4,096 tokens per request: 16.57x",
    )
    names = ("weights_gib", "kv_cache_available_gib", "gpu_memory_free_gib", "gpu_memory_total_gib", "kv_cache_tokens")
    assert (7.93, 8.31, 20.05, 23.57, 67888) == tuple(found[name] for name in names)
    assert (16.57, 4096, 0.9) == (found["max_concurrency"], found["max_model_len"], found["gpu_memory_utilization"])


def test_free_memory_of_an_out_of_memory_text_is_no_fact() -> None:
    """It tells the GPU's size, but what was free then is not what was free at start-up."""
    found = facts(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
        "23.57 GiB of which 235.88 MiB is free."
    )
    assert 23.57 == found["gpu_memory_total_gib"]
    assert "gpu_memory_free_gib" not in found


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("INFO 04-30 08:22:50 [cuda.py:240] Using Flash Attention backend on V1 engine.", "FLASH_ATTN"),
        ("INFO 07-01 01:57:20 selector.py:116] Using Flashinfer backend.", "FLASHINFER"),
        ("INFO 07-01 01:57:20 selector.py:54] Using XFormers backend.", "XFORMERS"),
        ("INFO 03-08 08:25:30 [rocm.py:400] Using Triton Attention backend.", "TRITON_ATTN"),
        ("INFO 03-08 08:25:30 [rocm.py:400] Using Rocm/Aiter Attention backend on V1 engine.", "ROCM_AITER_FA"),
        ("INFO 03-08 08:25:30 [cuda.py:260] Using Cutlass MLA backend on V1 engine.", "CUTLASS_MLA"),
        ("INFO 11-02 10:00:00 [cuda.py:351] Using FLASHINFER attention backend out of potential ['X']", "FLASHINFER"),
        ("INFO 11-02 10:00:00 [cuda.py:448] Using AttentionBackendEnum.TRITON_ATTN backend.", "TRITON_ATTN"),
        ("INFO 11-02 10:00:00 [mxfp4.py:93] Using Triton backend", None),
        ("INFO 11-02 10:00:00 [selector.py:125] Using HND KV cache layout for FLASHINFER backend.", None),
        ("INFO 11-02 10:00:00 [unquantized.py:1] Using TRITON Unquantized MoE backend out of potential ['A']", None),
    ],
)
def test_attention_backends_bear_their_enum_names(line: str, name: str | None) -> None:
    """Whatever a release calls the backend; kernels for experts are no attention backends."""
    assert name == facts(line).get("attention_backend")


@pytest.mark.parametrize(
    ("lines", "platform"),
    [
        ([BANNER], "cuda"),
        ([BANNER, "INFO 03-08 08:25:30 [rocm.py:400] Using Triton Attention backend."], "rocm"),
        (["INFO 06-24 15:39:23 [__init__.py:212] Platform plugin neuron is activated", BANNER], "neuron"),
        (["INFO 02-23 09:06:29 [__init__.py:216] Automatically detected platform tpu."], "tpu"),
    ],
)
def test_the_platform_is_what_runs_and_not_what_torch_calls_it(lines: list[str], platform: str) -> None:
    """ROCm calls its devices cuda, and plug-ins call theirs cpu."""
    assert platform == facts(*lines)["platform"]


def test_arguments_survive_objects_and_a_cut_end() -> None:
    """Nested objects keep their text, and of a table cut short all whole items count."""
    found = facts(
        "(APIServer pid=7) INFO 10-25 13:08:43 [utils.py:233] non-default args: {'model_tag': 'acme/tiny-7b', "
        "'lora_modules': [LoRAModulePath(name='a', path='/x,y', base_model_name=None)], 'api_key': ['k'], "
        "'port': 8001, 'max_num_seqs': 8, 'gpu_memory_util"
    )
    assert {
        "model": "acme/tiny-7b",
        "lora_modules": "[LoRAModulePath(name='a', path='/x,y', base_model_name=None)]",
        "api_key": "<secret>",
        "port": 8001,
        "max_num_seqs": 8,
    } == found["arguments"]


def test_a_wrapped_table_is_read_whole() -> None:
    """A terminal of 80 columns cuts words in two; the next log line ends the table."""
    found = facts(
        "(APIServer pid=7) INFO 10-25 13:08:43 [utils.py:233] non-default args: {'model': 'acm",
        "e/tiny-7b', 'tensor_parallel_si",
        "ze': 2}",
        "(APIServer pid=7) INFO 10-25 13:08:44 [model.py:547] Resolved architecture: LlamaForCausalLM",
    )
    assert {"model": "acme/tiny-7b", "tensor_parallel_size": 2} == found["arguments"]
    assert "LlamaForCausalLM" == found["architecture"]


def test_a_namespace_tells_settings_and_what_differs_from_the_defaults_was_given() -> None:
    """Up to 0.8.5 vLLM printed all arguments, defaults included."""
    found = facts(
        "INFO 11-18 17:10:40 api_server.py:529] args: Namespace(subparser='serve', model_tag='acme/tiny-7b', "
        "host=None, port=8000, api_key=None, model='facebook/opt-125m', max_num_seqs=256, quantization=None, "
        "gpu_memory_utilization=0.9)"
    )
    assert ("acme/tiny-7b", 256, 0.9) == (found["model"], found["max_num_seqs"], found["gpu_memory_utilization"])
    assert {"model": "acme/tiny-7b"} == found["arguments"]
    assert "quantization" not in found


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["+ vllm serve acme/tiny-7b --max-model-len 4096 -tp 2 --enforce-eager 2>&1 | tee vllm.log"],
            {"model": "acme/tiny-7b", "max_model_len": 4096, "tensor_parallel_size": 2, "enforce_eager": True},
        ),
        (
            [
                "$ python3 -m vllm.entrypoints.openai.api_server \\",
                "    --model acme/tiny-7b \\",
                "    --port=8001",
                "x",
            ],
            {"model": "acme/tiny-7b", "port": 8001},
        ),
        (["[1]  209 killed  /opt/bin/vllm serve acme/tiny-7b --port 8800"], {"model": "acme/tiny-7b", "port": 8800}),
        (
            ['        args: ["--model", "acme/tiny-7b", "--max-num-seqs", "8"]'],
            {"model": "acme/tiny-7b", "max_num_seqs": 8},
        ),
        (
            ["+ docker run --gpus all vllm/vllm-openai:v0.8.5 --model acme/tiny-7b --dtype half"],
            {"model": "acme/tiny-7b", "dtype": "half"},
        ),
        (["    command: --model acme/tiny-7b --port 9000"], {"model": "acme/tiny-7b", "port": 9000}),
        (
            [
                "Traceback (most recent call last):",
                '  File "run.py", line 3, in <module>',
                '    llm = LLM(model="acme/tiny-7b", gpu_memory_utilization=0.4, seed=SEED)',
                "ValueError: no",
            ],
            {"model": "acme/tiny-7b", "gpu_memory_utilization": 0.4},
        ),
        (["vllm serve $MODEL --port 9000"], {"port": 9000}),
        (["we run vllm serve on two machines"], None),
    ],
)
def test_commands_in_all_their_forms_tell_what_was_given(lines: list[str], expected: dict[str, Any] | None) -> None:
    """Shell, wrapped, killed, Kubernetes, docker, compose, Python; a shell's variables and prose tell nothing."""
    assert expected == facts(*lines).get("arguments")


def test_a_command_after_a_finished_start_belongs_to_the_next_one() -> None:
    """A launcher echoes its command before the server prints its first line."""
    loaded = "(EngineCore pid=7) INFO 10-25 13:09:10 [x.py:1] Model loading took 7.93 GiB memory and 9.3 seconds"
    version = "(APIServer pid=7) INFO 10-25 13:08:43 [api_server.py:1] vLLM API server version 0.12.0"
    first = ["+ vllm serve acme/tiny-7b --port 8001", version, BANNER, loaded]
    second = ["+ vllm serve acme/tiny-7b --port 8002", version, BANNER, loaded]
    answer = shared().report("\n".join(first + second))
    assert 2 == answer.incidents
    assert 8002 == answer.facts["arguments"]["port"]


def test_the_cache_of_the_old_engine_is_told_by_its_own_refusal() -> None:
    """V0 names the tokens that fit only when they are too few."""
    found = facts(
        "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in "
        "KV cache (7344). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`."
    )
    assert (7344, 7344, 32768) == (found["kv_cache_tokens"], found["max_len_that_fits"], found["max_model_len"])


def test_gpus_are_named_and_counted() -> None:
    """By nvidia-smi's list, or by vLLM's own complaint about a mixture."""
    listed = facts("GPU 0: NVIDIA L4 (UUID: GPU-1)", "GPU 1: NVIDIA L4 (UUID: GPU-2)")
    mixed = facts(
        "WARNING 02-23 09:06:29 [cuda.py:682] Detected different devices in the system: NVIDIA H100 NVL, "
        "NVIDIA RTX A400. Please make sure to set `CUDA_DEVICE_ORDER=PCI_BUS_ID` to avoid unexpected behavior."
    )
    assert ("NVIDIA L4", 2) == (listed["gpu_name"], listed["gpu_count"])
    assert ("NVIDIA H100 NVL", 2) == (mixed["gpu_name"], mixed["gpu_count"])


@pytest.mark.parametrize(
    ("version", "engine"),
    [("0.5.4", "V0"), ("0.6.3.post1", "V0"), ("0.7.3", ""), ("0.11.0", "V1"), ("0.1.dev7+g1", ""), ("", "")],
)
def test_some_releases_have_one_engine_only(version: str, engine: str) -> None:
    """V0 alone up to 0.6.3, V1 alone from 0.11 on; a build from a checkout tells nothing."""
    assert engine == engine_of(version)


def test_a_better_source_wins_whatever_the_order() -> None:
    """A resolved value replaces a given one and is never replaced by it."""
    book = FactBook()
    book.set("max_model_len", 9000, 1)
    book.set("max_model_len", 4096, 3)
    book.set("max_model_len", 8000, 1)
    assert {"max_model_len": 4096} == book.facts()


@given(st.text(max_size=400))
@example("{'a': [1, (2, {'b': 3")
@example("{'a': " + "[" * 300)
@example("{" * 400)
def test_no_table_breaks_the_reader(text: str) -> None:
    """Whatever stands where a table is expected: a dictionary comes back, with names that can be arguments."""
    for found in (arguments.table(text), arguments.call(text)):
        assert all(len(name) <= 61 for name in found)
    assert all(name.isidentifier() for name, _ in arguments.pairs(text))


@given(st.text(alphabet="abc-=_ \"'\\$[]{}|&;>\n2T", max_size=300))
@example("vllm serve 'a --b")
@example("--" * 100)
def test_no_command_breaks_the_reader(text: str) -> None:
    """Whatever stands where a command is expected: pairs come back, no longer than the text and without secrets."""
    found = arguments.command_arguments(arguments.cut_command(text))
    assert len(found) <= len(text)
    assert all(len(str(value)) <= max(len(text), 4) and name not in arguments.SECRETS for name, value in found)
    assert all(isinstance(word, str) for word in arguments.listed_words(text))


@given(
    st.sampled_from(["max_model_len", "weights_gib", "enforce_eager", "vllm_version", "model"]), st.text(max_size=60)
)
@example("max_model_len", "9" * 60)
@example("weights_gib", "nan")
@example("weights_gib", "1e999")
def test_values_have_the_type_of_their_name(name: str, text: str) -> None:
    """A value that does not fit is none; what comes back has the fact's type and a size that JSON can carry."""
    types = {"max_model_len": int, "weights_gib": float, "enforce_eager": bool, "vllm_version": str, "model": str}
    value = convert(name, text)
    assert value is None or isinstance(value, types[name])
    assert not isinstance(value, float) or abs(value) < 1e12


@pytest.mark.parametrize(
    ("before", "front"),
    [
        ("$ HF_HOME=/data ", "HF_HOME=/data "),
        ("+ CUDA_VISIBLE_DEVICES=0,1 VLLM_LOGGING_LEVEL=DEBUG ", "CUDA_VISIBLE_DEVICES=0,1 VLLM_LOGGING_LEVEL=DEBUG "),
        (
            "root@gpu:~# A=b docker run --gpus all -e C=d vllm/vllm-openai:v0.11.0 ",
            "A=b docker run --gpus all -e C=d vllm/vllm-openai:v0.11.0 ",
        ),
        ("$ sudo podman run vllm/vllm-openai:v0.11.0 ", "sudo podman run vllm/vllm-openai:v0.11.0 "),
        ("INFO 11-02 09:15:01 [launcher.py:1] Command: ", ""),
        ("", ""),
        ("A=$(whoami) ", ""),
    ],
)
def test_what_stands_in_front_of_a_command(before: str, front: str) -> None:
    """Variables and the container engine belong to it; prompts and what a shell would run do not."""
    assert front == arguments.front_of(before)


def test_a_docker_command_in_the_log_is_corrected_as_it_was_run() -> None:
    """Options of docker run are kept: volumes, ports, devices."""
    log = (
        "$ docker run --gpus all -v /models:/models -p 9000:8000 vllm/vllm-openai:v0.11.0 --model /models/x --max-model-len 131072\n"
        "(EngineCore_DP0 pid=7) ERROR 11-02 09:15:05 [core.py:1] ValueError: To serve at least one request with the models's max seq len (131072), "
        "(16.0 GiB KV cache is needed, which is larger than the available KV cache memory (5.12 GiB). Based on the available memory, the estimated "
        "maximum model length is 41936.\n"
    )

    assert (
        "docker run --gpus all -v /models:/models -p 9000:8000 vllm/vllm-openai:v0.11.0 --model /models/x --max-model-len 41936"
        == shared().report(log).corrected_command
    )


@pytest.mark.parametrize(
    ("tries", "length", "tokens"),
    [
        ([("131072", "24000"), ("24000", "6600"), ("18000", "12800")], 18000, 12800),
        ([("18000", "12800"), ("24000", "6600")], 18000, 12800),
        ([("24000", "6600"), ("24000", "6592")], 24000, 6592),
        ([("24000", "6600"), ("", "6592")], 24000, 6592),
    ],
)
def test_of_several_tries_the_shortest_context_counts(tries: list[tuple[str, str]], length: int, tokens: int) -> None:
    """A smaller figure of a longer try says nothing of a shorter one; of ranks of one try the smallest counts."""
    book = FactBook()
    for tried, fits in tries:
        book.attempt(tried, fits)
    assert book.facts() == {"max_model_len": length, "max_len_that_fits": tokens, "kv_cache_tokens": tokens}
