"""What an error names is corrected: options, variables, values, JSON; what it does not settle is left alone."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from vllm_triage.classifier.complaints import correct
from vllm_triage.classifier.complaints.case import Case

RELEASE = "0.32.0"
DTYPES = "'auto', 'bfloat16', 'float', 'float16', 'float32', 'half'"


def change(text: str, release: str = RELEASE, code: str = "", **arguments: Any) -> str:
    """Return what the correction of an error says to write; "" where there is none."""
    found = correct(Case(text, {"arguments": arguments, "vllm_version": release}, release, code=code))
    assert [fix.exact for fix in found] in ([], [True])
    return found[0].change if found else ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"argument --dtype: invalid choice: 'flaot16' (choose from {DTYPES})", "--dtype float16"),
        (f"argument --dtype: invalid choice: 'bf16' (choose from {DTYPES})", "--dtype bfloat16"),
        (f"argument --dtype: invalid choice: 'BFLOAT16' (choose from {DTYPES})", "--dtype bfloat16"),
        (f"argument --dtype: invalid choice: 'int7' (choose from {DTYPES})", "leave out --dtype int7"),
        ("argument --max-model-len: invalid human_readable_int value: '32k tokens'", "leave out --max-model-len '32k tokens'"),
        ("argument --max-num-seqs: invalid int value: '1,024'", "--max-num-seqs 1024"),
        ("argument --max-num-seqs: invalid int value: '8.0'", "--max-num-seqs 8"),
        ("argument --gpu-memory-utilization: invalid float value: '90%'", "--gpu-memory-utilization 0.9"),
        ("argument --gpu-memory-utilization: invalid float value: '0.9%'", "--gpu-memory-utilization 0.9"),
        ("argument --gpu-memory-utilization: invalid float value: '0,85'", "--gpu-memory-utilization 0.85"),
        ("argument --cpu-offload-gb: invalid float value: '16G'", "--cpu-offload-gb 16"),
        ("argument --enforce-eager: ignored explicit argument 'true'", "--enforce-eager"),
        ("argument --enforce-eager: ignored explicit argument 'False'", "leave out --enforce-eager=False"),
        ("argument --max-num-seqs: expected one argument", "leave out --max-num-seqs"),
        ("argument --hf-overrides: invalid loads value: '{max_position_embeddings: 4096'",
         """--hf-overrides '{"max_position_embeddings": 4096}'"""),
        ("argument --hf-overrides: invalid loads value: \"{'rope_theta': 1e6, 'x': True}\"",
         """--hf-overrides '{"rope_theta": 1000000.0, "x": true}'"""),
        ("argument --hf-overrides: invalid loads value: '{\u201ca\u201d: 1}'", """--hf-overrides '{"a": 1}'"""),
        ("argument --limit-mm-per-prompt: Value image=2,video=1 cannot be converted to <function loads at 0x7f>.",
         """--limit-mm-per-prompt '{"image": 2, "video": 1}'"""),
        ("argument --limit-mm-per-prompt: Value image=x cannot be converted to <function loads at 0x7f>.",
         "leave out --limit-mm-per-prompt image=x"),
    ],
)  # fmt: skip
def test_what_argparse_refuses(text: str, expected: str) -> None:
    """Spelling, units, signs, quotes; where nothing is near, vLLM's own value is taken."""
    assert expected == change(f"vllm serve: error: {text}")


@pytest.mark.parametrize(
    ("options", "release", "expected"),
    [
        ("--max-modle-len 1024", RELEASE, "--max-model-len 1024   # instead of --max-modle-len 1024"),
        ("--max-modle-len 1024 --harbour-depth 3", RELEASE,
         "--max-model-len 1024   # instead of --max-modle-len 1024 --harbour-depth 3"),
        ("--use-v2-block-manager --num-scheduler-steps 8", RELEASE, "leave out --use-v2-block-manager --num-scheduler-steps 8"),
        ("--harbour-depth 3", RELEASE, "leave out --harbour-depth 3"),
        ("--harbour-depth $(reboot)", RELEASE, "leave out --harbour-depth '$(reboot)'"),
        ("--speculative-config x", "0.6.6", ""),
        ("word --harbour-depth 3", RELEASE, ""),
    ],
)  # fmt: skip
def test_several_unknown_options_are_corrected_together(options: str, release: str, expected: str) -> None:
    """Each alone would fail again on the others; one that came later, or a stray word, is other fixes' matter."""
    assert expected == change(f"vllm: error: unrecognized arguments: {options}", release)


def pydantic(owner: str, field: str, said: str, kind: str, given: str) -> str:
    """Return a validation error as pydantic prints it."""
    return f"1 validation error for {owner}\n{field}\n  {said} [type={kind}, input_value={given}, input_type=str]\n    For further information"


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        (pydantic("SchedulerConfig", "max_num_seqs", "Input should be greater than or equal to 1", "greater_than_equal", "0"),
         {"max_num_seqs": 0}, "leave out --max-num-seqs 0"),
        (pydantic("CacheConfig", "gpu_memory_utilization", "Input should be less than or equal to 1", "less_than_equal", "90.0"),
         {"gpu_memory_utilization": 90.0}, "--gpu-memory-utilization 0.9"),
        (pydantic("CacheConfig", "gpu_memory_utilization", "Input should be less than or equal to 1", "less_than_equal", "1.5"),
         {"gpu_memory_utilization": 1.5}, "--gpu-memory-utilization 0.92"),
        (pydantic("SchedulerConfig", "policy", "Input should be 'fcfs' or 'priority'", "literal_error", "'prioritty'"),
         {"scheduling_policy": "prioritty"}, ""),
        (pydantic("ModelConfig", "hf_overrides.dict[str,any]", "Input should be a valid dictionary", "dict_type", "'{a: 1'"),
         {"hf_overrides": "{a: 1"}, """--hf-overrides '{"a": 1}'"""),
        (pydantic("SpeculativeConfig", "method", "Input should be 'ngram', 'eagle' or 'eagle3'", "literal_error", "'eagel'"),
         {"speculative_config": {"method": "eagel", "model": "m"}}, """--speculative-config '{"method": "eagle", "model": "m"}'"""),
    ],
)  # fmt: skip
def test_what_pydantic_refuses(text: str, arguments: dict[str, Any], expected: str) -> None:
    """Bounds, lists and types of fields; a field that no option is called after is left alone."""
    assert expected == change(text, **arguments)


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("ValueError: Unknown attention backend: 'FLASH_ATN'. Valid options are: FLASH_ATTN, TRITON_ATTN",
         {"attention_backend": "FLASH_ATN"}, "--attention-backend FLASH_ATTN"),
        ("ValueError: Unknown quantization method: harborq. Must be one of ['awq', 'gptq'].", {"quantization": "harborq"},
         "leave out --quantization harborq"),
        ("ValueError: Unknown quantization method: harborq. Must be one of ['awq', 'gptq'].", {"dtype": "half"}, ""),
        ("ValueError: Load format `safetensor` is not supported", {"load_format": "safetensor"},
         "leave out --load-format safetensor"),
        ("KeyError: \"Reasoning parser 'qwn3' not found. Available parsers: deepseek_r1, qwen3\"", {"reasoning_parser": "qwn3"},
         "--reasoning-parser qwen3"),
        ("KeyError: 'invalid tool call parser: harbor (chose from { hermes,mistral })'",
         {"tool_call_parser": "harbor", "enable_auto_tool_choice": True},
         "leave out --tool-call-parser harbor --enable-auto-tool-choice"),
        ("ValueError: GPU memory utilization must be less than 1.0. Got 1.5.", {"gpu_memory_utilization": 1.5},
         "--gpu-memory-utilization 0.92"),
        ("TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser", {"enable_auto_tool_choice": True},
         "leave out --enable-auto-tool-choice"),
        ("ValueError: --data-parallel-start-rank requires --headless", {"data_parallel_start_rank": 1}, "--headless"),
        ("AssertionError: 3-read transfer requires DS layout. Set VLLM_SSM_CONV_STATE_LAYOUT=DS", {}, "VLLM_SSM_CONV_STATE_LAYOUT=DS"),
        ("ValueError: too long. Or set VLLM_ALLOW_LONG_MAX_MODEL_LEN=1", {}, ""),
        ("TypeError: Error: --enable-auto-tool-choice and --enable-lora cannot be enabled at the same time",
         {"enable_lora": True}, "leave out --enable-lora"),
        ("OverflowError: bind(): port must be 0-65535.", {"port": 99999}, "--port 8000"),
        ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", {}, ""),
        ("ValueError: Total number of attention heads (3) must be divisible by tensor parallel size (2).",
         {"tensor_parallel_size": 2}, ""),
    ],
)  # fmt: skip
def test_what_vllms_own_checks_refuse(text: str, arguments: dict[str, Any], expected: str) -> None:
    """The option by its name or by the value that it was given; what was not given is not changed."""
    assert expected == change(text, **arguments)


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("ValueError: invalid literal for int() with base 10: '8 GB'", "lambda: int(os.getenv('VLLM_CPU_KVCACHE_SPACE', '0'))",
         "VLLM_CPU_KVCACHE_SPACE=8"),
        ("ValueError: invalid literal for int() with base 10: '60s'", "lambda: int(os.getenv('VLLM_RPC_TIMEOUT', '10000'))",
         "unset VLLM_RPC_TIMEOUT"),
        ("ValueError: invalid literal for int() with base 10: '10,000'", "lambda: int(os.getenv('VLLM_RPC_TIMEOUT', '10000'))",
         "VLLM_RPC_TIMEOUT=10000"),
        ("ValueError: Invalid value 'FLASH_ATTEN' for VLLM_ATTENTION_BACKEND. Valid options: ['FLASH_ATTN', 'XFORMERS'].", "",
         "VLLM_ATTENTION_BACKEND=FLASH_ATTN"),
    ],
)  # fmt: skip
def test_variables_are_read_from_the_line_of_code_that_asks_for_them(text: str, code: str, expected: str) -> None:
    """A number is mended, anything else unset: vLLM's default holds then."""
    assert expected == change(text, code=code)


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve: error: argument --trust-remote-code: ignored explicit argument 'true'",
        "vllm: error: unrecognized arguments: $(reboot)",
        "",
    ],
)
def test_nothing_that_lowers_security_is_switched_on(text: str) -> None:
    """Nor is anything done about words that name no option."""
    assert "" == change(text)


def with_command(text: str, command: str, code: str = "", **arguments: Any) -> str:
    """Return the correction of an error whose start command is known."""
    found = correct(Case(text, {"arguments": arguments, "command": command}, RELEASE, code=code))
    return found[0].change if found else ""


@pytest.mark.parametrize(
    ("text", "command", "expected"),
    [
        ("ValueError: invalid literal for int() with base 10: '1GB'",
         "VLLM_CPU_KVCACHE_SPACE=1GB vllm serve a/b", "VLLM_CPU_KVCACHE_SPACE=1"),
        ("ValueError: could not convert string to float: '10s'",
         "VLLM_LOG_STATS_INTERVAL=10s vllm serve a/b", "VLLM_LOG_STATS_INTERVAL=10"),
        ("ValueError: invalid literal for int() with base 10: '10m'",
         "VLLM_ENGINE_READY_TIMEOUT_S=10m vllm serve a/b", "VLLM_ENGINE_READY_TIMEOUT_S=600"),
        ("ValueError: invalid literal for int() with base 10: 'x7'", "VLLM_A=x7 VLLM_B=x7 vllm serve a/b", ""),
        ("ValueError: Unknown level: 'LOUD'", "VLLM_LOGGING_LEVEL=loud vllm serve a/b", "unset VLLM_LOGGING_LEVEL"),
        ("ValueError: VLLM_PORT 'tcp://10.0.0.7:80' appears to be a URI.", "VLLM_PORT=tcp://10.0.0.7:80 vllm serve a/b",
         "unset VLLM_PORT"),
        ("ValueError: VLLM_PORT 'tcp://10.0.0.7:80' appears to be a URI.", "vllm serve a/b", ""),
    ],
)  # fmt: skip
def test_a_variable_is_known_by_the_value_that_the_command_gives_it(text: str, command: str, expected: str) -> None:
    """Two variables of the same value settle nothing; what Kubernetes sets is not in the command."""
    assert expected == with_command(text, command)


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("FileNotFoundError: No such file or directory: '/etc/a.json'", {"log_config_file": "/etc/a.json"},
         "leave out --log-config-file /etc/a.json"),
        ("FileNotFoundError: No such file or directory: '/etc/a.jsonl'", {"log_config_file": "/etc/a.json"}, ""),
        ("FileNotFoundError: No such file or directory: '/a/key'", {"ssl_keyfile": "/a/key"}, ""),
        ("OSError: /m/x does not exist", {"model": "/m/x"}, ""),
        ("OSError: acme/words does not exist", {"tokenizer": "acme/words"}, ""),
    ],
)  # fmt: skip
def test_a_file_that_is_not_there_is_left_out_where_vllm_has_something_itself(
    text: str, arguments: dict[str, str], expected: str
) -> None:
    """The model is not left out, nor what keeps the server closed."""
    assert expected == change(text, **arguments)


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("max_cpu_loras (1) must be >= max_loras (4).", {"max_cpu_loras": 1, "max_loras": 4}, "--max-cpu-loras 4"),
        ("max_cpu_loras (1) must be >= max_loras (4).", {"max_loras": 4}, "--max-loras 1"),
        ("tp_size=1 must be divisible by dcp_size=2.", {"decode_context_parallel_size": 2}, "--decode-context-parallel-size 1"),
        ("tp_size=6 must be divisible by dcp_size=4.", {"decode_context_parallel_size": 4}, "--decode-context-parallel-size 2"),
        ("tp_size=1 must be divisible by dcp_size=2.", {}, ""),
        ("Sleep mode is not supported on current platform.", {"enable_sleep_mode": True}, "leave out --enable-sleep-mode"),
        ("Sleep mode is not supported on current platform.", {"enable_sleep_mode": False}, ""),
        ("module 'harbor.sched' has no attribute 'Sheduler'", {"scheduler_cls": "harbor.sched.Sheduler"},
         "leave out --scheduler-cls harbor.sched.Sheduler"),
        ("KeyError: 'PIECEWIZE'", {"compilation_config": {"cudagraph_mode": "PIECEWIZE"}},
         "leave out --compilation-config.cudagraph_mode PIECEWIZE"),
        ("Model architectures ['HarborForCausalLM'] are not supported for now.",
         {"hf_overrides": {"architectures": ["HarborForCausalLM"]}}, "leave out --hf-overrides.architectures HarborForCausalLM"),
        ("""vllm serve: error: Invalid JSON format for --lora-modules: {"name": "a", "path": "/b\"""", {},
         """--lora-modules '{"name": "a", "path": "/b"}'"""),
    ],
)  # fmt: skip
def test_what_was_given_tells_which_setting_a_message_means(
    text: str, arguments: dict[str, Any], expected: str
) -> None:
    """Two settings that do not go together, features, classes and values within JSON."""
    assert expected == change(text, **arguments)


@pytest.mark.parametrize(
    ("text", "command", "expected"),
    [
        ("-max-model-len 1024", "", "--max-model-len 1024   # instead of -max-model-len 1024"),
        ("--max-model-len 1024", "vllm serve a/b \u2013max-model-len 1024",
         "--max-model-len 1024   # instead of the words \u2013max-model-len 1024"),
        ("--max-model-len 1024", "vllm serve a/b", ""),
        ("2048", "vllm serve a/b --max-model-len 1024 2048", "leave out the words 2048"),
        ("true", "", "leave out the words true"),
        ("False", "vllm serve a/b --enable-prefix-caching False",
         "--no-enable-prefix-caching   # instead of the words False"),
        ("true", "vllm serve a/b --disable-log-stats true", "leave out the words true"),
        ("2048", "vllm serve a/b", ""),
        ("a/c", "vllm serve a/b a/c", ""),
    ],
)  # fmt: skip
def test_dashes_and_stray_words(text: str, command: str, expected: str) -> None:
    """Long options with one hyphen, or with a dash that a program for texts made; words that no option takes."""
    assert expected == with_command(f"vllm: error: unrecognized arguments: {text}", command)


def test_an_option_in_a_file_is_not_corrected_in_the_command() -> None:
    """What ``--config`` names holds it."""
    text = "vllm: error: unrecognized arguments: --max-modle-len 1024"
    assert with_command(text, "vllm serve a/b --config x.yaml", config="x.yaml") == ""
    assert with_command(text, "vllm serve a/b --max-modle-len 1024 --config x.yaml", config="x.yaml")


def test_what_writes_corrections_is_imported_where_one_is_due():
    """And the function stays what it was: a module of its name would take its place."""
    code = (
        "import sys\n"
        "from vllm_triage.classifier import complaints as corrector\n"
        "from vllm_triage.classifier.complaints.case import Case\n"
        "case = lambda text: Case(text, {}, '0.10.2')\n"
        "assert corrector.correct(case('RuntimeError: nothing is named')) == []\n"
        "writer = 'vllm_triage.classifier.complaints.correction'\n"
        "assert writer not in sys.modules\n"
        "for _ in range(2):\n"
        "    assert corrector.correct(case('vllm: error: unrecognized arguments: --max-num-seq 4'))\n"
        "assert writer in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"method": "ngram"}, """--speculative-config '{"method": "ngram", "num_speculative_tokens": 3}'   # instead of --speculative-config '{"method": "ngram"}'"""),
        ({"num_speculative_token": 2}, """--speculative-config '{"num_speculative_tokens": 2}'   # instead of --speculative-config '{"num_speculative_token": 2}'"""),
        ("{}", ""),
        (None, ""),
    ],
)  # fmt: skip
def test_a_number_that_the_message_misses_is_given(given: object, expected: str) -> None:
    """vLLM 0.33.0, config/speculative.py; nothing to add it to where the log does not show the value."""
    text = "num_speculative_tokens must be provided with speculative model unless the draft model config contains an n_predict parameter."
    arguments: dict[str, Any] = {} if given is None else {"speculative_config": given}
    assert expected == change(text, **arguments)


@pytest.mark.parametrize("typed", ["\u2013-max-model-len", "-\u2013max-model-len", "\u2014max-model-len"])
def test_a_dash_that_stands_in_the_message_is_seen(typed: str) -> None:
    """Beside a hyphen it is not mended when the log is read."""
    assert f"--max-model-len 1024   # instead of the words {typed} 1024" == change(
        f"vllm: error: unrecognized arguments: {typed} 1024"
    )


@pytest.mark.parametrize("end", ["", " ", "   ", " \t", "\n"])
def test_a_line_that_was_cut_before_the_words_corrects_nothing(end: str) -> None:
    """A stray argument of white space alone is printed as nothing."""
    assert "" == change(f"vllm: error: unrecognized arguments:{end}")
