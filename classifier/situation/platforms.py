"""What the words of a log and the names of its processes tell of a start: platform, engine, ranks.

Excerpts seldom hold the lines from which facts are read. Where an error comes from a platform's plug-in, or from files that
one engine alone has, it tells all the same.
"""

from __future__ import annotations

from ..facts.types import Facts
from ..patterns.lazy import LazyPattern

_PLATFORMS = (
    ("npu", ("vllm_ascend", "torch_npu", "NPU ", "NPUWorker", "ASCEND_", "cann", "ACLgraph", "aclrt"), LazyPattern(r"\bvllm_ascend\b|\baclrt[A-Z]|\btorch_npu\b|\bNPU (?:out of memory|error)|\bNPUWorker\b|\bASCEND_|\bcann\b|\bACLgraph\b")),
    ("neuron", ("neuron", "NEFF"), LazyPattern(r"\btorch_neuronx?\b|\bneuronx_distributed|\bvllm_neuron\b|\bmodels[./]neuron\b|\bneuron_(?:worker|model_runner)\b|\bNEFF\b")),
    ("hpu", ("gaudi", "hpu", "habana_frameworks", "synStatus"), LazyPattern(r"\bsynStatus\b|\bvllm_gaudi\b|\+gaudi|\bvllm_hpu|\bhabana_frameworks\b|\bhpu_(?:worker|model_runner)\b")),
    ("tpu", ("tpu_", "libtpu"), LazyPattern(r"\btpu_inference\b|\btpu_(?:worker|model_runner)\b|\blibtpu\b")),
    ("xpu", ("xpu", "XPU out of memory", "intel_extension_for_pytorch", "level_zero"), LazyPattern(r"\d[.+]xpu\b|\bxpu_(?:worker|model_runner)\b|\bXPU out of memory|\bintel_extension_for_pytorch\b|\blevel_zero\b")),
    ("cpu", ("cpu_", "+cpu"), LazyPattern(r"\d\+cpu\b|\bcpu_(?:worker|executor|fused_moe|model_runner|communicator|attn|attn_reshape_and_cache)\b")),
    ("rocm", ("ROCm", "rocm", "hip", "HIP ", "aiter/", "libamdhip", "MI2", "MI3"), LazyPattern(
        r"\d\+rocm\d|\bROCm(?:FlashAttention|AiterMLA)?\b|\brocm_(?:aiter|flash_attn|attn|unquantized_gemm)\b|\bhip(?:Error|Module)\w*|\bHIP (?:error|out of memory)|"
        r"(?m:^aiter/)|/opt/rocm|\blibamdhip|\bMI(?:2[15]0|300|325|355)X?\b"
    )),
)  # fmt: skip
"""Words that only one platform's servers print, each with what they cannot be without: that is looked for first, which takes a
hundredth of the time. What CUDA's print, others' logs hold as well."""
_ASKED = LazyPattern(
    r"[^\n]*(?:platform is (?:not )?available|when checking \w+ platform|[Cc]hecking (?:if|\w+) [^\n]*platform)[^\n]*"
)
"""What vLLM logs at DEBUG while it asks every platform that it knows: names of all, and the server's is none of them."""
_MASKED_BY_CUDA = frozenset({"", "cuda"})
"""What a log's facts may say of the platform and be wrong about: PyTorch calls AMD's GPUs cuda, too."""
_V1 = ("vllm/v1/", "EngineCore", "VLLM_USE_V1=1")
_V0 = (
    "vllm/worker/", "vllm/executor/", "vllm/engine/llm_engine", "vllm/engine/async_llm_engine", "vllm/engine/ray_utils",
    "vllm/engine/multiprocessing/", "vllm/core/scheduler", "vllm/core/block_manager", "vllm/core/block/", "vllm/spec_decode/",
    "vllm/model_executor/model_loader.py", "input_metadata", "RayWorkerVllm", "VllmWorkerProcess", "CPU KV cache usage: ",
    "# CPU blocks: ",
)  # fmt: skip
_RANK = LazyPattern(r"(?:^|_)TP(\d{1,3})(?!\d)|^VllmWorker rank=(\d{1,3})\b")
_STAGE = LazyPattern(r"(?:^|_)PP(\d{1,3})(?!\d)")
_EXPERTS = LazyPattern(r"(?:^|_)EP\d{1,3}(?!\d)")


def told_by(words: str, facts: Facts) -> Facts:
    """Return the facts with the platform and the engine that an error's words tell, where the facts do not."""
    more: dict[str, str] = {}
    if "platform is" in words:
        words = _ASKED.sub("", words)
    known = str(facts.get("platform") or "")
    if known in _MASKED_BY_CUDA:
        name = next(
            (name for name, needs, marks in _PLATFORMS if any(need in words for need in needs) and marks.search(words)),
            "",
        )
        if name and (not known or name == "rocm"):
            more["platform"] = name
    if not facts.get("engine") and (engine := engine_in(words)):
        more["engine"] = engine
    return {**facts, **more} if more else facts


def engine_in(words: str) -> str:
    """Return the engine that alone prints such words; "" where none does."""
    return "V1" if any(sign in words for sign in _V1) else "V0" if any(sign in words for sign in _V0) else ""


def named_by(processes: set[str], facts: Facts) -> Facts:
    """Return the facts with what the names of vLLM's processes tell: workers of pipeline stages and of experts have it in theirs."""
    more: dict[str, int | bool] = {}
    stages = [int(found[1]) + 1 for name in processes for found in _STAGE.finditer(name)]
    if stages and max(stages) > 1 and (not facts.get("pipeline_parallel_size")):
        more["pipeline_parallel_size"] = max(stages)
    if facts.get("enable_expert_parallel") is None and any(_EXPERTS.search(name) for name in processes):
        more["enable_expert_parallel"] = True
    return {**facts, **more} if more else facts


def ranks_of(processes: set[str]) -> int:
    """Return how many tensor-parallel ranks there are at least: workers are named by their rank where there is more than one."""
    ranks = [int(found[1] or found[2]) + 1 for name in processes for found in _RANK.finditer(name)]
    if ranks or any(name.startswith(("VllmWorkerProcess", "RayWorker")) for name in processes):
        return max(2, *ranks, 0)
    return 1
