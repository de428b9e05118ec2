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

_DEVICE = "gpu_fault"
_KERNELS = LazyPattern(
    r"VLLM_(?:ATTENTION_BACKEND|FLASH_ATTN_VERSION|V1_USE_PREFILL_DECODE_ATTENTION|USE_CUDNN_PREFILL|USE_TRTLLM_ATTENTION|"
    r"USE_TRTLLM_RAGGED_DEEPSEEK_PREFILL|USE_AITER_UNIFIED_ATTENTION|ROCM_USE_AITER(?:_MHA|_MLA|_UNIFIED_ATTENTION|_PAGED_ATTN)?)"
)
"""Variables by which other attention kernels are asked for than vLLM would take."""
_OTHER_KERNELS = LazyPattern(
    r"fused_moe/|vllm/lora/|layers/(?:quantization|mamba|sampler)|v1/sample/|custom_all_reduce|/models/\w*(?:vision|vit)"
)
_OFF = ("", "0", "false", "none", "auto")


def switched_on(hit: Hit | None, situation: Situation) -> list[Advice]:
    """Return the fix that takes back the first feature that was asked for and acts where the fault is; empty where none was.

    For faults of the device these are variables that choose other attention kernels than the usual ones.

    Args:
        hit: The one that decided; of other buckets than vLLM's own faults nothing is returned.
        situation: Of the server.
    """
    trace = situation.trace
    if hit is not None and hit.rule.bucket == _DEVICE:
        return _kernels_asked_for(situation)
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


def _kernels_asked_for(situation: Situation) -> list[Advice]:
    """Return the fix that unsets a variable which chose the attention kernels, where no frame shows that another kernel failed."""
    told = situation.facts.get("kernel_variable")
    given = {**({str(told): "1"} if told else {}), **situation.case.variables}
    names = [name for name, value in given.items() if _KERNELS.fullmatch(name) and value.lower() not in _OFF]
    if not names or (
        situation.trace is not None and any(_OTHER_KERNELS.search(frame.path) for frame in situation.trace.frames)
    ):
        return []
    why = "It was set, and chooses other attention kernels than vLLM takes by itself here: the cheapest test before another image or release."
    title, source = f"Take {names[0]} back, which was set", "the variables in the log"
    return [
        Advice(
            0,
            title,
            "env",
            f"unset {names[0]}",
            why,
            "What the other kernels gain.",
            "",
            names[0],
            restart=True,
            source=source,
        )
    ]
