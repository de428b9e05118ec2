"""What each platform has: fixes for another one are left out, and what is named otherwise there is named so."""

from __future__ import annotations

from ...corpus.records import replace
from ..diagnosis import Advice
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

_NVIDIA = LazyPattern(
    r"nvidia-smi|nvidia-ctk|--gpus all|CUDA_VISIBLE_DEVICES|\bnvcc\b|libcuda\b|fabricmanager|--torch-backend|TORCH_CUDA_ARCH|"
    r"\bNVML\b|nvidia-ml-py|cuda-compat|/usr/local/nvidia|compute-sanitizer|CUDA_LAUNCH_BLOCKING|\bnvidia\.\w|\bNVIDIA driver\b"
)
_AMD = LazyPattern(r"rocm-smi|amd-smi|HIP_VISIBLE|/dev/kfd|VLLM_ROCM|HSA_OVERRIDE")
_ON_CPU = LazyPattern(r"\bVLLM_CPU_")
_ON_GPU = LazyPattern(r"TRITON_ATTN|--moe-backend triton|FLASHINFER|FLASH_ATTN|XFORMERS|FLEX_ATTENTION")
"""Kernels that need a GPU."""
_NOT_ON_AMD = LazyPattern(r"FLASHINFER|DEEP_GEMM|CUTLASS|FLASHMLA")
"""Kernels that only NVIDIA's GPUs have."""
_BETWEEN_GPUS = LazyPattern(r"\b[NR]CCL_[A-Z]|--disable-custom-all-reduce|\bVLLM_SKIP_P2P_CHECK|\bnvidia-nccl\b")
"""What moves data between NVIDIA's and AMD's GPUs: other platforms have libraries of their own (HCCL, oneCCL, XLA)."""
_OF_GPUS = ("cuda", "rocm")
_SPECULATES = LazyPattern(r"--speculative-config[ .=]")
_NO_DRAFTS_ON_CPU = ">=0.9.1,<0.20.0"
"""Releases whose runner for CPUs asserts that there is no speculation (v1/worker/cpu_model_runner.py)."""
_FP8_CACHE = LazyPattern(r"--kv-cache-dtype fp8")
_NO_FP8_CACHE = ("npu", "neuron")
_FORMATS = LazyPattern(r"\bAWQ\b")
_OWN_FORMATS = ("npu", "hpu", "tpu", "neuron")
"""Platforms whose plug-ins load weights in formats of their own."""
_THEIR_FORMAT = "Use a checkpoint of the same model in a quantised format that this platform's plug-in supports (its documentation lists them)"


def on_platform(fix: Advice, situation: Situation) -> tuple[Advice | None, str]:
    """Return a fix as it holds on the platform of a start, or None with the reason why it does not.

    Args:
        fix: As its rule file has it.
        situation: Of the failed start; where its log does not tell the platform all fixes hold.
    """
    platform, text = situation.platform, f"{fix.title} {fix.change}"
    if not platform:
        return fix, ""
    setting = fix.kind in ("flag", "env")
    excluded = {
        "for NVIDIA GPUs": (platform != "cuda" and _NVIDIA.search(text) and not _AMD.search(text))
        or (platform == "rocm" and setting and _NOT_ON_AMD.search(fix.change)),
        "the backend needs a GPU": platform not in ("cuda", "rocm") and setting and _ON_GPU.search(fix.change),
        "for AMD GPUs": platform != "rocm" and _AMD.search(text) and not _NVIDIA.search(text),
    }  # fmt: skip
    reason = next((reason for reason, holds in excluded.items() if holds), "")
    if reason:
        return None, f"{reason}; this server runs on {platform}"
    if not drafts_here(fix, situation):
        return None, f"vLLM {situation.release} has no speculative decoding on CPUs"
    if platform != "cpu" and _ON_CPU.search(fix.change):
        return None, f"for servers on CPUs; this one runs on {platform}"
    return (fix, "") if platform in _OF_GPUS else _beyond_gpus(fix, platform)


def drafts_here(fix: Advice, situation: Situation) -> bool:
    """Tell whether the server can speculate, where a fix sets it to; True for fixes that set something else, or leave it out."""
    if situation.platform != "cpu" or fix.change.startswith("leave out") or not _SPECULATES.search(fix.change):
        return True
    return in_range(situation.release, _NO_DRAFTS_ON_CPU) is not True


def _beyond_gpus(fix: Advice, platform: str) -> tuple[Advice | None, str]:
    """Return a fix as a platform that is neither NVIDIA's nor AMD's takes it."""
    if _BETWEEN_GPUS.search(fix.change):
        return None, f"for NVIDIA's and AMD's GPUs; this server runs on {platform}"
    if platform in _NO_FP8_CACHE and _FP8_CACHE.search(fix.change):
        return None, f"an FP8 KV cache is not known of {platform}"
    if platform in _OWN_FORMATS and fix.kind == "step" and _FORMATS.search(fix.change):
        fix = replace(fix, change=_THEIR_FORMAT, exact=False)
    return replace(fix, title=_graphs(fix.title), why=_graphs(fix.why), cost=_graphs(fix.cost)), ""


def _graphs(text: str) -> str:
    return text.replace("CUDA graphs", "captured graphs")
