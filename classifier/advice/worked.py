"""The release with which it worked, where the text around a log tells one: a way out that needs no other knowledge."""

from __future__ import annotations

from ..diagnosis import Advice
from ..facts.versions import in_range
from .looks import TRACKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

_SOURCE = "the text around the log"
_OF_CODE = frozenset({
    "engine_bug", "gpu_fault", "cuda_graph_crash", "compile_failure", "attention_backend", "multimodal", "structured_output",
    "tool_calling", "weights_mismatch", "quantization_mismatch", "speculative_decoding", "worker_died", "nccl_hang",
    "mqllmengine_stall", "performance_degradation", "kv_transfer", "unknown",
})  # fmt: skip
"""Buckets in which another release of vLLM may be another outcome, all else the same."""


def worked_with(situation: Situation, bucket: str) -> Advice | None:
    """Return the way to the release of which the text says that the same worked with it; None where it tells none.

    Args:
        situation: Of the failed start.
        bucket: What is answered.
    """
    from ...corpus import options

    said = str(situation.facts.get("worked_with") or "")
    if not said or bucket not in _OF_CODE or situation.own_build:
        return None
    release = next((each for each in (said, f"{said}.0", _minor(said)) if each in options.releases()), "")
    if not release or situation.told.startswith(release):
        return None
    newer = bool(situation.told) and in_range(release, f">{situation.told}") is True
    wanted = f"vllm>={release}" if newer else f"vllm=={release}"
    title = f"Upgrade vLLM to {release} or later" if newer else f"Go back to vLLM {release}"
    kind, change = "command", f"pip install '{wanted}'   # or the image vllm/vllm-openai:v{release}"
    if situation.platform not in ("", "cuda"):
        kind, change = (
            "step",
            f"Take the build of {release} for {situation.platform} from where this one came (its wheel index or image)",
        )
    return Advice(
        0, f"{title}, with which it worked", kind, change, f"The text says that it worked with {release}: nothing else need change, and it shows whether the release is at fault.",
        "none" if newer else "An older release without later fixes.", "", fixed_in=release if newer else "", exact=True,
        restart=True, source=_SOURCE,
    )  # fmt: skip


def before_searches(fixes: list[Advice]) -> list[Advice]:
    """Return fixes with the way to the release that worked before searches and upgrades that nothing speaks for."""
    ways = [fix for fix in fixes if fix.source == _SOURCE]
    if not ways:
        return fixes
    others = [fix for fix in fixes if fix not in ways]
    blind = (
        at for at, fix in enumerate(others) if fix.change.startswith(TRACKER) or fix.title.startswith("Try the newest")
    )
    at = next(blind, len(others))
    return [*others[:at], *ways, *others[at:]]


def _minor(said: str) -> str:
    """Return the release that somebody may have meant who left a dot out: 0.9.0 for 0.90."""
    whole, _, rest = said.partition(".")
    return f"{whole}.{rest[0]}.{rest[1]}" if len(rest) == 2 and rest.isdigit() else ""
