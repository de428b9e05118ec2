"""What to do about a verdict: fixes that hold for this log, best first (docs/advice.md)."""

from __future__ import annotations

from ...corpus.records import Record, record
from ...corpus.remedies.find import SOURCE
from ...corpus.types import Bucket, Cause
from ..command import corrected_command
from ..fix import LEADING, OF_SOURCES, Fix, leave_out, ranked
from ..lines.mistakes import MISTAKES
from ..verdict.conclude import words_of
from ..verdict.known import Known
from ..verdict.types import Verdict
from .context import Context
from .pipeline import fitted, sift
from .track_record import shown, with_clue_ahead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..proposal import Heard
    from ..raise_sites.explain import Explained
    from .opinions import Opinion

SILENT = (
    "No fix is sure enough to be shown. What was left out, and why: -v, 'withheld' in JSON, 'left out' on the page. For whoever can "
    "conclude from the evidence: --format prompt, 'Copy for an assistant' on the page."
)


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
    opinions: tuple[Opinion, ...] = ()
    """What is left of what others propose."""
    mechanism: str = ""
    """What was tested and failed, where the verdict's own words do not say."""
    title: str = ""
    """What to say in the title's place: where it failed, of a class that was guessed by its place alone."""


def advise(verdict: Verdict, known: Known, judged: bool = True, heard: Sequence[Heard] = ()) -> Advice:
    """Return what to do about a verdict.

    Args:
        verdict: What is wrong, with the start that it is about.
        known: The texts of the buckets.
        judged: Whether fixes of a kind that was seldom right are left out (``track_record``). Fixes of users' own models and rules never are.
        heard: What others propose, a language model above all.
    """
    if verdict.cause == "/".join(known.corpus.concluded_from("below_threshold")):
        return Advice()
    guessed = verdict.failed and verdict.decided_by == "model"
    entry = _cause(verdict, known.bucket(verdict.bucket), guessed)
    context = Context.of(verdict, entry, known.corpus)
    fixes, withheld = sift(context, known.corpus.guards())
    led = any(fix.source == SOURCE for fix in fixes)
    if guessed and not led:
        from .sources.cause import as_guess

        fixes = as_guess(fixes, _own_fault(verdict))
    hit, remedy = verdict.hit, context.remedy if led else None
    unsure = verdict.failed and not led and (verdict.decided_by != "rule" or verdict.strength in ("guess", "weak"))
    site, failed_test = None, ""
    if hit is not None and verdict.failed and (verdict.strength != "certain" or not verdict.summary):
        from ..raise_sites.explain import explain
        from .mechanism import mechanism

        site = explain(hit.line.text, hit.trace, context.facts, context.bound)
        failed_test = site.sentence if site is not None and verdict.summary else ""
        if not failed_test and (unsure or not verdict.summary):
            failed_test = mechanism(context, site)
    if unsure and site is not None and verdict.strength != "weak":
        fixes = ranked([*_without(site), *fixes])
    of_ours = verdict.failed and not _own(verdict, known)
    judged = judged and of_ours
    fixes = with_clue_ahead(fixes, verdict) if of_ours else fixes
    fixes, guesses = shown(fixes, verdict) if judged else (fixes, [])
    withheld = [*withheld, *guesses]
    if judged and not fixes:
        from .sources.clue import spare

        held = (fitted(fix, context, known.corpus.guards())[0] for fix in spare(context))
        fixes = shown([fix for fix in held if fix is not None], verdict)[0]
    headline = _headline(verdict, site is not None)
    if fixes and fixes[0].tier == LEADING:
        from .mechanism import leading

        # The log shows another mechanism than the cause's words: it is said once, above.
        headline, rest = leading(context)
        failed_test = rest or (site.sentence if site is not None else "")
    opinions: list[Opinion] = []
    if heard and verdict.failed:
        from .opinions import joined, weighed

        opinions = [weighed(one, context, known.corpus.guards(), verdict) for one in heard]
        fixes, opinions, fallen = joined(fixes, opinions)
        withheld = [*withheld, *fallen]
    from .effects import with_effects

    fixes = with_effects(fixes, context, verdict, known.corpus.effects())
    return Advice(
        tuple(fixes),
        tuple(withheld),
        corrected_command(context.facts, fixes) if verdict.failed else "",
        tuple(filter(None, (_mended(context, fixes), *_notes(verdict, fixes, bool(guesses), context.bound.note())))),
        (f"the advice is the message's own: {remedy.words}",) if remedy is not None else (),
        tuple(opinions),
        failed_test,
        headline,
    )


def _headline(verdict: Verdict, explained: bool) -> str:
    """Return the error's own words, where a rule knew no more than its place: what its class is called may be of another fault there."""
    hit = verdict.hit
    if hit is None or hit.trace is None or verdict.decided_by != "rule" or verdict.strength not in ("weak", "guess"):
        return ""
    return words_of(hit.trace) if explained or hit.rule.place_alone else ""


def _without(site: Explained) -> list[Fix]:
    """Return the fix that takes back the option for which alone an error is raised, where no rule speaks."""
    option = site.asked_for
    if not option:
        return []
    what = "What the option does."
    return [
        Fix(f"Start without {option}", "flag", leave_out([option]), site.sentence, what, option=option, restart=True, source=OF_SOURCES, whole=True)
    ]  # fmt: skip


def _own(verdict: Verdict, known: Known) -> bool:
    """Return whether a user's own model decided, or own rules have the words: the record knows nothing of them."""
    return verdict.way == "own_model" or not known.corpus.own.isdisjoint((verdict.bucket, verdict.cause))


def _mended(context: Context, fixes: list[Fix]) -> str:
    """Return which change to vLLM mended what failed, where no fix tells of it; "" where none is known."""
    known = context.mended if context.failed else None
    if known is None or any(fix.fixed_in == known.release for fix in fixes):
        return ""
    return f"{known.fact} The log does not say which release ran." if known.older else known.fact


def _notes(verdict: Verdict, fixes: list[Fix], guessed: bool, of_release: str) -> tuple[str, ...]:
    if not verdict.failed:
        return ()
    if fixes:
        return (of_release,)
    return (SILENT,) if guessed else ()


def _cause(verdict: Verdict, bucket: Bucket, guessed: bool) -> Cause:
    """Return the cause of a verdict; where there is none, or it was guessed, with what holds for all of its bucket."""
    entry = bucket.cause(verdict.cause.partition("/")[2])
    if entry is not None and not guessed:
        return entry
    from .sources.cause import generic_cause, searchable

    return generic_cause(bucket) if entry is None else searchable(entry)


def _own_fault(verdict: Verdict) -> bool:
    """Return whether an exception of Python's own was raised in vLLM's code."""
    trace = verdict.hit.trace if verdict.hit is not None else None
    return trace is not None and trace.kind in MISTAKES and any(f.path.startswith("vllm/") for f in trace.frames[-1:])
