"""Installations as they fit the build, the platform, the Python and the releases around them.

The registry's vLLM is for some builds only; an upgrade that nothing speaks for is told as the try that it is.
"""

from __future__ import annotations

import re

from ....corpus.actions import Action, Install, Look, Run, Step, UseImage
from ....corpus.records import replace
from ...facts.versions import in_range
from ...fix import BLIND, KNOWN, OF_SOURCES, Fix, because
from ...patterns.lazy import LazyPattern
from ..signs import fork_of, tracker_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...fix import Withheld
    from ...repairs.since import Since
    from ..context import Context

_PLAIN = frozenset({"blind", "dated"})
"""Tags of upgrades that say no more than that: without a release, and with one."""
LATER = "to a later release"
"""In a step: where a release stands once one is known."""
_CHECKOUT = LazyPattern(r"(?!0\.[01]\.dev)\d+\.\d+(?:\.\d+)?(?:\.post\d+)?(?:rc\d+)?\.dev\d+\+g[0-9a-f]{6,}")
"""Versions that setuptools-scm makes of a commit behind a release; without tags (forks) it counts from 0.1."""
_LEAST = LazyPattern(r"^>=(?P<release>\d[\w.]*)")
_PYTHON = LazyPattern(r"[/\\]python(?P<version>3\.[789])[/\\](?:site|dist)-packages[/\\]")
_LAST = {"3.7": "", "3.8": "0.6.3.post1", "3.9": "0.11.0"}
"""The last release that each takes, by the releases' own ``requires-python``."""
_ASKED = LazyPattern(
    r"\bout[- ]of[- ]date\b|\boutdated\b|\btoo old\b|\b(?:upgrade|update) (?:your |to |the )?(?:vllm|a newer|the latest|latest|version)|"
    r"\bnewer (?:version|release)|\bhas been fixed in\b|\bfixed in (?:v?\d|a later|a newer|main)",
    re.IGNORECASE,
)
"""Words of an error that ask for a newer release."""
UPGRADE = Fix(
    "Upgrade vLLM", "command", (Install("vllm", "", True),), "", "Another release: its defaults may differ.", restart=True, tags=("blind",),
    tier=KNOWN,
)  # fmt: skip
"""For answers that send to vLLM's issues, where a release is known after all."""
_NOTHING_SAYS = "nothing in the log or in vLLM's sources says that a newer release helps"
_ENOUGH = 2
"""Other fixes beside which a guess is left out."""


def adapt(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Return an installation, or a search for others' reports, as it holds for this server, or None with the reason.

    Args:
        fix: As it holds otherwise.
        context: Of the failed start.
    """
    fix = _within_bounds(fix, context)
    if (fix.upgrades_plainly or _PLAIN.intersection(fix.tags)) and (name := context.pinned_by):
        step = f"Upgrade {name}, and vLLM to the release that it is made for"
        return _instead(fix, step, f"{name} calls vLLM's own code, and goes with few releases of it."), ""
    if "search" in fix.tags and (name := tracker_of(context)):
        return _search_at(fix, name), ""
    wanted = fix.installs()
    if wanted is None:
        return fix, ""
    if reason := _reached(fix, wanted, context):
        return None, reason
    return _from_elsewhere(fix, wanted, context)


def _search_at(fix: Fix, name: str) -> Fix:
    said = next((each.text for each in fix.actions if isinstance(each, Look)), "")
    step = Look(f"search the issues of {name}'s repository for:{said.partition(' for:')[2]}")
    return replace(fix, title=f"Search {name}'s issues for this error", actions=(step,))


def _reached(fix: Fix, wanted: Install, context: Context) -> str:
    """Return that the server has the release to which a fix would upgrade it; "" where it has not, or nothing tells."""
    goal = fix.fixed_in or least(wanted)
    if not goal or not context.told or in_range(context.told, f">={goal}") is not True:
        return ""
    return f"the server is vLLM {context.told} already"


def least(install: Install) -> str:
    """Return the release that an installation asks for at least; "" where it asks for none."""
    found = _LEAST.match(install.spec)
    return found["release"] if found else ""


def _from_elsewhere(fix: Fix, wanted: Install, context: Context) -> tuple[Fix | None, str]:
    """Keep the registry's vLLM away from builds that it would replace by another program."""
    from ....corpus import options

    if fix.upgrades_plainly and (fork := fork_of(context)):
        step = f"Take the newest release of {fork} (a tag or an image), with the driver and SDK that it names"
        return _instead(fix, step, "pip would put vLLM's own release in its place."), ""
    if context.own_build:
        return _built_anew(fix, wanted, context), ""
    if context.platform not in ("", "cuda"):
        step = f"Install a newer build for {context.platform} from where this one came (its wheel index or image)"
        return _instead(fix, step, "The registry's wheel of vLLM is the one for CUDA."), ""
    newest = options.releases()[-1]
    if context.told.partition("+")[0] == newest and fix.upgrades_plainly:
        return None, f"{newest} is the newest release that is known"
    return fix, ""


def _built_anew(fix: Fix, wanted: Install, context: Context) -> Fix:
    """Return what a fix installs as a step for who builds vLLM: pip would put another program in its place."""
    build = "This build of vLLM is not a release of the registry: pip would put another program in its place."
    if context.from_checkout:
        build = "vLLM runs from a checkout of its sources: pip would put another program in its place."
    if not context.from_checkout and _CHECKOUT.match(context.told) is None:
        step = "Take the change over where the build comes from (its repository or image) and build it anew"
        return _instead(fix, step, build)
    goal = least(wanted) or wanted.spec.removeprefix("==") or fix.fixed_in
    return _instead(fix, _checkout_step(f"to {goal} or later" if goal else LATER), build)


def _checkout_step(to: str) -> str:
    return f"Update the checkout of vLLM's sources that this build was made of {to}, build it anew, and let it bring the packages that it pins"


def _instead(fix: Fix, step: str, why: str) -> Fix:
    return replace(
        fix, kind="step", actions=(Step(step),), remark="", why=because(fix, why), option="", value="", whole=False,
        tags=(*fix.tags, "newer"),
    )  # fmt: skip


def _within_bounds(fix: Fix, context: Context) -> Fix:
    """Keep upgrades of transformers below the major release that came after the one this vLLM was written for."""
    found = fix.installs("transformers")
    if found is None or not found.upgrade or found.spec or fix.installs() or not context.told:
        return fix
    from ....corpus import model_types

    major = model_types.major_for(context.release)
    if not major:
        return fix
    actions = tuple(replace(each, spec=f"<{major + 1}") if each is found else each for each in fix.actions)
    return replace(fix, actions=actions)


# Once all are known


def settle(fixes: list[Fix], context: Context) -> tuple[list[Fix], Withheld]:
    """Name the release that changed what failed, put upgrades that nothing speaks for behind, and fit what is installed to Python.

    Args:
        fixes: That hold in the situation, in order.
        context: Of the failed start.
    """
    fixes, withheld = _without_guesses(fixes, context)
    return [_as_it_was(_installable(fix, context), context) for fix in fixes], withheld


def _without_guesses(fixes: list[Fix], context: Context) -> tuple[list[Fix], Withheld]:
    """Put upgrades that nothing speaks for behind the other fixes, or leave them out where there are two of these."""
    fixes, withheld = _by_line(fixes, context)
    guesses = [fix for fix in fixes if _guessed(fix, context)]
    if not guesses:
        return fixes, withheld
    others = [fix for fix in fixes if fix not in guesses]
    shown = [] if len(others) >= _ENOUGH else [replace(_as_guess(guesses[0], context), tier=BLIND)]
    left = [(fix.title, _NOTHING_SAYS) for fix in guesses[len(shown) :]]
    if shown and fork_of(context):
        return [replace(shown[0], tier=min((fix.tier for fix in others), default=BLIND)), *others], [*withheld, *left]
    return [*others, *shown], [*withheld, *left]


def _by_line(fixes: list[Fix], context: Context) -> tuple[list[Fix], Withheld]:
    """Name the release that changed what failed; leave guesses out where the newest has it as it is."""
    upgrades = [fix for fix in fixes if _undated(fix)]
    searches = any("search" in fix.tags and tracker_of(context) == "" for fix in fixes)
    if not upgrades and not (searches and context.from_registry):
        return _with_lifted(fixes, context), []
    from ...repairs.since import since

    known = context.mended or since(context.failure)
    if known is None:
        return fixes, []
    guesses = [fix for fix in upgrades if _guessed(fix, context)]
    others = [fix for fix in fixes if fix not in guesses]
    told = next((fix for fix in fixes if fix.fixed_in and fix.upgrade), None)
    if known.release and told is not None:
        return others, [(fix.title, f"the release is named already: {told.title}") for fix in guesses]
    if not known.release:
        if guesses and not others:
            from ..sources.releases import search

            others = [search(context, f"{known.fact[0].upper()}{known.fact[1:]}.")]
        return others, [(fix.title, known.fact) for fix in guesses]
    dated = _dated(upgrades[0] if upgrades else UPGRADE, known, context)
    if upgrades and upgrades[0] not in guesses:
        return [dated if fix is upgrades[0] else fix for fix in fixes], []
    # What the log names goes before; words to search for are what is left when nothing has helped.
    return [*others, replace(dated, tier=KNOWN)], []


def _with_lifted(fixes: list[Fix], context: Context) -> list[Fix]:
    """Add the upgrade to a release that no longer refuses, or no longer fails so, behind what can be done without."""
    if any(fix.upgrade for fix in fixes) or context.asked:
        return fixes
    from ...repairs.since import lifted

    mended = context.mended
    known = mended or lifted(context.failure)
    if known is None or not context.from_registry:
        return fixes
    if mended is not None and mended.sure and not mended.older:
        # What the cause knows of it costs no other release.
        return [
            *fixes[:1],
            replace(_dated(UPGRADE, mended, context), tier=fixes[0].tier if fixes else KNOWN),
            *fixes[1:],
        ]
    return [*fixes, replace(_dated(UPGRADE, known, context), tier=BLIND)]


def _undated(fix: Fix) -> bool:
    """Whether a fix upgrades vLLM and names no release."""
    if fix.fixed_in or fix.versions or "dated" in fix.tags:
        return False
    # "… to a release that has X" is a promise that a line does not keep.
    return "blind" in fix.tags or (fix.upgrades_plainly and "promise" not in fix.tags)


def _dated(fix: Fix, known: Since, context: Context) -> Fix:
    """Return an upgrade with the release that changed what failed, told as what that says and no more."""
    release = known.release
    why = known.fact if known.sure else f"{known.fact} The sources do not say whether that fixes this error."
    if known.older:
        why = f"The log does not say which release ran. {why} A server that is {release} or newer has it already."
    if not context.from_registry:
        step = next((each.text for each in fix.actions if isinstance(each, Step)), "")
        step = _checkout_step(f"to {release} or later") if step == _checkout_step(LATER) else step
        return replace(fix, actions=(Step(step),) if step else fix.actions, why=because(fix, why), fixed_in=release)
    if "blind" in fix.tags:
        server = "vLLM, if it is older," if known.older else "vLLM"
        title = f"Upgrade {server} to {release} or later: {known.title}"
    else:
        # What goes with the upgrade, and what for, stands in the title.
        title, why = fix.title, because(fix, why)
    old = fix.installs()
    wanted = Install("vllm", f">={release}", True)
    actions: tuple[Action, ...] = tuple(
        replace(each, spec=f">={release}") if each is old else each for each in fix.actions
    )
    return replace(
        fix, title=title, kind="command", actions=actions if old else (wanted,), why=why, fixed_in=release, whole=True, source=OF_SOURCES,
    )  # fmt: skip


def _guessed(fix: Fix, context: Context) -> bool:
    if "try" in fix.tags:
        return True
    undated = "blind" in fix.tags and not (fix.fixed_in or fix.versions)
    return undated and _ASKED.search(context.case.text) is None


def _as_guess(fix: Fix, context: Context) -> Fix:
    """Return an upgrade as what it is: a try, and what to do when it does not help."""
    if context.pinned_by or "try" in fix.tags:
        return fix
    if fork := fork_of(context):
        why = f"What vLLM's code lacks for this platform comes with the releases of {fork}, which follow vLLM's. Nothing here says whether the newest fixes this."
        return replace(fix, title=f"Try the newest release of {fork}", why=why)
    from ..sources.releases import words_of

    words = words_of(context)
    return replace(
        fix,
        title="Try the newest release, without knowing that it helps",
        why=f"Nothing that was read of vLLM's releases tells of this error. If the newest says the same, search vLLM's issues for {words}",
    )


def _installable(fix: Fix, context: Context) -> Fix:
    """Return an upgrade of vLLM with an environment of its own where the paths show a Python that newer releases refuse."""
    wanted = fix.installs()
    if wanted is None or wanted is not fix.actions[0] or not (least(wanted) or wanted.upgrade):
        return fix
    python = _python(context)
    if not python:
        return fix
    last, goal = _LAST[python], least(wanted) or fix.fixed_in
    # Where no release is told that one needs, any newer one is the upgrade.
    enough = in_range(last, f">={goal}") if goal else not in_range(context.release, f">={last}")
    if last and enough:
        return fix
    why = f"The paths show Python {python}, for which there is no release."
    if last:
        why = f"The paths show Python {python}, for which {last} is the last release: in this environment pip goes no further."
    installs = [replace(each, by="uv pip", upgrade=False) for each in fix.actions if isinstance(each, Install)]
    others = [each for each in fix.actions if not isinstance(each, (Install, UseImage))]
    return replace(
        fix, actions=(Run("uv venv --python 3.12"), *installs, *others), remark="" if isinstance(fix.actions[-1], UseImage) else fix.remark,
        why=because(fix, why),
    )  # fmt: skip


def _python(context: Context) -> str:
    frames = context.trace.frames if context.trace is not None else []
    raw = "\n".join(frame.raw for frame in frames if "python3." in frame.raw)
    found = _PYTHON.search(raw or context.words)
    return found["version"] if found else ""


def _as_it_was(fix: Fix, context: Context) -> Fix:
    """Return a fix that installs the same vLLM anew with a bound for transformers, where pip would take today's.

    Up to 0.11.0 the releases name the least transformers alone: it was the newest, or nearly, when they were made.
    """
    wanted = fix.installs()
    if (
        wanted is None
        or not wanted.spec.startswith("==")
        or fix.installs("transformers")
        or "--no-deps" in wanted.flags
    ):
        return fix
    # Without either, the transformers that is there stays.
    anew = "--force-reinstall" in wanted.flags or "environment" in fix.tags
    release = wanted.spec[2:] if "$(" not in wanted.spec else context.told.partition("+")[0] or context.release
    bound = _bound(release) if anew else ""
    if not bound:
        return fix
    at = fix.actions.index(wanted) + 1
    more = replace(wanted, package="transformers", spec=bound)
    why = "This release sets transformers no upper bound, so without one the newest would come, which it does not know."
    return replace(fix, actions=(*fix.actions[:at], more, *fix.actions[at:]), why=because(fix, why))


def _bound(release: str) -> str:
    """Return ``~=4.45.0`` for a release that asks for no more than its least transformers; "" for others."""
    from ....corpus import model_types, options

    asked = model_types.asked_by(release)
    if asked.startswith(">=4.") and "," not in asked:
        return f"~={asked[2:]}"
    oldest = options.releases()[0]
    key, first = options.version_key(release), options.version_key(oldest)
    first_asked = model_types.asked_by(oldest)
    older = key is not None and first is not None and key < first
    return f"<={first_asked[2:]}" if older and first_asked.startswith(">=4.") else ""
