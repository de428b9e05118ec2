"""Where no rule speaks: what the place that raised an error says of it, else what its words say whatever the program."""

from __future__ import annotations

from ...corpus.actions import Run, Step
from ..fix import OF_ERROR, OF_SOURCES, Fix, leave_out
from ..idioms import idiom_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..raise_sites.explain import Explained
    from ..verdict.types import Verdict


def of_error(verdict: Verdict, site: Explained | None) -> tuple[list[Fix], str]:
    """Return the fix that goes before those of a guess, where there is one, and what explains the error beside the site.

    Args:
        verdict: That no rule made.
        site: What vLLM's sources say of the place that raised the error; None where it is none of theirs.
    """
    if site is not None:
        return _without(site), ""
    hit = verdict.hit
    trace = hit.trace if hit is not None else None
    told = hit.line.text if hit is not None else verdict.evidence[-1].text if verdict.evidence else ""
    found = idiom_of(f"{trace.kind}: {trace.message}" if trace is not None and trace.kind else told)
    if found is None:
        return [], ""
    does = Run(found.do) if found.is_command else Step(found.do)
    kind = "command" if found.is_command else "step"
    return [
        Fix(found.title, kind, (does,), "It follows from the words of the error.", "none", source=OF_ERROR, whole=True)
    ], found.says


def _without(site: Explained) -> list[Fix]:
    """Return the fix that takes back the option for which alone an error is raised."""
    option = site.asked_for
    if not option:
        return []
    what = "What the option does."
    return [
        Fix(f"Start without {option}", "flag", leave_out([option]), site.sentence, what, option=option, restart=True, source=OF_SOURCES, whole=True)
    ]  # fmt: skip
