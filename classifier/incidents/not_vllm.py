"""Tells a log that vLLM had no part in: rules know the words of many programs, and would name a cause in any of them."""

from __future__ import annotations

from ..patterns.lazy import LazyPattern

SIGNS = (
    # vLLM and its processes
    b"vllm", b"enginecore", b"engine core", b"apiserver", b"api_server", b"mqllmengine", b"llm", b"shm_broadcast", b"model_runner", b"max_model_len",
    b"schedulerstats", b"requestoutput", b"kv cache", b"kv_cache", b"tensor_parallel", b"tensor-parallel", b"lora", b"speculative",
    # what it is made of
    b"torch", b"cuda", b"nccl", b"c10d", b"gpu", b"nvidia", b"rocm", b"amdgpu", b"hsa_", b"ascend", b"gaudi", b"habana", b"neuron", b"_xla", b"triton", b"inductor",
    b"transformers", b"tokeniz", b"huggingface", b"hf_", b"safetensors", b"gguf", b"flashinfer", b"flash_attn", b"flash-attn", b"xformers",
    b"mistral_common", b"tiktoken", b"sentencepiece", b"compressed_tensors", b"bitsandbytes", b"/peft/", b"llguidance", b"lmformatenforcer",
    b"tilelang", b"/cutlass/", b"deep_gemm", b"deep_ep", b"/aiter/", b"/cupy/", b"/quark/", b"gptqmodel", b"modelscope", b"runai_model_streamer",
    b"msgspec", b"openai_harmony", b"/timm/", b"librosa", b"soundfile", b"decord", b"amdsmi", b"pynvml",
    b"xgrammar", b"outlines", b"rayworker", b"ray::", b"raylet", b"/ray/", b"gloo", b"nixl", b"mooncake", b"lmcache", b"uvloop",
    # how it is called, and what its web server prints
    b"openai", b"/v1/", b":8000", b"port=8000", b"uvicorn", b"info:     ", b"error:    ", b"chat_template", b"chat template",
)  # fmt: skip
"""Words of which at least one stands in whatever vLLM, its parts or its clients print, in lower case."""
ENGINES = {
    "SGLang": (b"/sglang/srt/", b"-packages/sglang/", b"sglang.launch_server", b"sglang.srt", b"/sgl_kernel/"),
    "LMDeploy": (b"/lmdeploy/", b"lmdeploy - ", b"lmdeploy serve"),
    "Text Generation Inference": (b"text_generation_server", b"text-generation-launcher", b"text_generation_launcher", b"text_generation_router"),
    "TensorRT-LLM": (b"site-packages/tensorrt_llm/", b"trtllm-serve", b"tensorrt_llm.serve"),
    "llama.cpp": (b"llama_model_load", b"llama_init_from_model", b"/llama_cpp/", b"llama-server", b"ggml_cuda_init", b"ggml_backend"),
    "Ollama": (b'msg="llama runner', b"ollama serve", b"ollama_host", b"/ollama/"),
    "MLC LLM": (b"/mlc_llm/", b"mlc_llm serve"),
    "LightLLM": (b"/lightllm/",),
    "KTransformers": (b"/ktransformers/",),
    "MindIE": (b"/mindieservice", b"mindie_llm"),
    "ComfyUI": (b"/comfyui/",),
}  # fmt: skip
"""Other engines with a part of vLLM's vocabulary: what stands in their logs, in lower case."""
_OURS = (
    b"/vllm/", b"vllm serve", b"vllm api server", b"vllm.entrypoints", b"enginecore", b"vllm engine", b"vllm_",
    b"(vllmworker", b"(rayworkerwrapper", b"import vllm", b"from vllm", b"vllm: error", b"usage: vllm",
)  # fmt: skip
"""What only vLLM itself, or a program that runs it, prints."""
_SOURCE = LazyPattern(
    rb"(?m)^(?:import [\w.]+|from [\w.]+ import |def \w+\(|class \w+[:(]|async def |#!/|#include |package \w+|\[\[?[\w.]+\]\]?$|FROM \S+|apiVersion: |[a-z_]+ = [\"'\[])"
)
"""How lines of programs, TOML files, Dockerfiles and manifests begin; in a log such lines are indented or prefixed."""
_LOGGED = LazyPattern(rb"(?:INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[?\w[\w/]{0,60}\.py:\d+\] ")
"""The prefix of vLLM's logger: where it stands, a program above is the one that was run."""
OUTNUMBERED = 4
"""Marks of another engine for each of vLLM's from which on vLLM is no more than a part of it."""
SHORT = 6
"""Lines below which a log is somebody's excerpt, and says nothing by what it lacks."""


def has_signs(sample: bytes, tail: bytes) -> bool:
    """Return whether anything in a log, by its beginning and its end, is of vLLM, of its parts or of its clients."""
    return any(sign in part for part in (sample.lower(), tail.lower()) for sign in SIGNS)


def is_ours(data: bytes) -> bool:
    """Return whether lines hold what vLLM alone, or a program that runs it, prints."""
    lowered = data.lower()
    return any(sign in lowered for sign in _OURS) or is_logged(data)


def is_logged(data: bytes) -> bool:
    """Return whether vLLM's logger wrote one of the lines: who calls its code does not print that."""
    return _LOGGED.search(data) is not None


def other_engine(sample: bytes, tail: bytes, least: int = 1) -> str:
    """Return the name of the engine whose log it is, by ``least`` marks in its beginning and end; "" for vLLM's, and where none shows.

    One that calls code of vLLM's leaves marks of both, and far more of its own.
    """
    parts = (sample.lower(), tail.lower())
    counts = {name: sum(part.count(sign) for part in parts for sign in signs) for name, signs in ENGINES.items()}
    name = max(counts, key=counts.__getitem__)
    ours = sum(part.count(sign) for part in parts for sign in _OURS) if counts[name] else 0
    return name if counts[name] >= max(least, OUTNUMBERED * ours) else ""


def is_source(sample: bytes) -> bool:
    """Return whether a text is a program, a configuration or a manifest rather than a log, by its beginning."""
    lines = sample.count(b"\n") + 1
    if lines < SHORT or _LOGGED.search(sample):
        return False
    return 8 * sum(not _below_frame(sample, at.start()) for at in _SOURCE.finditer(sample)) >= lines


def _below_frame(sample: bytes, at: int) -> bool:
    """Return whether a line stands below a frame of a traceback, whose indentation may be lost: the log shows that code."""
    return sample[sample.rfind(b"\n", 0, max(0, at - 1)) + 1 : at].lstrip().startswith(b'File "')
