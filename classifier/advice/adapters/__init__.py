"""Adapters make a fix fit the platform, the release, the installation and who makes the engine, or withhold it.

Each is ``(Fix, Context) -> Fix`` or None with the reason. Their order counts: the first that withholds gives the reason.
"""

from __future__ import annotations

from . import attention, install, options, said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...fix import Fix
    from ..context import Context

    Adapter = Callable[[Fix, Context], tuple[Fix | None, str]]


def _models(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Read the tables of models for fixes alone that they may change."""
    if not (
        fix.upgrade or fix.installs("transformers") or fix.option in _OF_MODELS or _ABOUT_MODELS.intersection(fix.tags)
    ):
        return fix, ""
    from .models import adapt

    return adapt(fix, context)


_OF_MODELS = frozenset({"--model-impl", "--hf-overrides"})
_ABOUT_MODELS = frozenset({"checkpoint", "config", "complete_class", "blind", "dated"})
ADAPTERS: tuple[Adapter, ...] = (said.adapt, options.adapt, _models, attention.adapt, install.adapt)
