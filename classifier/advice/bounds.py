"""Upgrades of transformers stay below the major release that came after the one this vLLM was written for."""

from __future__ import annotations

from ...corpus.records import replace
from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

_PLAIN = LazyPattern(
    r"(?P<head>\bpip3? install\b[^#;&|\n]*?\s(?:-U|--upgrade)\s(?:[^#;&|\n]*\s)?)(?P<name>transformers)(?=\s|$)(?![^#;&|\n]*\bvllm)"
)
"""An upgrade of it without a bound, that does not bring a vLLM along which would set one."""


def within_bounds(fix: Advice, situation: Situation) -> tuple[Advice | None, str]:
    """Return a fix with the bound of this vLLM in its upgrade of transformers.

    Args:
        fix: As it holds otherwise.
        situation: Of the failed start; where nothing tells its release no bound is known.
    """
    if not situation.told or _PLAIN.search(fix.change) is None:
        return fix, ""
    from ...corpus import model_types

    major = model_types.major_for(situation.release)
    if not major:
        return fix, ""
    return replace(fix, change=_PLAIN.sub(rf"\g<head>'transformers<{major + 1}'", fix.change)), ""
