"""What to do about a verdict: fixes that hold for this log, best first (docs/advice.md)."""

from __future__ import annotations

from ...corpus.records import Record, record, replace
from ...corpus.remedies.find import SOURCE
from ...corpus.types import Bucket, Cause
from ..command import corrected_command
from ..fix import Fix
from ..lines.mistakes import MISTAKES
from ..raise_sites.explain import Explained, explain
from ..situation.releases import gone_from, reference
from ..situation.situate import situate
from ..verdict.known import Known
from ..verdict.types import Verdict
from .context import Context
from .pipeline import sift
from .signs import Signs
from .sources.cause import advise as fill_in
from .sources.cause import led_by_the_log, worked_out
from .sources.message import remedy_for

_OLD_HUB = ("huggingface_hub/utils/_errors", "huggingface_hub.utils._errors")
"""A module that later clients of the hub have elsewhere."""
_FAULTS = "engine_bug"
_KERNELS = frozenset({"experts", "attention", "all_reduce", "all2all"})
"""Parts of vLLM of which there are several, to choose from by an option."""


@record(slots=True, frozen=True)
class Advice(Record):
    """What is advised."""

    fixes: tuple[Fix, ...] = ()
    """Ranked."""
    withheld: tuple[tuple[str, str], ...] = ()
    """Fixes that were left out, by title, each with the reason."""
    corrected_command: str = ""
    """The start command with the first fix applied; "" where that cannot be pasted."""
    notes: tuple[str, ...] = ()
    explanation: tuple[str, ...] = ()


def advise(verdict: Verdict, known: Known) -> Advice:
    """Return what to do about a verdict.

    Args:
        verdict: What is wrong, with the start that it is about.
        known: The texts of the buckets.
    """
    hit, incident, corpus = verdict.hit, verdict.incident, known.corpus
    guessed = verdict.failed and verdict.decided_by == "model"
    entry = _cause(verdict, known.bucket(verdict.bucket), guessed)
    captures: dict[str, object] = dict(verdict.captures)
    if guessed and verdict.bucket != _FAULTS:
        entry = _by_the_frame(entry, str(captures.get("component") or ""), known)
    signs = Signs(hit, incident) if verdict.failed else None
    facts = signs.facts if signs is not None else incident.facts
    bound = situate(incident).release
    release = reference(bound, corpus.releases)
    if signs is not None and release and not facts.get("vllm_version"):
        # What a release's defaults are is asked of the one that the log can have been written by.
        facts = signs.facts = {**facts, "assumed_release": release}
    if signs is not None and any(name in signs.words for name in _OLD_HUB):
        captures["old_hub_client"] = True
    gone = gone_from(hit.rule.versions, bound) if hit is not None and hit.rule.source == "vllm" else ""
    say = signs.say if signs is not None else None
    remedy = remedy_for(hit, corpus, str(facts.get("platform") or "")) if signs is not None else None
    if remedy is not None and (
        led_by_the_log(entry, facts, captures, say) or (remedy.plain and worked_out(entry, {**captures, **facts}, say))
    ):
        remedy = None  # the log shows which of the cause's fixes to begin with, or has the numbers for the first
    leads = None
    if remedy is not None:
        leads = fill_in(replace(entry, fixes=remedy.fixes), facts, {**captures, **remedy.values}, bound, gone, say)
    context = Context.of(hit, incident, release, signs)
    fixes, withheld = sift(
        fill_in(entry, facts, captures, bound, gone, say), context, corpus.guards(), leads, verdict.failed
    )
    led = any(fix.source == SOURCE for fix in fixes)
    if guessed and not led:
        from .sources.guess import as_guess

        fixes = as_guess(fixes, _own_fault(verdict))
    site = explain(hit.line.text, hit.trace, facts, bound) if verdict.failed and hit is not None and not led else None
    if site is not None and site.asked_for and (guessed or verdict.decided_by != "rule"):
        fixes = [_without(site), *(fix for fix in fixes if site.asked_for not in fix.change)]
        for rank, fix in enumerate(fixes, 1):
            fix.rank = rank
    notes = [*([site.sentence] if site is not None else []), *([bound.note()] if verdict.failed and fixes else [])]
    return Advice(
        tuple(fixes),
        tuple(withheld),
        corrected_command(facts, fixes) if verdict.failed else "",
        tuple(filter(None, notes)),
        (f"the advice is the message's own: {remedy.words}",) if remedy is not None and led else (),
    )


def _without(site: Explained) -> Fix:
    """Return the fix that takes back the option for which alone an error is raised."""
    option = site.asked_for
    return Fix(
        0, f"Start without {option}", "flag", f"leave out {option}", site.sentence, "What the option does.", "", option,
        restart=True, source="vLLM's sources", exact=True,
    )  # fmt: skip


def _cause(verdict: Verdict, bucket: Bucket, guessed: bool) -> Cause:
    """Return the cause of a verdict; where there is none, or it was guessed, with what holds for all of its bucket."""
    entry = bucket.cause(verdict.cause.partition("/")[2])
    if entry is not None and not guessed:
        return entry
    from .sources.guess import generic_cause, searchable

    return generic_cause(bucket) if entry is None else searchable(entry)


def _by_the_frame(entry: Cause, component: str, known: Known) -> Cause:
    """Return what is advised for a guess with the kernel in front that the innermost frames name: they are surer than words."""
    if component not in _KERNELS:
        return entry
    faults = known.bucket(_FAULTS).cause("runner_fault")
    fixes = tuple(fix for fix in faults.fixes if f"component == {component}" in fix.when) if faults is not None else ()
    return replace(entry, fixes=(*fixes, *entry.fixes))


def _own_fault(verdict: Verdict) -> bool:
    """Tell whether an exception of Python's own was raised in vLLM's code."""
    trace = verdict.hit.trace if verdict.hit is not None else None
    return trace is not None and trace.kind in MISTAKES and any(f.path.startswith("vllm/") for f in trace.frames[-1:])
