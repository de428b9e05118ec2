"""How to see that a fix has worked, where its rule file does not say: the step that failed is passed, in vLLM's own words."""

from __future__ import annotations

from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern
from ..values.worked import release_at_least
from .caller import caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

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
_LOOKS = LazyPattern(
    r"^(?:Ask|Check|Collect|Compare|Find|Keep|Let \w+ (?:name|print|say)|List|Look|Read|Rule out|Search|See|Test|Try)\b|"
    r"^Start (?:again|once more) with|\bdmesg\b|py-spy|NCCL_DEBUG=|CUDA_LAUNCH_BLOCKING=1|VLLM_LOGGING_LEVEL=DEBUG"
)
"""Steps that find out, and change nothing."""


def add_checks(fixes: list[Advice], situation: Situation, reached: str, request: bool) -> None:
    """Fill in how to see that each fix has worked, where that is not told.

    Args:
        fixes: As they are shown.
        situation: Of the server.
        reached: The stage that its start had reached.
        request: Whether a request failed, not the start.
    """
    for fix in fixes:
        if not fix.verify:
            fix.verify = _check(fix, situation, reached, request)


def finds_out(title: str, kind: str) -> bool:
    """Tell whether a fix is a step that changes nothing and finds out more."""
    return kind in ("command", "step") and _LOOKS.match(title) is not None


def _check(fix: Advice, situation: Situation, reached: str, request: bool) -> str:
    if _LOOKS.search(fix.title) or _LOOKS.search(fix.change):
        return "It shows a line, or a difference, that the log so far does not have; where it shows none, take the next fix."
    if caller(situation):
        return "Run it again: the error does not come back, and the engine answers the first prompt."
    if request or reached not in _NEXT:
        again = "After a restart send" if fix.restart or fix.kind in ("flag", "env") else "Send"
        return f"{again} the same request: it is answered with status 200, and the log has no new error."
    mark = _NEXT[reached]
    if str(situation.facts.get("engine") or "") == "V0":
        mark = _FIRST_ENGINE.get(mark, mark)
    if release_at_least(situation.facts.get("vllm_version"), 0, 8) is False:
        mark = _BEFORE_0_8.get(mark, mark)
    return f"Start again: the error does not come back, and the log gets to '{mark}'."
