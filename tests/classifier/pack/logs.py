"""Logs made for the tests of the pack."""

from __future__ import annotations

FAILURE = "ValueError: Free memory on device cuda:0 (16.01/93.0 GiB) on startup is less than desired GPU memory utilization (0.9, 83.7 GiB)."
STACK = (
    "Traceback (most recent call last):",
    '  File "/opt/vllm/v1/engine/core.py", line 857, in run_engine_core',
    "    engine_core = EngineCoreProc(*args, **kwargs)",
    '  File "/opt/vllm/v1/worker/gpu_worker.py", line 289, in init_device',
    "    raise ValueError(",
    FAILURE,
)


def prefixed(process: str, pid: int, text: str, level: str = "ERROR") -> str:
    """Return a line as vLLM logs it."""
    return f"({process} pid={pid}) {level} 11-02 09:15:01 [core.py:866] {text}"


def failing(before: int = 40, after: int = 40, ranks: int = 1) -> list[str]:
    """Return the lines of a start that fails in its engine, between lines that tell nothing."""
    lines = [
        "(APIServer pid=1) INFO 11-02 09:14:01 [api_server.py:1351] vLLM API server version 0.13.0",
        "(APIServer pid=1) INFO 11-02 09:14:01 [utils.py:253] non-default args: {'model': 'acme/harbor-8b', 'max_model_len': 4096}",
    ]
    lines += [
        prefixed("EngineCore_DP0", 2, f"step {number} of the plan {'abcdefgh'[number % 8]}{number}", "INFO")
        for number in range(before)
    ]
    for text in STACK:
        lines += [prefixed(f"Worker_TP{rank}", 10 + rank, text) for rank in range(ranks)]
    lines += [f"(APIServer pid=1) waiting {number} for nothing" for number in range(after)]
    return [*lines, "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above."]
