"""What an error's stack, words and processes tell of a start whose own lines are missing: platform, engine, ranks.

Excerpts seldom hold the lines from which facts are read. Where the error comes from a platform's plug-in, or from files that
one engine alone has, it tells all the same. The same words are what a fix's ``mentions`` is looked for in. They also tell who goes
with few releases of vLLM only: plug-ins of platforms, and frameworks that call vLLM's own code.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..patterns.lazy import LazyPattern
from ..situation.platforms import named_by, ranks_of, told_by
from ..situation.programs import FRAMEWORK, RAY_SERVE, programs_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..incidents.types import Incident
    from ..lines.types import Trace
    from ..matching.types import Hit
    from .context import Context

_OTHERS = 60
"""Further hits whose words count as the log's."""
_TRACES = 12
"""Exceptions of a start whose stacks count."""
_LINES = 60
"""Lines around the deciding one that count, where the log was read so far."""
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


class Signs:
    """The words of one error, and what they tell where the facts of its start are silent.

    Attributes:
        words: What the error and its stack say, the lines around it and other conspicuous ones, and the server's arguments.
        said: What other conspicuous lines say.
        facts: Of the start, with ``platform`` and ``engine`` where the words tell them, ``pipeline_parallel_size`` and
            ``enable_expert_parallel`` where the names of the processes do.
    """

    __slots__ = ("_incident", "facts", "said", "words")

    def __init__(self, hit: Hit | None, incident: Incident) -> None:
        self._incident = incident
        self.said = "\n".join(other.line.text[:1000] for other in incident.hits[:_OTHERS] if not other.quoted)
        self.words = _words(hit, incident, self.said)
        self.facts = named_by(_processes(incident), told_by(self.words, incident.facts))

    def strange(self, trace: Trace | None) -> bool:
        """Return whether an exception's stack, and all that the log says around it, is of a program that is not vLLM."""
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


_PLUGIN = LazyPattern(
    r"(?:^|[/\s\"'])(?P<name>vllm_(?:ascend|gaudi|neuron|spyre|metal|rbln|omni)|tpu_inference|neuronx_distributed_inference)[/.]"
)
_FORKS = (
    ("HabanaAI/vllm-fork", ("gaudi",), LazyPattern(r"\b0\.\d+\.\d+[\w.]*\+gaudi")),
    ("vllm-ascend", ("ACL",), LazyPattern(r"\bACL ?[Gg]raph")),
)
"""Repositories by other marks than a plug-in's frame: how a fork's releases are numbered, what one plug-in alone prints."""
_LIBRARIES = (("torch_npu/", "vllm-ascend"), ("habana_frameworks/", "vllm-gaudi"), ("torch_neuronx/", "vllm-neuron"))
"""Libraries of platforms, which vLLM reaches through a plug-in alone, and that plug-in."""
_CODE = LazyPattern(r"(?:vllm\w*|tpu_inference|neuronx_distributed_inference)/")
"""Frames of vLLM's own code, or of a plug-in's."""


def pinned_by(context: Context) -> str:
    """Return the plug-in or framework in whose hands this vLLM is; "" where the stack and the words show none.

    Args:
        context: Of the failed start. Another vLLM than the one that such a package was made for breaks it.
    """
    found = _PLUGIN.search(context.stack)
    return found["name"].replace("_", "-") if found else context.framework


def plugin_of(context: Context) -> str:
    """Return the platform's plug-in in whose code the error was raised: of the innermost frame that is no library's; else ""."""
    frames = context.trace.frames if context.trace is not None else []
    found = next((_PLUGIN.search(frame.path) for frame in reversed(frames) if _CODE.match(frame.path)), None)
    return found["name"].replace("_", "-") if found else ""


def tracker_of(context: Context) -> str:
    """Return who else than vLLM's own project takes reports of the error: a plug-in, or a fork; else ""."""
    return plugin_of(context) or _of_platform(context) or fork_of(context)


def fork_of(context: Context) -> str:
    """Return the repository of the fork that this vLLM is built from, by its version or the error's paths; "" where none is known."""
    places = f"{context.told}\n{context.words}"
    return next(
        (fork for fork, signs, mark in _FORKS if any(sign in places for sign in signs) and mark.search(places)), ""
    )


def _of_platform(context: Context) -> str:
    """Return the platform's plug-in where the error was raised in the library that it calls, and no plug-in's frame is shown."""
    frames = context.trace.frames if context.trace is not None else []
    raised = next((frame.path for frame in reversed(frames) if not frame.path.startswith("torch/")), "")
    return next((name for library, name in _LIBRARIES if raised.startswith(library)), "")


def framework_of(context: Context) -> str:
    """Return the trainer or framework that makes the engine; "" where the stack and the words show none."""
    shown = (each.name for text in (context.stack, context.words) for each in programs_in(text, (FRAMEWORK,)))
    return next((name for name in shown if name != RAY_SERVE), "")
