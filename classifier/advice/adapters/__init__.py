"""Adapters make a fix fit the platform, the release, the installation and who makes the engine, or withhold it.

Each is ``(Fix, Context) -> Fix`` or None with the reason. Their order counts: the first that withholds gives the reason.
"""

from __future__ import annotations

from ....corpus.actions import Action, DropOption, DropVariable, Install, SetOption, SetVariable
from ...patterns.lazy import LazyPattern
from . import attention, install, options

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


_TAKEN_OUT = LazyPattern(
    r"(?i)\b(?:remov\w+|without|unset|drop\w*|delet\w+|took out|taking out|turned off|no longer)\b"
)
"""Verbs by which a setting was taken out, and not made."""


def untried(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Return a fix, or None with the sentence in which its writer says that this was tried.

    Args:
        fix: Of one setting or package: of several together, one alone may not have been enough.
        context: Of the failed start.
    """
    tried = context.writer.tried
    if not tried or len(fix.actions) != 1:
        return fix, ""
    found = next((said for said in tried if _is_told(fix.actions[0], said)), "")
    return (None, f"its writer tried that: '{found}'") if found else (fix, "")


def _is_told(action: Action, said: str) -> bool:
    """Return whether a sentence says that an action was done."""
    out = _TAKEN_OUT.search(said) is not None
    if isinstance(action, SetOption):
        return not out and _named(action.name, said) and all(value in said for value in action.values)
    if isinstance(action, SetVariable):
        return not out and action.name in said and action.value in said
    if isinstance(action, (DropOption, DropVariable)):
        return out and _named(action.name, said)
    if isinstance(action, Install):
        return action.package in said.lower() and bool(action.spec) and action.spec.lstrip("=<>~! ") in said
    return False


def _named(option: str, said: str) -> bool:
    plain = said.lower().replace("_", "-")
    return option in plain or option.removeprefix("--") in plain.split()


_OF_MODELS = frozenset({"--model-impl", "--hf-overrides"})
_ABOUT_MODELS = frozenset({"checkpoint", "config", "complete_class", "blind", "dated"})
ADAPTERS: tuple[Adapter, ...] = (untried, options.adapt, _models, attention.adapt, install.adapt)
