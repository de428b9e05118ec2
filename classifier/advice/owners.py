"""Who goes with few releases of vLLM only: plug-ins of platforms, and frameworks that call vLLM's own code."""

from __future__ import annotations

from ..patterns.lazy import LazyPattern
from ..situation.programs import FRAMEWORK, RAY_SERVE, programs_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .context import Context

_PLUGIN = LazyPattern(
    r"(?:^|[/\s\"'])(?P<name>vllm_(?:ascend|gaudi|neuron|spyre|metal|rbln|omni)|tpu_inference|neuronx_distributed_inference)[/.]"
)
_FORKS = (
    ("HabanaAI/vllm-fork", ("gaudi",), LazyPattern(r"\b0\.\d+\.\d+[\w.]*\+gaudi")),
    ("vllm-ascend", ("ACL",), LazyPattern(r"\bACL ?[Gg]raph")),
)
"""Repositories by other marks than a plug-in's frame: how a fork's releases are numbered, what one plug-in alone prints."""
_LIBRARIES = (("torch_npu/", "vllm-ascend"), ("habana_frameworks/", "vllm-gaudi"), ("torch_neuronx/", "vllm-neuron"))
"""Libraries of platforms, which vLLM reaches through a plug-in alone, and that plug-in."""
_CODE = LazyPattern(r"(?:vllm\w*|tpu_inference|neuronx_distributed_inference)/")
"""Frames of vLLM's own code, or of a plug-in's."""


def pinned_by(context: Context) -> str:
    """Return the plug-in or framework in whose hands this vLLM is; "" where the stack and the words show none.

    Args:
        context: Of the failed start. Another vLLM than the one that such a package was made for breaks it.
    """
    found = _PLUGIN.search(context.stack)
    return found["name"].replace("_", "-") if found else context.framework


def plugin_of(context: Context) -> str:
    """Return the platform's plug-in in whose code the error was raised: of the innermost frame that is no library's; else ""."""
    frames = context.trace.frames if context.trace is not None else []
    found = next((_PLUGIN.search(frame.path) for frame in reversed(frames) if _CODE.match(frame.path)), None)
    return found["name"].replace("_", "-") if found else ""


def tracker_of(context: Context) -> str:
    """Return who else than vLLM's own project takes reports of the error: a plug-in, or a fork; else ""."""
    return plugin_of(context) or _of_platform(context) or fork_of(context)


def fork_of(context: Context) -> str:
    """Return the repository of the fork that this vLLM is built from, by its version or the error's paths; "" where none is known."""
    places = f"{context.told}\n{context.words}"
    return next(
        (fork for fork, signs, mark in _FORKS if any(sign in places for sign in signs) and mark.search(places)), ""
    )


def _of_platform(context: Context) -> str:
    """Return the platform's plug-in where the error was raised in the library that it calls, and no plug-in's frame is shown."""
    frames = context.trace.frames if context.trace is not None else []
    raised = next((frame.path for frame in reversed(frames) if not frame.path.startswith("torch/")), "")
    return next((name for library, name in _LIBRARIES if raised.startswith(library)), "")


def framework_of(context: Context) -> str:
    """Return the trainer or framework that makes the engine; "" where the stack and the words show none."""
    shown = (each.name for text in (context.stack, context.words) for each in programs_in(text, (FRAMEWORK,)))
    return next((name for name in shown if name != RAY_SERVE), "")
