"""Reinstallations of an older vLLM: with the transformers that there was, where the release itself sets it no bound."""

from __future__ import annotations

from ...corpus.records import replace
from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

_REINSTALL = LazyPattern(
    r"\bpip3? install (?!--target|.*--no-deps)[^;&|\n]*?(?P<what>'?vllm==(?:(?P<release>\d[\w.]*)|\$\(pip show vllm [^()]{1,60}\))'?)(?![\w.])(?P<after>[^;&|\n]*)"
)
_LEAST = LazyPattern(r"^>=(?P<release>4\.\d+\.\d+)$")


def as_it_was(fix: Advice, situation: Situation) -> Advice:
    """Return a fix that installs the same vLLM anew with a bound for transformers, where pip would take today's.

    Up to 0.11.0 the releases name the least transformers alone: it was the newest, or nearly, when they were made.

    Args:
        fix: As it holds otherwise.
        situation: Of the failed start.
    """
    found = _REINSTALL.search(fix.change)
    # Without either, the transformers that is there stays.
    anew = "--force-reinstall" in fix.change or "venv" in fix.change
    if found is None or not anew or "transformers" in found["after"]:
        return fix
    bound = _bound(found["release"] or situation.told.partition("+")[0] or situation.release)
    if not bound:
        return fix
    end = found.end("what")
    change = f"{fix.change[:end]} '{bound}'{fix.change[end:]}"
    why = "This release sets transformers no upper bound, so without one the newest would come, which it does not know."
    return replace(fix, change=change, why=f"{fix.why} {why}".strip())


def _bound(release: str) -> str:
    """Return ``transformers~=4.45.0`` for a release that asks for no more than its least; "" for others."""
    from ...corpus import model_types, options

    least = _LEAST.match(model_types.asked_by(release))
    if least is not None:
        return f"transformers~={least['release']}"
    oldest = options.releases()[0]
    key, first = options.version_key(release), options.version_key(oldest)
    first_asked = _LEAST.match(model_types.asked_by(oldest))
    older = key is not None and first is not None and key < first
    return f"transformers<={first_asked['release']}" if older and first_asked is not None else ""
