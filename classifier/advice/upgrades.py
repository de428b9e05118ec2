"""Upgrades of vLLM: shown where something says that a later release helps, and as the guess that they are where nothing does."""

from __future__ import annotations

import re

from ...corpus.records import replace
from ..diagnosis import Advice
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern
from .looks import TRACKER, search, words_of
from .pins import TRY, UPGRADE, fork_of, pinned_by
from .provenance import LATER, from_registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .since import Since
    from .situation import Situation

SOURCES = "vLLM's sources"
"""What upgrades give as their source that hang on the line that failed, not on the cause."""
_RELEASE = LazyPattern(r"(?<![\w.])v?0\.\d{1,2}(?:\.\d+)?(?![\w.]*%)\b")
"""A release of vLLM, as texts name it."""
_LEAST = LazyPattern(r"\bvllm>=(?P<release>\d[\w.]*)")
_ASKED = LazyPattern(
    r"\bout[- ]of[- ]date\b|\boutdated\b|\btoo old\b|\b(?:upgrade|update) (?:your |to |the )?(?:vllm|a newer|the latest|latest|version)|"
    r"\bnewer (?:version|release)|\bhas been fixed in\b|\bfixed in (?:v?\d|a later|a newer|main)",
    re.IGNORECASE,
)
"""Words of an error that ask for a newer release."""
_PLAIN = LazyPattern(
    r"(?P<before>pip3? install (?:-U|--upgrade) )'?vllm'?(?P<after>\s.*)?$|Upgrade to the newest release(?: of vLLM\b.*)?$",
    re.DOTALL,
)
"""How a fix installs a newer vLLM, whichever."""
_UPGRADE = Advice(
    0,
    "Upgrade vLLM",
    "command",
    "pip install -U vllm",
    "",
    "Another release: its defaults may differ.",
    "",
    restart=True,
)
"""For answers that send to vLLM's issues, where a release is known after all."""
_UPGRADES = LazyPattern(r"(?:Up(?:grade|date)|Try the newest)\b|.*\bor upgrade\b")
"""Titles of fixes beside which another upgrade says nothing new."""
_NOTHING_SAYS = "nothing in the log or in vLLM's sources says that a newer release helps"
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
    fixes, withheld = _by_line(fixes, situation)
    guesses = [fix for fix in fixes if _guessed(fix, situation)]
    if not guesses:
        return fixes, withheld
    others = [fix for fix in fixes if fix not in guesses]
    shown = [] if len(others) >= _ENOUGH else [_as_guess(guesses[0], situation)]
    if shown and fork_of(situation):
        return shown + others, [*withheld, *((fix.title, _NOTHING_SAYS) for fix in guesses[1:])]
    return others + shown, [*withheld, *((fix.title, _NOTHING_SAYS) for fix in guesses[len(shown) :])]


def _by_line(fixes: list[Advice], situation: Situation) -> tuple[list[Advice], list[tuple[str, str]]]:
    """Name the release that changed what failed; leave guesses out where the newest has it as it is."""
    upgrades = [fix for fix in fixes if _undated(fix, situation)]
    searches = any(fix.change.startswith(TRACKER) for fix in fixes)
    if not upgrades and not (searches and from_registry(situation)):
        return _with_lifted(fixes, situation), []
    from .since import since

    known = since(situation)
    if known is None:
        return fixes, []
    guesses = [fix for fix in upgrades if _guessed(fix, situation)]
    named = next((fix for fix in fixes if fix.fixed_in and _UPGRADES.match(fix.title)), None)
    if known.release and named is not None:
        others = [fix for fix in fixes if fix not in guesses]
        return others, [(fix.title, f"the release is named already: {named.title}") for fix in guesses]
    if not known.release:
        others = [fix for fix in fixes if fix not in guesses]
        if guesses and not others:
            others = [search(situation, f"{known.fact[0].upper()}{known.fact[1:]}.")]
        return others, [(fix.title, known.fact) for fix in guesses]
    dated = _dated(upgrades[0] if upgrades else _UPGRADE, known, situation)
    if upgrades and upgrades[0] not in guesses:
        return [dated if fix is upgrades[0] else fix for fix in fixes], []
    others = [fix for fix in fixes if fix not in guesses]
    # What the log names goes before; words to search for are what is left when nothing has helped.
    at = next((at for at, fix in enumerate(others) if fix.change.startswith(TRACKER)), len(others))
    return [*others[:at], dated, *others[at:]], []


def _with_lifted(fixes: list[Advice], situation: Situation) -> list[Advice]:
    """Add the upgrade to a release that no longer refuses, or no longer fails so, behind what can be done without."""
    if any(_UPGRADES.match(fix.title) for fix in fixes) or not from_registry(situation) or situation.asked:
        return fixes
    from .since import lifted, repaired

    mended = repaired(situation)
    if mended is not None and mended.sure and not mended.older:
        # What the cause knows of it costs no other release.
        return [*fixes[:1], _dated(_UPGRADE, mended, situation), *fixes[1:]]
    known = mended or lifted(situation)
    return [*fixes, _dated(_UPGRADE, known, situation)] if known is not None else fixes


def _undated(fix: Advice, situation: Situation) -> bool:
    """Tell whether a fix upgrades vLLM and names no release but the server's own."""
    said = f"{fix.change} {fix.why}".replace(situation.told or "\0", "")
    if fix.fixed_in or fix.versions or _RELEASE.search(said):
        return False
    # "… to a release that has X" is a promise that a line does not keep.
    return bool(UPGRADE.search(fix.title) or (_PLAIN.match(fix.change) and " release " not in fix.title))


def _dated(fix: Advice, known: Since, situation: Situation) -> Advice:
    """Return an upgrade with the release that changed what failed, told as what that says and no more."""
    release = known.release
    why = known.fact if known.sure else f"{known.fact} The sources do not say whether that fixes this error."
    if known.older:
        why = f"The log does not say which release ran. {why} A server that is {release} or newer has it already."
    if not from_registry(situation):
        plain = fix.change.startswith("Upgrade to the newest release")
        change = (
            f"Upgrade to {release} or later, by a build from where this one came"
            if plain
            else fix.change.replace(LATER, f"to {release} or later", 1)
        )
        return replace(fix, change=change, why=f"{fix.why} {why}".strip(), fixed_in=release)
    command = _PLAIN.match(fix.change)
    before, after = (command["before"] or "", command["after"] or "") if command else ("", "")
    change = f"{before or 'pip install -U '}'vllm>={release}'{after}"
    if UPGRADE.search(fix.title):
        server = "vLLM, if it is older," if known.older else "vLLM"
        title = f"Upgrade {server} to {release} or later: {known.title}"
    else:
        # What goes with the upgrade, and what for, stands in the title.
        title, why = fix.title, f"{fix.why} {why}".strip()
    return replace(
        fix, title=title, kind="command", change=change, why=why, fixed_in=release, exact=True, source=SOURCES
    )  # fmt: skip


def _guessed(fix: Advice, situation: Situation) -> bool:
    if fix.title.startswith(TRY):
        return True
    if not UPGRADE.search(fix.title) or fix.fixed_in or fix.versions:
        return False
    return not (_RELEASE.search(f"{fix.change} {fix.why}") or _ASKED.search(situation.case.text))


def _as_guess(fix: Advice, situation: Situation) -> Advice:
    """Return an upgrade as what it is: a try, and what to do when it does not help."""
    if pinned_by(situation) or fix.title.startswith(TRY):
        return fix
    if fork := fork_of(situation):
        why = f"What vLLM's code lacks for this platform comes with the releases of {fork}, which follow vLLM's. Nothing here says whether the newest fixes this."
        return replace(fix, title=f"Try the newest release of {fork}", why=why)
    words = words_of(situation)
    return replace(
        fix,
        title="Try the newest release, without knowing that it helps",
        why=f"No release is known to mend this. If the newest says the same, it is not known there: search vLLM's issues for {words}",
    )
