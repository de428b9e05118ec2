"""Where vLLM came from: upgrades and searches go to the plug-in, the framework or the checkout in whose hands it is."""

from __future__ import annotations

from ...corpus.records import replace
from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern
from .looks import TRACKER
from .pins import UPGRADE, fork_of, pinned_by, tracker_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

LATER = "to a later release"
"""In a step: where a release stands once one is known."""
_INSTALLS = LazyPattern(r"\b(?:uv )?pip3? install\b[^;&|#\n]*?(?:^|[\s'\"])vllm(?:[=<>~!\[ '\"]|$)")
PLAIN_UPGRADE = LazyPattern(r"\bpip3? install (?:-U|--upgrade) '?vllm'?(?:\s|$)")
_LEAST = LazyPattern(r"\bvllm[>=]=(?P<release>\d[\w.]*)")
_CHECKOUT = LazyPattern(r"(?!0\.[01]\.dev)\d+\.\d+(?:\.\d+)?(?:\.post\d+)?(?:rc\d+)?\.dev\d+\+g[0-9a-f]{6,}")
"""Versions that setuptools-scm makes of a commit behind a release; without tags (forks) it counts from 0.1."""


def from_registry(situation: Situation) -> bool:
    """Whether this vLLM can be replaced by another wheel of the registry."""
    return not situation.own_build and situation.platform in ("", "cuda") and not pinned_by(situation)


def from_whom(fix: Advice, situation: Situation) -> tuple[Advice | None, str]:
    """Send upgrades and searches to the plug-in or the framework in whose hands this vLLM is.

    Args:
        fix: As it holds otherwise.
        situation: Of the failed start.
    """
    if (PLAIN_UPGRADE.search(fix.change) or UPGRADE.search(fix.title)) and (name := pinned_by(situation)):
        step = f"Upgrade {name}, and vLLM to the release that it is made for"
        return _instead(fix, step, f"{name} calls vLLM's own code, and goes with few releases of it."), ""
    if fix.change.startswith(TRACKER) and (name := tracker_of(situation)):
        change = f"search the issues of {name}'s repository for:{fix.change.partition(' for:')[2]}"
        return replace(fix, title=f"Search {name}'s issues for this error", change=change), ""
    return fix, ""


def installed_from(fix: Advice, situation: Situation) -> tuple[Advice | None, str]:
    """Keep the registry's vLLM away from builds that it would replace by another program.

    Args:
        fix: As it holds otherwise.
        situation: Of the failed start.
    """
    if not _INSTALLS.search(fix.change):
        return fix, ""
    from ...corpus import options

    newest = options.releases()[-1]
    if PLAIN_UPGRADE.search(fix.change) and (fork := fork_of(situation)):
        step = f"Take the newest release of {fork} (a tag or an image), with the driver and SDK that it names"
        return _instead(fix, step, "pip would put vLLM's own release in its place."), ""
    if situation.own_build:
        return _built_anew(fix, situation), ""
    if situation.platform not in ("", "cuda"):
        step = f"Install a newer build for {situation.platform} from where this one came (its wheel index or image)"
        return _instead(fix, step, "The registry's wheel of vLLM is the one for CUDA."), ""
    if situation.told.partition("+")[0] == newest and PLAIN_UPGRADE.search(fix.change):
        return None, f"{newest} is the newest release that is known"
    return fix, ""


def _built_anew(fix: Advice, situation: Situation) -> Advice:
    """Return what a fix installs as a step for who builds vLLM: pip would put another program in its place."""
    build = "This build of vLLM is not a release of the registry: pip would put another program in its place."
    if situation.from_checkout:
        build = "vLLM runs from a checkout of its sources: pip would put another program in its place."
    if not situation.from_checkout and _CHECKOUT.match(situation.told) is None:
        step = "Take the change over where the build comes from (its repository or image) and build it anew"
        return _instead(fix, step, build)
    named = _LEAST.search(fix.change)
    goal = named["release"] if named else fix.fixed_in
    to = f"to {goal} or later" if goal else LATER
    step = f"Update the checkout of vLLM's sources that this build was made of {to}, build it anew, and let it bring the packages that it pins"
    return _instead(fix, step, build)


def _instead(fix: Advice, change: str, why: str) -> Advice:
    return replace(fix, kind="step", change=change, why=f"{fix.why} {why}".strip(), option="", value="", exact=False)
