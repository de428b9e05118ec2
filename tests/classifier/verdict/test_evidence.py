"""Which lines an answer shows beside the one that decided."""

from __future__ import annotations

from tests.classifier.verdict.logs import DEAD, READY, START, TRIAGE

INNER = "TPU initialization failed: open(/dev/vfio/0): Device or resource busy"
QUOTED = f"""(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:780]   File "/opt/lib/python3.12/site-packages/jax/_src/xla_bridge.py", line 830, in _init_backend
(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:780]     backend = registration.factory()
(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:780] jax.errors.JaxRuntimeError: UNKNOWN: {INNER}
(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:780]
(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:780] RuntimeError: Unable to initialize backend 'tpu': UNKNOWN: {INNER} (set JAX_PLATFORMS='' to automatically choose an available backend)
"""
CMAKE = """-- The CXX compiler identification is GNU 12.3.0
CMake Error at cmake/cpu_extension.cmake:155 (message):
  vLLM CPU backend requires AVX512, AVX2, Power9+ ISA, S390X ISA, ARMv8 or
  RISC-V support.
"""
RAY = """(raylet, ip=10.0.0.3) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker.
ERROR 11-02 10:05:01 [engine.py:400] ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.
"""
HUNG = """INFO 11-02 10:00:00 [api_server.py:1090] vLLM API server version 0.11.0
(VllmWorker TP0 pid=9) INFO 11-02 10:00:29 [pynccl.py:103] vLLM is using nccl==2.27.3
box:411:411 [0] NCCL INFO ncclCommInitRank comm 0x1a0f rank 0 nranks 2 cudaDev 0 - Init START
nothing happens after this
"""


def shown(log: str) -> list[str]:
    """Return the evidence of the answer to a log."""
    return [item.text for item in TRIAGE.report(log).evidence]


def test_an_exception_that_the_deciding_line_quotes_is_shown_too() -> None:
    assert any(text.endswith(f"JaxRuntimeError: UNKNOWN: {INNER}") for text in shown(QUOTED))


def test_the_head_of_an_error_that_goes_on_in_the_next_line_is_shown_too() -> None:
    assert "CMake Error at cmake/cpu_extension.cmake:155 (message):" in shown(CMAKE)


def test_what_pydantic_counts_is_shown_with_its_reason() -> None:
    log = """pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig
kv_cache_memory_bytes
  Value error, invalid literal for int() with base 10: '4GiB' [type=value_error, input_value='4GiB', input_type=str]
"""
    assert any("invalid literal for int()" in text for text in shown(log))


def test_of_a_death_all_that_say_so_are_shown() -> None:
    told = shown(RAY)
    assert any("A worker died or was killed" in text for text in told)
    assert any("ActorDiedError" in text for text in told)


def test_what_is_written_below_a_log_that_stops_is_no_line_of_it() -> None:
    (last,) = shown(HUNG)
    assert "Init START" in last


def test_an_exception_whose_first_line_breaks_off_is_shown_with_what_follows() -> None:
    log = """ValueError: To serve at least one request with the model's max seq len
(262144), (24.00 GiB KV cache is needed, which is larger than the
available KV cache memory (14.87 GiB). Based on the available memory, the
estimated maximum model length is 162416.
"""
    assert log.splitlines()[:3] == shown(log)


def test_words_about_nccl_below_a_log_that_stops_are_no_line_of_it() -> None:
    (last,) = shown(HUNG + "NCCL_P2P_DISABLE=1 helps a little, both sit in all_reduce\n")
    assert "Init START" in last


def test_what_a_clients_user_saw_in_the_end_is_shown_too() -> None:
    log = """httpx.ConnectError: All connection attempts failed

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/venv/lib/python3.12/site-packages/openai/_base_client.py", line 1013, in request
    raise APIConnectionError(request=request) from err
openai.APIConnectionError: Connection error.
"""
    assert {
        "httpx.ConnectError: All connection attempts failed",
        "openai.APIConnectionError: Connection error.",
    } <= set(shown(log))


def test_an_answer_explains_in_the_logs_own_values_or_not_at_all() -> None:
    """What holds for every log of its cause is for ``vllm-triage explain``."""
    told = TRIAGE.report(
        START
        + "ERROR 11-02 10:05:01 [core.py:7] ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (5.12 GiB)). Based on the available memory, the estimated maximum model length is 41936.\n"
    )
    plain = TRIAGE.report(START + READY + DEAD)

    assert "16" in told.summary
    assert "" == plain.summary
    assert plain.title
