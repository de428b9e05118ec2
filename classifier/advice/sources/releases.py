"""Which release helps, where a text or vLLM's sources tell; where nothing does, where to look for others' reports."""

from __future__ import annotations

from ....corpus.actions import Install, Look, SetVariable, Step
from ...facts.versions import in_range
from ...fix import KNOWN, OF_TEXT, Fix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..context import Context

TRACKER = "search https://github.com/vllm-project/vllm/issues for:"
_OF_CODE = frozenset({
    "engine_bug", "gpu_fault", "cuda_graph_crash", "compile_failure", "attention_backend", "multimodal", "structured_output",
    "tool_calling", "weights_mismatch", "quantization_mismatch", "speculative_decoding", "worker_died", "nccl_hang",
    "mqllmengine_stall", "performance_degradation", "kv_transfer", "unknown",
})  # fmt: skip
"""Buckets in which another release of vLLM may be another outcome, all else the same."""


def propose(context: Context) -> Iterable[Fix]:
    """Yield the way to the release of which the text around the log says that the same worked with it."""
    from ....corpus import options

    said = str(context.facts.get("worked_with") or "")
    if not context.failed or not said or context.bucket not in _OF_CODE or context.own_build or not context.words:
        return
    release = next((each for each in (said, f"{said}.0", _minor(said)) if each in options.releases()), "")
    if not release or context.told.startswith(release):
        return
    newer = bool(context.told) and in_range(release, f">{context.told}") is True
    title = f"Upgrade vLLM to {release} or later" if newer else f"Go back to vLLM {release}"
    kind, actions, remark = (
        "command",
        (Install("vllm", f"{'>=' if newer else '=='}{release}"),),
        f"   # or the image vllm/vllm-openai:v{release}",
    )
    if context.platform not in ("", "cuda"):
        step = f"Take the build of {release} for {context.platform} from where this one came (its wheel index or image)"
        kind, actions, remark = "step", (Step(step),), ""  # type: ignore[assignment]
    yield Fix(
        f"{title}, with which it worked", kind, actions,
        f"The text says that it worked with {release}: nothing else need change, and it shows whether the release is at fault.",
        "none" if newer else "An older release without later fixes.", fixed_in=release if newer else "", whole=True, restart=True,
        source=OF_TEXT, remark=remark, tier=KNOWN,
    )  # fmt: skip


def _minor(said: str) -> str:
    """Return the release that somebody may have meant who left a dot out: 0.9.0 for 0.90."""
    whole, _, rest = said.partition(".")
    return f"{whole}.{rest[0]}.{rest[1]}" if len(rest) == 2 and rest.isdigit() else ""


def look_elsewhere() -> Fix:
    """Return what to do where another program than vLLM failed and nothing that is known of vLLM can help."""
    step = "start at the last 'File' line before the error that belongs to the program, not to a library that it calls"
    return Fix(
        "Look at the innermost frame that is this program's own", "step", (Look(step),),
        "The stack holds nothing of vLLM: its settings cannot change what failed.", "none", "The value that the frame works on is the expected one.",
        tags=("look",),
    )  # fmt: skip


def search(context: Context, why: str) -> Fix:
    """Return where others have reported the error."""
    step = Look(f"{TRACKER} {words_of(context)}")
    return Fix("Search vLLM's issues for this error", "step", (step,), why, "none", tags=("look", "search"))


def words_of(context: Context) -> str:
    """Return words by which others have reported the error."""
    from ...verdict.culprit import searched

    trace = context.trace
    said = f"{trace.kind}: {trace.message}" if trace is not None else context.case.text
    words = searched(next((line for line in said.splitlines() if line.strip()), ""))
    return words or "the error's words"


def look(context: Context, nothing_known: bool = False) -> Fix:
    """Return what to do where nothing that is known can help: look at what the log holds back, or for others' reports.

    Args:
        context: Of the failure.
        nothing_known: Whether there was no fix to begin with.
    """
    if nothing_known and context.trace is not None:
        return search(context, "No fix is known for it; these are the words that every report of it shares.")
    return Fix(
        "Start once more with all messages, and read the first error", "env", (SetVariable("VLLM_LOGGING_LEVEL", "DEBUG"),),
        "None of the fixes that are known for this cause holds for this server; what came first says more than what came last.",
        "A longer log.", "The log holds lines of the level DEBUG.", "VLLM_LOGGING_LEVEL", "DEBUG", restart=True, whole=True, tags=("look",),
    )  # fmt: skip
