"""Features that the log shows switched on, for faults of vLLM's own code in what they change: to be taken back first."""

from __future__ import annotations

from ..diagnosis import Advice
from ..lines.mistakes import MISTAKES
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..matching.types import Hit
    from .situation import Situation

_OF_STEPS = LazyPattern(
    r"vllm/v1/(?:core/sched|worker/(?:gpu|cpu|tpu|xpu)?_?(?:model_runner|input_batch|worker|block_table)|worker/gpu/|sample/|structured_output/|spec_decode/)"
)
"""Where the steps of requests are planned, prepared and sampled: what these features change."""
_FAULTS = MISTAKES | {"RuntimeError", "ValueError"}
_FEATURES = (
    ("async_scheduling", "--async-scheduling", "asynchronous scheduling", "The next step is planned before the last one's result is known."),
    ("enable_dbo", "--enable-dbo", "dual batch overlap", "Two half batches run at once."),
    ("decode_context_parallel_size", "--decode-context-parallel-size", "decode context parallelism", "The KV cache of a request lies on several GPUs."),
    ("speculative_config", "--speculative-config", "speculative decoding", "Steps then hold tokens that may be taken back."),
    ("kv_transfer_config", "--kv-transfer-config", "the KV connector", "Blocks come and go by another path."),
    ("enable_eplb", "--enable-eplb", "load balancing of experts", "Experts are moved between steps."),
)  # fmt: skip
"""Argument, option, name, and what it changes; the rarest first."""


def switched_on(hit: Hit | None, situation: Situation) -> list[Advice]:
    """Return the fix that takes back the first feature that was asked for and acts where the fault is; empty where none was.

    Args:
        hit: The one that decided; of other buckets than vLLM's own faults nothing is returned.
        situation: Of the server.
    """
    trace = situation.trace
    if hit is None or hit.rule.bucket != "engine_bug" or trace is None or trace.kind not in _FAULTS:
        return []
    if not any(_OF_STEPS.search(frame.path) for frame in trace.frames[-2:]):
        return []
    given = situation.case.arguments
    for name, option, what, why in _FEATURES:
        if str(given.get(name)) not in ("None", "False", "1"):
            title, source = f"Start without {what}, which was asked for", "the arguments in the log"
            change, cost = f"leave out {option}", "What the feature gains."
            return [Advice(0, title, "flag", change, why, cost, "", option, restart=True, source=source)]
    return []
