"""Which messages of a release some rule answers, by their words alone and with the place that raises them."""

from __future__ import annotations

from typing import Any

from ...classifier.api import Triage
from .templates import Template

# Modules whose errors end or prevent a start, by how often users meet them (weights are rough orders of magnitude).
START_UP = {
    "vllm/engine/arg_utils": 10, "vllm/config": 9, "vllm/platforms": 8, "vllm/v1/core/kv_cache": 8, "vllm/v1/worker/utils": 7, "vllm/v1/worker/gpu_worker": 8,
    "vllm/v1/engine/core": 8, "vllm/v1/engine/utils": 8, "vllm/v1/executor": 8, "vllm/v1/utils": 6, "vllm/transformers_utils": 7, "vllm/model_executor/model_loader": 8,
    "vllm/model_executor/models/registry": 8, "vllm/model_executor/layers/quantization/__init__": 6, "vllm/entrypoints/cli": 5, "vllm/entrypoints/launchers": 5,
    "vllm/entrypoints/openai/api_server": 6, "vllm/entrypoints/openai/cli_args": 6, "vllm/utils": 3, "vllm/envs": 7, "vllm/distributed/parallel_state": 6,
    "vllm/distributed/utils": 4, "vllm/v1/attention/selector": 6, "vllm/tokenizers": 5, "vllm/lora/peft_helper": 5, "vllm/plugins": 3, "vllm/usage": 1,
}  # fmt: skip


def answer(engine: Triage, log: str) -> Any:
    """Return the best cause candidate for a piece of log, or None."""
    from ...classifier.input.read import read_blocks
    from ...classifier.verdict.case import Case
    from ...classifier.verdict.policy import ACCEPT
    from ...classifier.verdict.weigh import weigh

    analysis = engine.start()
    for block in read_blocks(log):
        analysis.feed(block)
    candidates = weigh(Case(analysis.finish()[-1]))
    return (
        candidates[0]
        if candidates and candidates[0].score >= ACCEPT and candidates[0].bucket not in ("unknown", "no_failure")
        else None
    )


def message_line(template: Template) -> str:
    """Return the last line of a traceback, or the logged line, as a log has it."""
    if template.kind == "log":
        return f"ERROR 11-02 10:00:00 [{template.path.rpartition('/')[2]}:{template.line}] {template.text}\n"
    return f"{template.kind}: {template.text}\n"


def traceback(template: Template) -> str:
    """Return the shortest traceback that shows where the message is raised."""
    return (
        "Traceback (most recent call last):\n"
        f'  File "/opt/venv/lib/python3.12/site-packages/{template.path}", line {template.line}, in {template.function}\n'
        f"    raise {template.kind}(\n{template.kind}: {template.text}\n"
    )
