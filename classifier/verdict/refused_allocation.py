"""The numbers of an allocation that torch refused, in both forms in which its releases print them."""

from __future__ import annotations

from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..matching.types import Hit

_SIZE = r"[\d.]+ ?[KMGT]i?B"
_MARK = "Tried to allocate "
_NEW = LazyPattern(
    rf"Tried to allocate (?P<oom_tried>{_SIZE})\. \w+ \d+ has a total capac?i?ty of (?P<oom_total>{_SIZE}) of which (?P<oom_free>{_SIZE}|0 bytes) is free"
)
_OLD = LazyPattern(
    rf"Tried to allocate (?P<oom_tried>{_SIZE}) \(\w+ \d+; (?P<oom_total>{_SIZE}) total capacity; [^()\n]{{0,200}}?(?P<oom_free>{_SIZE}|0 bytes) free[;)]"
)
"""Before torch 2.1, and in torch_npu: ``(NPU 0; 60.97 GiB total capacity; … already allocated; 4.64 GiB free; …)``."""


def refused_allocation(hit: Hit | None) -> dict[str, str]:
    """Return what was asked for, what was free and the GPU's memory, as printed; empty where the error is no refused allocation.

    Args:
        hit: The one that decided; rules capture only what their own words hold.
    """
    if hit is None:
        return {}
    text = hit.trace.message if hit.trace is not None and _MARK in hit.trace.message else hit.line.text
    found = (_NEW.search(text) or _OLD.search(text)) if _MARK in text else None
    return found.groupdict() if found is not None else {}
