"""What an error's stack, words and processes tell of a start whose own lines are missing: platform, engine, ranks.

Excerpts seldom hold the lines from which facts are read. Where the error comes from a platform's plug-in, or from files that
one engine alone has, it tells all the same. The same words are what a fix's ``mentions`` is looked for in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..facts.age import ranges_told_by
from ..facts.types import Facts
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..incidents.types import Incident
    from ..lines.types import Trace
    from ..matching.types import Hit

_OTHERS = 60
"""Further hits whose words count as the log's."""
_TRACES = 12
"""Exceptions of a start whose stacks count."""
_LINES = 60
"""Lines around the deciding one that count, where the log was read so far."""
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
_V1 = LazyPattern(r"\bvllm/v1/|\bEngineCore|\bVLLM_USE_V1=1")
_V0 = LazyPattern(
    r"\bvllm/(?:worker/|executor/|engine/(?:llm_engine|async_llm_engine|ray_utils|multiprocessing/)|core/(?:scheduler|block_manager|block/)|spec_decode/|"
    r"model_executor/model_loader\.py)|\binput_metadata\b|\bRayWorkerVllm\b|\bVllmWorkerProcess\b|"
    r"\bCPU KV cache usage: |# CPU blocks: "
)
_OF_VLLM = LazyPattern(r"APIServer|EngineCore|Engine|DPEngine|Worker|VllmWorker|RayWorker|Api")
"""Names of vLLM's processes."""
_LIBRARY = LazyPattern(
    r"(?:transformers_modules|tpu_inference|neuronx\w*|libneuronxla|habana\w*|optimum|torch|torchvision|torchaudio|torchao|torch_npu|torch_xla|torchcodec|triton|transformers|tokenizers|huggingface_hub|safetensors|asyncio|concurrent|multiprocessing|importlib|runpy|uvloop|numpy|flashinfer|flash_attn|xformers|"
    r"xgrammar|outlines\w*|lmformatenforcer|llguidance|ray|uvicorn|starlette|fastapi|pydantic\w*|PIL|cv2|deep_gemm|deep_ep|nixl|lmcache|mooncake|bitsandbytes|compressed_tensors|"
    r"gguf|mistral_common|peft|setuptools|pip|distutils|pkg_resources|aiter|zmq|msgspec|json|subprocess|threading|socket|ssl|contextlib|functools|inspect|ctypes|numba|cupy|"
    r"tvm_ffi|cutlass|nvidia_cutlass_dsl|requests|urllib3|http|librosa|soundfile|av|einops|timm|prometheus\w*|opentelemetry|logging|typing|pickle|cloudpickle|tqdm|sentencepiece|tiktoken)\b|<|setup\.py"
)
"""Packages that vLLM, or one of its own, calls."""
_ITS_CLASSES = LazyPattern(r"\b(?:(?:Async)?LLMEngine|AsyncLLM|EngineCore\w*|llm_engine)\b")
"""Classes and attributes of vLLM's, by which a script calls it."""
_RANK = LazyPattern(r"(?:^|_)TP(\d{1,3})(?!\d)|^VllmWorker rank=(\d{1,3})\b")


_STAGE = LazyPattern(r"(?:^|_)PP(\d{1,3})(?!\d)")
_EXPERTS = LazyPattern(r"(?:^|_)EP\d{1,3}(?!\d)")


class Signs:
    """The words of one error, and what they tell where the facts of its start are silent.

    Attributes:
        words: What the error and its stack say, the lines around it and other conspicuous ones, and the server's arguments.
        said: What other conspicuous lines say.
        facts: Of the start, with ``platform`` and ``engine`` where the words tell them, ``pipeline_parallel_size`` and
            ``enable_expert_parallel`` where the names of the processes do.
        ages: Ranges of releases that single signs of the log leave (``<0.8``).
    """

    __slots__ = ("_incident", "ages", "facts", "said", "words")

    def __init__(self, hit: Hit | None, incident: Incident) -> None:
        self._incident = incident
        self.said = "\n".join(other.line.text[:1000] for other in incident.hits[:_OTHERS] if not other.quoted)
        self.words = _words(hit, incident, self.said)
        self.facts = named_by(_processes(incident), told_by(self.words, incident.facts))
        raw = [hit.line.raw] if hit is not None else []
        raw += [other.line.raw for other in incident.hits[:_OTHERS] if other.line.logged and not other.quoted]
        self.ages = ranges_told_by("\n".join([*raw, self.words]))

    def say(self, pattern: str) -> bool:
        """Tell whether the words hold a pattern, whatever the case."""
        return re.search(pattern, self.words, re.IGNORECASE | re.MULTILINE) is not None

    def strange(self, trace: Trace | None) -> bool:
        """Tell whether an exception's stack, and all that the log says around it, is of a program that is not vLLM."""
        if trace is None:
            return False
        # Stacks are pasted without their head: where only libraries are left, vLLM may have called them.
        called = any(_LIBRARY.match(frame.path) is None for frame in trace.frames)
        if self.facts.get("vllm_version") or self.facts.get("arguments"):
            # A log that several programs share: vLLM's processes have names.
            raised = "\n".join([trace.stack(), *(frame.raw for frame in trace.frames), trace.message])
            return called and not _OF_VLLM.match(trace.process) and "vllm" not in raised.lower()
        return called and "vllm" not in self.words.lower() and not _ITS_CLASSES.search(self.words)

    @property
    def ranks(self) -> int:
        """Tensor-parallel ranks that there are at least, by the names of the processes; 1 where none tells."""
        return ranks_of(_processes(self._incident))


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
    if not facts.get("engine"):
        if _V1.search(words):
            more["engine"] = "V1"
        elif _V0.search(words):
            more["engine"] = "V0"
    return {**facts, **more} if more else facts


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


def _words(hit: Hit | None, incident: Incident, said: str) -> str:
    parts: list[str] = []
    if hit is not None:
        parts.append(hit.line.text)
        # What a person says of the machine often stands before the first conspicuous line, or behind the last.
        numbers = [other.line.number for other in incident.hits]
        ends = [min(numbers), max(numbers), numbers[-1]] if numbers else []
        for number in dict.fromkeys([hit.line.number, *ends]):
            parts += [text for _, text, _ in incident.contexts.lines(number)[-_LINES:]]
    traces = [trace for trace in incident.traces[:_TRACES] if not trace.logging_error]
    stacks: set[str] = set()
    for trace in dict.fromkeys([*([hit.trace] if hit is not None and hit.trace is not None else []), *traces]):
        # The paths as they were printed tell a checkout from an installation.
        if (stack := trace.stack()) not in stacks:  # nothing is said by the same words twice
            stacks.add(stack)
            parts.append(stack)
        parts += [*(frame.raw for frame in trace.frames[-2:]), f"{trace.kind}: {trace.message[:2000]}"]
    parts += [line.text[:500] for line in incident.errors]
    return "\n".join([*parts, said, *sorted(_processes(incident)), *_settings(incident.facts)])


def _processes(incident: Incident) -> set[str]:
    return {
        *(hit.line.process for hit in incident.hits[:_OTHERS]),
        *(line.process for line in incident.errors),
        *(name for trace in incident.traces[:_TRACES] for name in (trace.process, *trace.processes)),
    }


def _settings(facts: Mapping[str, object]) -> list[str]:
    """Return the model and what the server was given, as words."""
    given = facts.get("arguments")
    known = [f"{name}={value}" for name, value in given.items()] if isinstance(given, dict) else []
    names = ("model", "architecture", "quantization", "attention_backend", "command")
    return [*known, *(f"{name}={facts[name]}" for name in names if facts.get(name))]
