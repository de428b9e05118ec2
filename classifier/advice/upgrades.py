"""Upgrades of vLLM: shown where something says that a later release helps, and as the guess that they are where nothing does."""

from __future__ import annotations

import re

from ...corpus.records import replace
from ..diagnosis import Advice
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern
from .culprit import searched
from .pins import UPGRADE, pinned_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

_RELEASE = LazyPattern(r"(?<![\w.])v?0\.\d{1,2}(?:\.\d+)?(?![\w.]*%)\b")
"""A release of vLLM, as texts name it."""
_LEAST = LazyPattern(r"\bvllm>=(?P<release>\d[\w.]*)")
_ASKED = LazyPattern(
    r"\bout[- ]of[- ]date\b|\boutdated\b|\btoo old\b|\b(?:upgrade|update) (?:your |to |the )?(?:vllm|a newer|the latest|latest|version)|"
    r"\bnewer (?:version|release)|\bhas been fixed in\b|\bfixed in (?:v?\d|a later|a newer|main)",
    re.IGNORECASE,
)
"""Words of an error that ask for a newer release."""
_ENOUGH = 2
"""Other fixes beside which a guess is left out."""


def reached(fix: Advice, situation: Situation) -> str:
    """Tell that the server has the release to which a fix would upgrade it; "" where it has not, or nothing tells.

    Args:
        fix: As its rule file has it.
        situation: Of the failed start.
    """
    found = _LEAST.search(fix.change)
    goal = fix.fixed_in or (found["release"] if found else "")
    if not goal or not situation.told or in_range(situation.told, f">={goal}") is not True:
        return ""
    return f"the server is vLLM {situation.told} already"


def without_guesses(fixes: list[Advice], situation: Situation) -> tuple[list[Advice], list[tuple[str, str]]]:
    """Put upgrades that nothing speaks for behind the other fixes, or leave them out where there are two of these.

    Args:
        fixes: That hold in the situation, ranked.
        situation: Of the failed start.

    Returns:
        The fixes, and the titles of those left out with the reason.
    """
    guesses = [fix for fix in fixes if _guessed(fix, situation)]
    if not guesses:
        return fixes, []
    others = [fix for fix in fixes if fix not in guesses]
    shown = [] if len(others) >= _ENOUGH else [_as_guess(guesses[0], situation)]
    reason = "nothing in the log or in vLLM's sources says that a newer release helps"
    return others + shown, [(fix.title, reason) for fix in guesses[len(shown) :]]


def _guessed(fix: Advice, situation: Situation) -> bool:
    if not UPGRADE.search(fix.title) or fix.fixed_in or fix.versions:
        return False
    return not (_RELEASE.search(f"{fix.change} {fix.why}") or _ASKED.search(situation.case.text))


def _as_guess(fix: Advice, situation: Situation) -> Advice:
    """Return an upgrade as what it is: a try, and what to do when it does not help."""
    if pinned_by(situation):
        return fix
    trace = situation.trace
    said = f"{trace.kind}: {trace.message}" if trace is not None else situation.case.text
    words = searched(next((line for line in said.splitlines() if line.strip()), ""))
    words = words or "the error's words"
    return replace(
        fix,
        title="Try the newest release, without knowing that it helps",
        why=f"No release is known to mend this. If the newest says the same, it is not known there: search vLLM's issues for {words}",
    )
