"""Who goes with few releases of vLLM only: plug-ins of platforms, and frameworks that call vLLM's own code."""

from __future__ import annotations

from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

UPGRADE = LazyPattern(r"^(?:Upgrade|Update)(?: vLLM)?(?: to (?:the|a) (?:newest|latest|newer) release)?$")
"""How a fix says that a newer vLLM is wanted, and no more."""
_PLUGIN = LazyPattern(r"(?:^|[/\s\"'])(?P<name>vllm_(?:ascend|gaudi|neuron|spyre|metal|rbln|omni)|tpu_inference)[/.]")
_FRAMEWORK = LazyPattern(
    r"(?:^|[/\s\"'])(?P<name>verl|openrlhf|trl|llamafactory|xinference|fastchat|swift|skyrl_\w+|areal|nemo_rl|unsloth\w*)/[\w/]{1,120}\.py"
)


def pinned_by(situation: Situation) -> str:
    """Return the plug-in or framework in whose hands this vLLM is; "" where the stack and the words show none.

    Args:
        situation: Of the failed start. Another vLLM than the one that such a package was made for breaks it.
    """
    stack = situation.trace.stack() if situation.trace is not None else ""
    found = _PLUGIN.search(stack) or _FRAMEWORK.search(stack) or _FRAMEWORK.search(situation.words)
    return found["name"].replace("_", "-") if found else ""
