"""What the log shows switched on, or in the way, where the fault is: features, kernels that a variable chose, another process."""

from __future__ import annotations

from ....corpus.actions import DropVariable, Run, SetVariable
from ....corpus.records import replace
from ...fix import AHEAD, SECOND, Fix, leave_out
from ...lines.mistakes import MISTAKES
from ...patterns.lazy import LazyPattern
from ..guards import other_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..context import Context

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


_OF_KERNELS = ("attention_backend", "compile_failure", "gpu_fault")
"""Buckets of faults that go away with the kernels that a switch chose."""
_LIBRARIES = (
    ("flashinfer/", "flashinfer"),
    ("aiter/", "aiter"),
    ("flash_attn/", "flashattention"),
    ("deep_gemm/", "deepgemm"),
)
"""Folders of a stack, and how a line of the log names the library."""
_DEFAULT = LazyPattern(r"\b(?P<name>VLLM_[A-Z0-9_]+)(?: (?:is )?enabled)?[ ,(]{1,3}default-on; set =0")
_SET = LazyPattern(r"\b(?P<name>VLLM_[A-Z0-9_]+) is set: ")
_BUCKETS = frozenset({"runtime_oom", "cuda_graph_crash", "model_load_oom"})
_LEAST_GIB = 3.0
_SHARE = 0.1
"""What another process must hold, in GiB and of the GPU, to be the one that is in the way."""


def propose(context: Context) -> Iterable[Fix]:
    """Yield what goes before the cause's own fixes: another process in the way, and what was asked for and acts where the fault is."""
    yield from (replace(fix, tier=AHEAD) for fix in (*_other_process(context), *_switched_on(context)))
    yield from _choices(context)


def _switched_on(context: Context) -> list[Fix]:
    """Return the fix that takes back the first feature that was asked for and acts where the fault is; empty where none was.

    For faults of the device these are variables that choose other attention kernels than the usual ones.
    """
    trace = context.trace
    if context.bucket == _DEVICE:
        return _kernels_asked_for(context)
    if context.bucket != "engine_bug" or trace is None or trace.kind not in _FAULTS:
        return []
    if not any(_OF_STEPS.search(frame.path) for frame in trace.frames[-2:]):
        return []
    given = context.arguments
    if _LAYS_OUT_CACHE.search(trace.frames[-1].function) and str(given.get(_CACHE_FORMAT[0], "auto")) != "auto":
        return [_without_format([name for name in _CACHE_FORMAT if given.get(name)])]
    for name, option, what, why in _FEATURES:
        if str(given.get(name)) not in ("None", "False", "1"):
            title, source = f"Start without {what}, which was asked for", "the arguments in the log"
            cost = "What the feature gains."
            return [Fix(title, "flag", leave_out([option]), why, cost, "", option, restart=True, source=source)]
    return []


def _kernels_asked_for(context: Context) -> list[Fix]:
    """Return the fix that unsets a variable which chose the attention kernels, where no frame shows that another kernel failed."""
    told = context.facts.get("kernel_variable")
    given = {**({str(told): "1"} if told else {}), **context.case.variables}
    names = [name for name, value in given.items() if _KERNELS.fullmatch(name) and value.lower() not in _OFF]
    if not names or (
        context.trace is not None and any(_OTHER_KERNELS.search(frame.path) for frame in context.trace.frames)
    ):
        return []
    why = "It was set, and chooses other attention kernels than vLLM takes by itself here: the cheapest test before another image or release."
    title, source = f"Take {names[0]} back, which was set", "the variables in the log"
    return [
        Fix(
            title, "env", (DropVariable(names[0]),), why, "What the other kernels gain.", "", names[0], restart=True, source=source,
        )
    ]  # fmt: skip


def _without_format(names: list[str]) -> Fix:
    """Return the fix that takes the KV cache's format back."""
    options = leave_out(f"--{name.replace('_', '-')}" for name in names)
    return Fix(
        "Leave the KV cache in the model's dtype", "flag", options,
        "The error was raised where the cache gets its shape, and a format of its own was asked for: packed elements and scales change it.",
        "Half of the tokens fit, or fewer.", "", "--kv-cache-dtype", restart=True, source="the arguments in the log",
    )  # fmt: skip


def _other_process(context: Context) -> Iterable[Fix]:
    """Yield the look at another process, and its end, where the failed allocation names one that holds much of the GPU.

    Where a trainer makes the engine both are meant to share the GPU.
    """
    if context.bucket not in _BUCKETS:
        return
    pid, held, total = other_process(context)
    if held < max(_LEAST_GIB, _SHARE * total) or context.framework:
        return
    command = Run(
        f"nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv; ps -o pid,user,etime,args -p {pid}"
    )
    why = f"By the message process {pid} holds {held:g} of the GPU's {total:g} GiB: what this server lacks is there."
    yield Fix(
        "Stop the other process, or wait until it is gone", "command", (command,), why, "What that process does is lost.",
        "nvidia-smi shows the memory as free.", whole=True, remark="   # end it if nobody needs it", tags=("nvidia",),
    )  # fmt: skip


def _choices(context: Context) -> Iterable[Fix]:
    """Yield the fix that takes back the variables which, as the log says, made vLLM take the library that failed.

    It leads where a default chose, and comes second where the user set the variable for the sake of something else.
    """
    trace = context.trace
    if context.bucket not in _OF_KERNELS or trace is None:
        return
    library = next((name for folder, name in _LIBRARIES if folder in context.stack), "")
    lines = [line.text for line in context.sites if library and library in line.text.lower() and "VLLM_" in line.text]
    on = list(dict.fromkeys(found["name"] for text in lines for found in _DEFAULT.finditer(text)))
    given = list(dict.fromkeys(found["name"] for text in lines for found in _SET.finditer(text)))
    names = [*on, *given]
    if not names:
        return
    yield Fix(
        f"Take back what the log says chose these kernels: {', '.join(names)}", "env",
        (*(SetVariable(name, "0") for name in on), *map(DropVariable, given)),
        "The server's own line names the variable by which it took the library that then failed.", "What these kernels gain.", "",
        names[0], "0" if on else "", restart=True, source="the log's own line", whole=True, tags=("settled",), tier=AHEAD if on else SECOND,
    )  # fmt: skip
