"""Whose code an error comes from: the part of vLLM, or the package beside it, in which it was raised.

What it finds are values of fixes and conditions (``when = ["component == attention"]``), for causes that only say that
something went wrong in somebody's code.
"""

from __future__ import annotations

import re

from ..masking.mask import mask
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..incidents.types import Incident
    from ..lines.types import Frame, Trace
    from ..matching.types import Hit

_COMPONENTS = (
    ("speculation", "speculative decoding", LazyPattern(r"vllm/(?:v1/)?spec_decode/|vllm/.*/(?:eagle|medusa|ngram_proposer)")),
    ("lora", "LoRA", LazyPattern(r"vllm/lora/")),
    ("structure", "structured output", LazyPattern(r"vllm/(?:v1/structured_output|model_executor/guided_decoding)/|^(?:xgrammar|outlines|lmformatenforcer)/")),
    ("transfer", "the transfer of KV caches", LazyPattern(r"vllm/distributed/(?:kv_transfer|ec_transfer)/|^(?:lmcache|nixl|mooncake)/")),
    ("media", "multimodal input", LazyPattern(r"vllm/multimodal/|:\w*(?:multimodal|mm_encoder|vision)\w*")),
    ("all2all", "the exchange of tokens between experts", LazyPattern(
        r"\bdeep_ep/|\bpplx_kernels/|fused_moe/(?:prepare_finalize/)?(?:deepep|pplx)|/all2all"
    )),
    ("experts", "the mixture of experts", LazyPattern(r"fused_moe/|^deep_gemm/")),
    ("quantization", "the quantised layers", LazyPattern(r"layers/quantization/|^(?:bitsandbytes|auto_gptq|compressed_tensors)/")),
    ("attention", "attention", LazyPattern(r"vllm/(?:v1/)?attention/|^(?:flash_attn|flashinfer|xformers|vllm/vllm_flash_attn)/")),
    ("all_reduce", "the all-reduce between GPUs", LazyPattern(r"device_communicators/(?:custom_all_reduce|quick_all_reduce|symm_mem)|custom_ar")),
    ("compilation", "torch.compile", LazyPattern(r"vllm/compilation/|^torch/_(?:inductor|dynamo)/|^triton/")),
    ("sampling", "sampling", LazyPattern(r"vllm/v1/sample/|layers/(?:sampler|logits_processor)")),
    ("scheduling", "the scheduler", LazyPattern(r"vllm/(?:v1/)?core/")),
    ("state", "the state-space layers", LazyPattern(r"layers/mamba/")),
    ("model", "the model's own code", LazyPattern(r"model_executor/models/|transformers_modules")),
    ("api", "the API server", LazyPattern(r"vllm/entrypoints/")),
)  # fmt: skip
"""Parts of vLLM, as conditions and people call them, by the frame: of the first that fits, the feature is named."""
_BELOW = LazyPattern(
    r"^(?:torch|triton|asyncio|concurrent|multiprocessing|uvloop|importlib|contextlib|json|threading|tvm_ffi)/|^(?:\.\.\./)?nvidia_cutlass_dsl/|^python/tvm_ffi/|^<"
)
"""Frames below the code that is to blame."""
_COMPILER = LazyPattern(r"^torch/_(?:inductor|dynamo)/")
_INNERMOST = 12
_NOISE = LazyPattern(
    r"0x[0-9a-f]+|\b(?:chatcmpl|cmpl|embd|pool|score|rerank|resp|req)-[\w-]*\d[\w-]*|(?:/[\w.+-]+){2,}|\b[0-9a-f]{12,}\b|\bat \d{10,}\b|(?<![\w.])\d{4,}(?![\w.])|\[(?:rank)?\d+\]:?|"
    r"\b\d+(?:\.\d+)? [KMGT]i?B\b|(?<=\brequest )\d+\b|(?<=\btokens )\d+\b|\b(?:block|thread): \[\d+,\d+,\d+\],?"
)
"""What differs from one report of an error to the next."""
_WRAPPED = LazyPattern(
    r"(?:Worker failed with error (?:%s, please check the stack trace above for the root cause['\"]\s*,\s*)?['\"]|"
    r"Error in model execution(?: \(input dumped to [^)]{1,200}\))?: |Exception in worker \S{1,60} while processing method \w+: |"
    r"backend=['\"]?\w+['\"]? raised:\s*)(?P<inner>[A-Za-z_][\w.]{2,80} ?: .*|\S.*)",
    re.DOTALL,
)
"""What vLLM and the compiler put around an error, and that error."""
_REST = LazyPattern(r"\\n|['\"], please check the stack trace|['\"]\)\s*$")
"""What ends an error within its wrapper."""
_ERROR = LazyPattern(r"[a-z](?:Error|Exception)\b")
_PLACE = LazyPattern(r"^\d+: (?:unknown: )?")
_EMPTIED = LazyPattern(r"\(\s*\)|['=:]\s*(?=[,)']|$)|'\s*'")
"""What is left of values that were taken out."""
_MASKED = LazyPattern(r"<[a-z][a-z-]{2,40}>")
"""What stands for a secret."""
_MARKS = LazyPattern(r"[`\"\\<>{}|]")
_SPACE = LazyPattern(r"\s+")
_NAME = LazyPattern(r"[\w.<>]{1,60}")
_LONGEST = 110
_HEAD = "<module>"
_OWN_FILE = LazyPattern(r"(?!\S*/lib(?:64)?/python3)(?:/|[A-Za-z]:[/\\])")
"""Files of installed packages are told from their package on; those of Python itself are no program's."""
_EXAMPLE = LazyPattern(r"vllm/(?:examples|benchmarks)/")
"""Programs in vLLM's repository that call it, and are no part of the package."""
_ACCESS = LazyPattern(r'"(?:GET|POST|PUT|DELETE|PATCH|HEAD) /\S{0,200} HTTP/[\d.]{1,3}" \d{3}\b')


def culprit(hit: Hit | None, incident: Incident) -> dict[str, str]:
    """Return what is known of the place: ``component``, ``raised_in``, ``frame``, ``owner`` and ``search``; empty without a stack.

    ``program`` is there where the stack is whole and holds nothing of vLLM: the innermost frame of the program's own files,
    with ``library`` where it was raised in one that the program calls, and ``program_file`` where that file is what was started.

    Args:
        hit: The one that decided; its stack counts, else that of the first exception of the start.
        incident: The start.
    """
    if incident.engine:
        return {"other_engine": incident.engine}  # its own project knows its faults
    trace = _trace_of(hit, incident)
    if incident.foreign and (trace is None or _program_of(trace) is None):
        return {}
    if trace is None:
        # An access line holds no words of an error, but an address and a path.
        told = hit is not None and hit.line.text and not _ACCESS.search(hit.line.text)
        return {"search": searched(hit.line.text)} if hit is not None and told else {}
    frame = _to_blame(trace)
    said = f"{trace.kind}: {trace.message.partition(chr(10))[0]}"
    if not trace.kind:
        # Frames were pasted without the exception's own line: another line of the start may have its words.
        lines = [other.line.text for other in (*([hit] if hit is not None else []), *incident.hits) if not other.quoted]
        said = next((text for text in lines if _ERROR.search(text)), said)
    found = {"search": searched(said, frame)}
    if own := _program_of(trace):
        named = own.function != _HEAD and _NAME.fullmatch(own.function)
        found["program"] = f"{own.path}:{own.function}" if named else own.path
        if trace.frames[0].path == own.path:
            found["program_file"] = own.path.rpartition("/")[2]
        if frame is not None and not _OWN_FILE.match(frame.path) and not _EXAMPLE.match(frame.path):
            found["library"] = frame.path.partition("/")[0]
    if frame is None:
        return found
    found |= {"frame": f"{frame.path}:{frame.function}", "owner": frame.path.partition("/")[0]}
    # An inner helper belongs to the feature that called it last.
    for each in reversed(trace.frames[-_INNERMOST:]):
        name = next((key for key, _, shape in _COMPONENTS if shape.search(f"{each.path}:{each.function}")), "")
        if name:
            found |= {"component": name, "raised_in": next(words for key, words, _ in _COMPONENTS if key == name)}
            break
    return found


def searched(error: str, frame: Frame | None = None) -> str:
    """Return words by which others have reported an error: without numbers, paths and addresses, with the place."""
    error = unwrapped(error)
    # Without the marks around them, secrets would not be known for what they are any more.
    plain = _NOISE.sub(" ", _MARKS.sub(" ", _MASKED.sub(" ", mask(error))))
    plain = _SPACE.sub(" ", _EMPTIED.sub(" ", plain)).strip(" :.,")
    plain = _PLACE.sub("", plain)
    words = plain[:_LONGEST].rsplit(" ", 1)[0] if len(plain) > _LONGEST else plain
    if frame is None or not _NAME.fullmatch(frame.function):
        return words
    return f"{words} {frame.path.rpartition('/')[2]} {frame.function.strip('<>')}".strip()


def unwrapped(error: str) -> str:
    """Return the error that another one only passes on."""
    found = _WRAPPED.search(error)
    if found is None:
        return error
    return str(_REST.made.split(found["inner"].replace("\\'", "'"), maxsplit=1)[0]).replace(" : ", ": ", 1)


def _trace_of(hit: Hit | None, incident: Incident) -> Trace | None:
    """Return the exception that decided, or the one within which the deciding line stands; without a hit the first one."""
    if hit is not None and hit.trace is not None and hit.trace.frames:
        return hit.trace
    found = [each for each in incident.traces if each.kind and each.frames and not each.logging_error]
    if hit is None:
        return next(iter(found), None)
    around = next((each for each in found if each.first <= hit.line.number <= each.number), hit.trace)
    if found or around is None:
        return around
    # Notebooks print the message first: the frames behind it have no exception of their own.
    return next(
        (each for each in incident.traces if each.frames and not each.kind and each.first > around.number), around
    )


def _program_of(trace: Trace) -> Frame | None:
    """Return the innermost frame of a program's own file, where its stack has the head and nothing in it is vLLM's."""
    frames = trace.frames
    # A server's handlers are pasted from their own file on, without the framework that called them.
    first = frames[0].path if frames else ""
    whole = any(frame.function == _HEAD for frame in frames) or _OWN_FILE.match(first) or _EXAMPLE.match(first)
    if not whole or "vllm" in trace.message.lower():
        return None
    if any("vllm" in frame.path.lower() and not _EXAMPLE.match(frame.path) for frame in frames):
        return None
    return next(
        (frame for frame in reversed(frames) if _OWN_FILE.match(frame.path) or _EXAMPLE.match(frame.path)), None
    )


def _to_blame(trace: Trace) -> Frame | None:
    """Return the innermost frame that is not Python's, torch's or the compiler's own; where all are, the compiler's."""
    above = next((frame for frame in reversed(trace.frames) if not _BELOW.search(frame.path)), None)
    return above or next((frame for frame in reversed(trace.frames) if _COMPILER.search(frame.path)), None)
