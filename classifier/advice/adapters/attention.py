"""Which attention backend can be had: by the list of those that vLLM found possible, and by what the log says made it choose."""

from __future__ import annotations

from ....corpus.actions import DropOption, SetOption, SetVariable
from ....corpus.records import replace
from ...facts.versions import in_range
from ...fix import Fix, with_action
from ...patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..context import Context

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


def adapt(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Return a fix that chooses an attention backend as this model and these settings allow it, or None with the reason.

    Args:
        fix: As it holds otherwise.
        context: Of the failed start.
    """
    asked = _asked(fix)
    if asked is None:
        return fix, ""
    name = asked.value
    architecture = str(context.facts.get("architecture") or "")
    if name == "FLASH_ATTN" and _LARGE_HEADS.search(architecture):
        why = f"Triton's kernels take any head size; {architecture} has heads of 512, FlashAttention takes 256 at most on most GPUs."
        return _with_backend(fix, asked, "TRITON_ATTN", why), ""
    if not _OF_LATENT.search(name) and _LATENT.search(raised := _raised(context)):
        return _latent(fix, asked, raised, context)
    possible = _possible(context)
    if not possible or name in possible:
        return fix, ""
    only = " and ".join(sorted(possible))
    if len(possible) == 1 and str(context.arguments.get("kv_cache_dtype") or "auto") != "auto":
        why = f"With these settings {only} is the only backend that vLLM finds possible (its line 'out of potential backends'): few take this type of cache."
        return replace(
            fix, title="Take the KV cache's type back, which leaves vLLM one backend", kind="flag", actions=(DropOption("--kv-cache-dtype"),), remark="",
            option="--kv-cache-dtype", value="", why=why, cost="A larger KV cache per token.", versions="", whole=True,
        ), ""  # fmt: skip
    return None, f"with these settings vLLM finds only {only} possible"


def _asked(fix: Fix) -> SetOption | SetVariable | None:
    """Return the option or variable by which a fix chooses an attention backend; None where it chooses none."""
    chosen: list[SetOption | SetVariable] = [each for each in fix.options if each.name == "--attention-backend"]
    chosen += [each for each in fix.variables if each.name == "VLLM_ATTENTION_BACKEND"]
    return next((each for each in chosen if _NAME.fullmatch(each.value)), None)


def _with_backend(fix: Fix, asked: SetOption | SetVariable, name: str, why: str) -> Fix:
    new = replace(asked, values=(name,)) if isinstance(asked, SetOption) else replace(asked, value=name)
    return replace(with_action(fix, asked, new), value=name if fix.value else "", why=why, remark="")


def _raised(context: Context) -> str:
    trace = context.trace
    said = context.case.text
    return said if trace is None else f"{said}\n{trace.stack()}\n{trace.message}"


def _latent(fix: Fix, asked: SetOption | SetVariable, raised: str, context: Context) -> tuple[Fix | None, str]:
    """Return a fix with Triton's backend for latent attention in the place of one that has no kernels for it."""
    told = f"{asked.value} has no kernels for latent attention (MLA), which failed"
    if _SELECTED.search(raised):
        return None, told
    cache = str(context.arguments.get("kv_cache_dtype") or context.facts.get("kv_cache_dtype") or "auto")
    if cache.startswith("fp8") and in_range(context.release, ">=0.18") is not True:
        return None, f"{told}; TRITON_MLA takes an FP8 cache from 0.18.0 on"
    why = "The layers that failed are of latent attention (MLA): TRITON_MLA is its backend that no GPU's own library is needed for."
    return _with_backend(fix, asked, "TRITON_MLA", why), ""


def _possible(context: Context) -> frozenset[str]:
    """Return the backends that all layers can have; empty where vLLM did not list them."""
    found = (_LIST.search(line.text) for line in context.sites if _MARK in line.text)
    lists = [frozenset(_NAME.made.findall(each["names"])) for each in found if each is not None]
    return frozenset.intersection(*lists) if lists else frozenset()
