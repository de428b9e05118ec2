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
_LAYS_OUT_CACHE = LazyPattern(
    r"^_?(?:reshape|allocate|initialize|init|get|make|create|bind)_kv_caches?(?!_connector|_transfer)\w*$"
)
"""Functions that cut the KV cache out of the memory for it, and give it its shape."""
_CACHE_FORMAT = ("kv_cache_dtype", "kv_cache_dtype_skip_layers")
"""What its elements are, and which layers keep the model's dtype."""

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
    if _LAYS_OUT_CACHE.search(trace.frames[-1].function) and str(given.get(_CACHE_FORMAT[0], "auto")) != "auto":
        return [_without_format([name for name in _CACHE_FORMAT if given.get(name)])]
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


def _without_format(names: list[str]) -> Advice:
    """Return the fix that takes the KV cache's format back."""
    options = " ".join(f"--{name.replace('_', '-')}" for name in names)
    return Advice(
        0, "Leave the KV cache in the model's dtype", "flag", f"leave out {options}",
        "The error was raised where the cache gets its shape, and a format of its own was asked for: packed elements and scales change it.",
        "Half of the tokens fit, or fewer.", "", "--kv-cache-dtype", restart=True, source="the arguments in the log",
    )  # fmt: skip
