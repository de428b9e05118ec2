"""How to see that a fix has worked, where its rule file does not say: the step that failed is passed, in vLLM's own words."""

from __future__ import annotations

from ...corpus.records import replace
from ..fix import Fix
from ..values.computed import release_at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .context import Context

_NEXT = {
    "": "LLM engine",
    "launch": "LLM engine",
    "config": "LLM engine",
    "engine_init": "Starting to load model",
    "distributed_init": "Starting to load model",
    "weights": "Model loading took",
    "compile": "KV cache size",
    "profile": "KV cache size",
    "kv_cache": "Application startup complete",
    "graph_capture": "Application startup complete",
}
"""What vLLM logs when the step after a stage begins."""
_FIRST_ENGINE = {"KV cache size": "blocks: "}
"""The same in vLLM's first engine."""
_BEFORE_0_8 = {"Model loading took": "Loading model weights took"}


def with_check(fix: Fix, context: Context) -> Fix:
    """Return a fix with how to see that it has worked, where that is not told."""
    return fix if fix.verify else replace(fix, verify=_check(fix, context))


def _check(fix: Fix, context: Context) -> str:
    if "look" in fix.tags:
        return "It shows a line, or a difference, that the log so far does not have; where it shows none, take the next fix."
    if context.caller:
        return "Run it again: the error does not come back, and the engine answers the first prompt."
    if context.of_request or context.reached not in _NEXT:
        again = "After a restart send" if fix.restart or fix.kind in ("flag", "env") else "Send"
        return f"{again} the same request: it is answered with status 200, and the log has no new error."
    mark = _NEXT[context.reached]
    if str(context.facts.get("engine") or "") == "V0":
        mark = _FIRST_ENGINE.get(mark, mark)
    if release_at_least(context.facts.get("vllm_version"), 0, 8) is False:
        mark = _BEFORE_0_8.get(mark, mark)
    return f"Start again: the error does not come back, and the log gets to '{mark}'."
