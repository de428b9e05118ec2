"""Which attention backend can be had: by the list of those that vLLM found possible, and by what the log says made it choose."""

from __future__ import annotations

from ...corpus.records import replace
from ..diagnosis import Advice
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..matching.types import Hit
    from .situation import Situation

_ASKED = LazyPattern(r"(?:--attention-backend[ =]|\bVLLM_ATTENTION_BACKEND=)(?P<name>[A-Z][A-Z0-9_]+)")
_MARK = "attention backend out of potential backends: ["
_LIST = LazyPattern(r"out of potential backends: \[(?P<names>[^\]]{1,400})\]")
_NAME = LazyPattern(r"[A-Z][A-Z0-9_]+")
_LARGE_HEADS = LazyPattern(r"\AGemma4")
"""Architectures whose global layers have heads of 512: FlashAttention before its fourth version takes 256 at most, Triton any."""
_LATENT = LazyPattern(
    r"layers/mla\.py|mla_attention\.py|attention/backends/mla/|\bMLAAttention\(|\bFLASH_?MLA\b|\b[A-Z0-9_]+_MLA\b"
)
"""What an error or its stack holds where the layers are of latent attention (MLA), which has backends of its own."""
_OF_LATENT = LazyPattern(r"MLA")
_SELECTED = LazyPattern(r"(?i:sparse|indexer)|\bTRITON_MLA\b|triton_mla\.py")
"""Latent attention of selected tokens, which Triton's backend does not compute, or that backend itself."""
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


def as_possible(fix: Advice, situation: Situation) -> tuple[Advice | None, str]:
    """Return a fix that chooses an attention backend as this model and these settings allow it, or None with the reason.

    Args:
        fix: As it holds otherwise.
        situation: Of the failed start.
    """
    found = _ASKED.search(fix.change)
    if found is None:
        return fix, ""
    name = found["name"]
    architecture = str(situation.facts.get("architecture") or "")
    if name == "FLASH_ATTN" and _LARGE_HEADS.search(architecture):
        change = fix.change.replace("FLASH_ATTN", "TRITON_ATTN")
        why = f"Triton's kernels take any head size; {architecture} has heads of 512, FlashAttention takes 256 at most on most GPUs."
        return replace(fix, change=change, value="TRITON_ATTN" if fix.value else "", why=why), ""
    if not _OF_LATENT.search(name) and _LATENT.search(raised := _raised(situation)):
        return _latent(fix, name, raised, situation)
    possible = _possible(situation)
    if not possible or name in possible:
        return fix, ""
    only = " and ".join(sorted(possible))
    if len(possible) == 1 and str(situation.case.arguments.get("kv_cache_dtype") or "auto") != "auto":
        why = f"With these settings {only} is the only backend that vLLM finds possible (its line 'out of potential backends'): few take this type of cache."
        return replace(
            fix, title="Take the KV cache's type back, which leaves vLLM one backend", kind="flag", change="leave out --kv-cache-dtype",
            option="--kv-cache-dtype", value="", why=why, cost="A larger KV cache per token.", versions="", exact=True,
        ), ""  # fmt: skip
    return None, f"with these settings vLLM finds only {only} possible"


def _raised(situation: Situation) -> str:
    trace = situation.trace
    said = situation.case.text
    return said if trace is None else f"{said}\n{trace.stack()}\n{trace.message}"


def _latent(fix: Advice, name: str, raised: str, situation: Situation) -> tuple[Advice | None, str]:
    """Return a fix with Triton's backend for latent attention in the place of one that has no kernels for it."""
    told = f"{name} has no kernels for latent attention (MLA), which failed"
    if _SELECTED.search(raised):
        return None, told
    cache = str(situation.case.arguments.get("kv_cache_dtype") or situation.facts.get("kv_cache_dtype") or "auto")
    if cache.startswith("fp8") and in_range(situation.release, ">=0.18") is not True:
        return None, f"{told}; TRITON_MLA takes an FP8 cache from 0.18.0 on"
    why = "The layers that failed are of latent attention (MLA): TRITON_MLA is its backend that no GPU's own library is needed for."
    change = f"{fix.change[: fix.change.index(name)]}TRITON_MLA"
    return replace(fix, change=change, value="TRITON_MLA" if fix.value else "", why=why), ""


def with_choices(fixes: list[Advice], hit: Hit | None, situation: Situation) -> list[Advice]:
    """Return the fixes with one that takes back the variables which, as the log says, made vLLM take the library that failed.

    It leads where a default chose, and comes second where the user set the variable for the sake of something else.

    Args:
        fixes: Of the cause, in order.
        hit: The one that decided; of other buckets than those of kernels nothing is returned.
        situation: Of the failed start.
    """
    trace = situation.trace
    if hit is None or hit.rule.bucket not in _OF_KERNELS or trace is None:
        return fixes
    stack = trace.stack()
    library = next((name for folder, name in _LIBRARIES if folder in stack), "")
    lines = [line.text for line in situation.sites if library and library in line.text.lower() and "VLLM_" in line.text]
    on = list(dict.fromkeys(found["name"] for text in lines for found in _DEFAULT.finditer(text)))
    given = list(dict.fromkeys(found["name"] for text in lines for found in _SET.finditer(text)))
    if not on and not given:
        return fixes
    parts = [f"set {' '.join(f'{name}=0' for name in on)}"] if on else []
    parts += [f"take {' and '.join(given)} out of the environment"] if given else []
    names = [*on, *given]
    taken = Advice(
        0, f"Take back what the log says chose these kernels: {', '.join(names)}", "step", ", and ".join(parts),
        "The server's own line names the variable by which it took the library that then failed.", "What these kernels gain.", "",
        restart=True, source="the log's own line",
    )  # fmt: skip
    return [taken, *fixes] if on else [*fixes[:1], taken, *fixes[1:]]


def _possible(situation: Situation) -> frozenset[str]:
    """Return the backends that all layers can have; empty where vLLM did not list them."""
    found = (_LIST.search(line.text) for line in situation.sites if _MARK in line.text)
    lists = [frozenset(_NAME.made.findall(each["names"])) for each in found if each is not None]
    return frozenset.intersection(*lists) if lists else frozenset()
