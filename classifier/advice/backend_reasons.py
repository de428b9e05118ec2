"""Why no attention backend takes a configuration: which of the reasons vLLM lists would have to go.

``Reasons: {FLASH_ATTN: [kv_cache_dtype not supported, block_size not supported], TRITON_ATTN: [block_size not supported]}``: a
backend whose reasons are all taken away is enough, so that what others refuse besides need not change.
"""

from __future__ import annotations

from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

_SIGN = "Reasons: {"
_LIST = LazyPattern(r"\bReasons: \{(?P<list>[^{}]{1,2000})\}")
_BACKEND = LazyPattern(r"\b[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?: \[(?P<reasons>[^\[\]]{1,400})\]")
_ASKS = {
    "--kv-cache-dtype": "kv_cache_dtype not supported",
    "--block-size": "block_size not supported",
    "--dtype": "dtype not supported",
}
"""Options, and the reason that each can take away."""


def not_the_reason(fix: Advice, situation: Situation) -> str:
    """Tell that a backend could be had without what a fix changes; "" where it could not, or where vLLM lists no reasons."""
    asked = next((reason for name, reason in _ASKS.items() if fix.change.startswith(f"{name} ")), "")
    if not asked or _SIGN not in situation.words:
        return ""
    found = _LIST.search(situation.words)
    lists = [_reasons(each["reasons"]) for each in _BACKEND.finditer(found["list"])] if found else []
    fewest = min(map(len, lists), default=0)
    if not fewest or any(asked in reasons for reasons in lists if len(reasons) == fewest):
        return ""
    return f"some backends do not give '{asked}' as a reason: what they give has to go, and is enough"


def _reasons(text: str) -> frozenset[str]:
    return frozenset(" ".join(reason.strip(" '\"").split()) for reason in text.split(","))
