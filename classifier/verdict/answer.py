"""Builds an answer: the words and fixes of a cause, the lines that prove it, and what to say where only a model guessed."""

from __future__ import annotations

from collections.abc import Callable

from ...corpus.records import replace
from ...corpus.remedies.find import SOURCE
from ...corpus.store import Corpus
from ...corpus.types import Bucket, Cause
from ..advice.culprit import culprit
from ..advice.fixes import advise, led_by_the_log, worked_out
from ..advice.gate import sift
from ..advice.refused_allocation import refused_allocation
from ..advice.remedy import as_hit, remedy_for
from ..advice.signs import Signs
from ..command import corrected_command
from ..diagnosis import Diagnosis, Evidence
from ..incidents.types import Incident
from ..lines.mistakes import MISTAKES
from ..lines.types import Line, Trace
from ..matching.types import Hit
from ..patterns.lazy import LazyPattern
from ..situation.releases import gone_from, reference
from ..situation.situate import situate
from ..templates import sentences
from . import policy
from .types import Candidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..text_model.guess import Guess, Guesser

NO_BUCKET = ("unknown", "no_failure")
"""What the text model may say that is no failure of a known kind."""
QUOTED = 30
"""Characters of an exception's message from which on a later line that holds it quotes it."""
_FAULTS = "engine_bug"
_KERNELS = frozenset({"experts", "attention", "all_reduce", "all2all"})
"""Parts of vLLM of which there are several, to choose from by an option."""
ABOVE = 2
"""Lines above the deciding one among which the head is that it continues."""
BELOW = 4
"""Lines below it among which pydantic says what was wrong, after it has counted."""
CAUSES = 4
"""Lines that say the same cause, of which so many are shown, the places of exceptions not counted."""
LONG = 40
"""Characters of a line from which on it may have been wrapped."""
ENDS = ".:;!?)]}'\"`"
"""Characters with which a line of a message ends that does not go on in the next."""
_COUNTED = LazyPattern(r"\b\d+ validation errors? for ")
_REASON = LazyPattern(r"\b(?:Value error|Assertion failed), |\bInput should |\bExtra inputs are |\bField required\b")
_HEAD = LazyPattern(r"\s*(?:CMake Error at \S|ERROR: |error: |Error: |fatal error: )")
"""How tools begin an error whose telling words stand on the next line."""
GENERIC = "unspecified"
"""Cause of an answer that tells the bucket alone."""


class Known:
    """What decisions draw on: the texts of the buckets, and the text model where it may be asked."""

    __slots__ = ("_guesser", "alone", "corpus")

    def __init__(self, corpus: Corpus, guesser: Callable[[], Guesser] | None, alone: bool = False) -> None:
        self.corpus = corpus
        self.alone = alone
        """Whether the rules that decide are silent."""
        self._guesser = guesser

    @property
    def guesser(self) -> Guesser | None:
        """The text model, read when first asked for; None where it must not be asked."""
        return self._guesser() if self._guesser is not None else None

    def answers(self, guess: Guess, least: float) -> bool:
        """Tell whether a guess names a failure, and is sure enough to be the answer."""
        return guess.bucket not in NO_BUCKET and guess.probability >= least

    def bucket(self, name: str) -> Bucket:
        """Return a bucket with its causes; one with a title made of its name where no rule file has it."""
        try:
            return self.corpus.bucket(name)
        except KeyError:
            title = name.replace("_", " ").replace("-", " ")
            return Bucket(name, title[:1].upper() + title[1:], "")


def answer_for(  # noqa: PLR0913 - the parts of an answer
    bucket: str, cause: str, confidence: float, decided_by: str, known: Known, incident: Incident, hit: Hit | None
) -> Diagnosis:
    """Return the answer that names a bucket and a cause, with the cause's words and fixes."""
    known_bucket = known.bucket(bucket)
    entry = known_bucket.cause(cause)
    guessed = decided_by == "model"
    if entry is None or guessed:
        from ..advice.cause_of_guess import as_guess, generic_cause, searchable

        entry = generic_cause(known_bucket) if entry is None else searchable(entry)
    captures = dict(hit.captures) if hit is not None else {}
    if bucket != "no_failure":
        captures = {**culprit(hit, incident), **refused_allocation(hit), **captures}
    if guessed and known_bucket.id != _FAULTS:
        entry = _by_the_frame(entry, str(captures.get("component") or ""), known)
    values = {**incident.facts, **captures}
    signs = Signs(hit, incident) if bucket != "no_failure" else None
    facts = signs.facts if signs is not None else incident.facts
    bound = situate(incident).release
    release = reference(bound, known.corpus.releases)
    if signs is not None and release and not facts.get("vllm_version"):
        # What a release's defaults are is asked of the one that the log can have been written by.
        facts = signs.facts = {**facts, "assumed_release": release}
    gone = gone_from(hit.rule.versions, bound) if hit is not None and hit.rule.source == "vllm" else ""
    say = signs.say if signs is not None else None
    known_fixes = advise(entry, facts, captures, bound, gone, say)
    remedy = remedy_for(hit, known.corpus, str(facts.get("platform") or "")) if signs is not None else None
    if remedy is not None and (
        led_by_the_log(entry, facts, captures, say) or (remedy.plain and worked_out(entry, {**captures, **facts}, say))
    ):
        remedy = None  # the log shows which of the cause's fixes to begin with, or has the numbers for the first
    leads = None
    if remedy is not None:
        leads = advise(replace(entry, fixes=remedy.fixes), facts, {**captures, **remedy.values}, bound, gone, say)
    fixes, withheld = sift(known_fixes, hit, incident, release, signs, leads)
    led = any(fix.source == SOURCE for fix in fixes)
    if guessed and not led:
        trace = hit.trace if hit is not None else None
        fault = trace is not None and trace.kind in MISTAKES and trace.frames[-1:] and trace.frames[-1].path
        fixes = as_guess(fixes, str(fault).startswith("vllm/"))
    return Diagnosis(
        bucket=bucket,
        cause=f"{bucket}/{cause}",
        confidence=round(min(0.99, max(0.05, confidence)), 3),
        decided_by=decided_by,
        rule=hit.rule.id if hit is not None else "",
        strength=hit.rule.strength if hit is not None and hit.rule.id else "",
        title=sentences(entry.title, values) or known_bucket.title,
        summary=sentences(entry.summary, values) or _first_sentence(known_bucket.meaning),
        fixes=fixes,
        withheld=withheld,
        corrected_command=corrected_command(facts, fixes) if bucket != "no_failure" else "",
        confirm=sentences(entry.confirm, values),
        refute=sentences(entry.refute, values),
        notes=[bound.note()] if signs is not None and bound.note() and fixes else [],
        explanation=[f"the advice is the message's own: {remedy.words}"] if remedy is not None and led else [],
    )


def _by_the_frame(entry: Cause, component: str, known: Known) -> Cause:
    """Return what is advised for a guess with the kernel in front that the innermost frames name: they are surer than words."""
    if component not in _KERNELS:
        return entry
    faults = known.bucket(_FAULTS).cause("runner_fault")
    fixes = tuple(fix for fix in faults.fixes if f"component == {component}" in fix.when) if faults is not None else ()
    return replace(entry, fixes=(*fixes, *entry.fixes))


def _first_sentence(meaning: str) -> str:
    """Return what a bucket means in short: for an answer whose own words all hang on values that the log does not tell."""
    return meaning.partition(". ")[0].rstrip(".") + "." if meaning else ""


def conclude(
    finding: str,
    confidence: float,
    decided_by: str,
    known: Known,
    incident: Incident,
    item: Trace | Line | None = None,
) -> Diagnosis:
    """Return the answer with the cause that the corpus gives for a finding that no rule makes (``corpus.findings``).

    ``item`` is the exception, or the line, that is advised on.
    """
    bucket, cause = known.corpus.concluded_from(finding)
    hit = as_hit(item, bucket, cause) if item is not None else None
    answer = answer_for(bucket, cause, confidence, decided_by, known, incident, hit)
    answer.way = finding
    return answer


def evidence_for(best: Candidate, incident: Incident) -> list[Evidence]:
    """Return the lines that prove a cause: the deciding one, its exception and place, and what says the same."""
    evidence = [evidence_of(best.hit, "cause")]
    taken = {best.hit.line.number}
    trace = best.hit.trace
    if trace is not None and trace.text and trace.number not in taken:
        evidence.append(Evidence(trace.number, trace.raw or trace.text, trace.process, "cause", trace.count))
        taken.add(trace.number)
    for item in _place(best.hit):
        if item.line not in taken:
            evidence.append(item)
            taken.add(item.line)
    same = [
        hit for hit in incident.hits if hit.rule.role == "cause" and hit.rule.bucket == best.bucket and not hit.quoted
    ]
    for item in _first_said(best.hit, incident):
        if item.line not in taken:
            evidence.append(item)
            taken.add(item.line)
    for hit in sorted(same, key=lambda item: (item.rule.cause != best.cause, item.line.number)):
        if hit.line.number in taken:
            continue
        taken.add(hit.line.number)
        told = next((item for item in evidence if item.text.endswith(hit.line.text)), None)
        if told is not None:
            # The same words from another process, or printed bare once more.
            told.count += hit.count
        elif sum(item.role == "cause" for item in evidence) < CAUSES:
            evidence.append(evidence_of(hit, "cause"))
    return evidence


def _first_said(hit: Hit, incident: Incident) -> list[Evidence]:
    """Return what belongs to the deciding words: the exception that they quote, the head of their error, what it counts."""
    text, number = hit.line.text, hit.line.number
    found = [
        Evidence(trace.number, trace.raw or trace.text, trace.process, "cause", trace.count)
        for trace in incident.traces
        if 0 < trace.number < number and trace.text and len(trace.message) >= QUOTED and trace.message.strip() in text
    ][:1]
    if not found and hit.trace is None:
        above = [item for item in incident.contexts.lines(number) if number - ABOVE <= item[0] < number]
        found = [Evidence(*item, "cause") for item in above if _HEAD.match(item[1])][-1:]
    if _goes_on(hit):
        below = [item for item in incident.contexts.lines(number) if number < item[0] <= number + ABOVE]
        found += [Evidence(*item, "cause") for item in below]
    elif _COUNTED.search(text):
        below = [item for item in incident.contexts.lines(number) if number < item[0] <= number + BELOW]
        found += [Evidence(*item, "cause") for item in below if _REASON.search(item[1])][:1]
    return found


def last_of_chain(hit: Hit) -> list[Evidence]:
    """Return the exception that a client's program shows in the end, raised from the deciding one: what its user has seen."""
    return [Evidence(item.line, item.text, item.process, "cause", item.count) for item in chain_of(hit)[-1:]]


def _goes_on(hit: Hit) -> bool:
    """Tell whether the first line of an exception's message breaks off in the middle of a sentence."""
    if hit.trace is None or hit.trace.number != hit.line.number:
        return False
    lines = [line.strip() for line in hit.trace.message.strip().splitlines()]
    return (
        len(lines) > 1
        and bool(lines[0] and lines[1])
        and len(lines[0]) >= LONG
        and lines[0][-1] not in ENDS
        and not lines[1][0].isupper()
    )


def _place(hit: Hit) -> list[Evidence]:
    """Return the frame that speaks for the cause: the one that the rule asks for, or where a wordless exception arose."""
    trace, rule = hit.trace, hit.rule
    if trace is None or not trace.frames:
        return []
    frames = trace.frames
    if rule.frames:
        expression = rule.expression("frames")
        frames = [
            frame for frame in frames if expression.search(f"{frame.path}:{frame.function}: {frame.code}")
        ] or frames
    elif trace.message.strip() and not rule.innermost:
        return []
    shown = [frames[-1]]
    if not trace.message.strip() and trace.frames[-1] is not frames[-1]:
        shown.append(trace.frames[-1])  # without words the line that failed is what was said
    lines = [line for frame in shown for line in ((frame.line, frame.raw), (frame.code_line, frame.code_raw))]
    return [Evidence(number, text, trace.process, "place") for number, text in lines if number and text]


def evidence_of(hit: Hit, role: str) -> Evidence:
    """Return the line on which a rule matched."""
    count = max(hit.count, hit.trace.count if hit.trace is not None and hit.trace.number == hit.line.number else 1)
    return Evidence(hit.line.number, hit.line.raw or hit.line.text, hit.line.process, role, count)


def line_evidence(line: Line) -> Evidence:
    """Return a line that may tell something."""
    return Evidence(line.number, line.raw or line.text, line.process, "telling")


def chain_of(hit: Hit) -> list[Evidence]:
    """Return the exceptions that were raised from the cause, in order."""
    links: list[Evidence] = []
    trace = hit.trace.cause_of if hit.trace is not None else None
    while trace is not None and len(links) < 6:
        if trace.text:
            links.append(Evidence(trace.number, trace.raw or trace.text, trace.process, "chain", trace.count))
        trace = trace.cause_of
    return links


def _terms(guess: Guess, item: Trace | Line | None) -> set[str]:
    """Return the terms by which a cause is looked for: of an exception of the code's own its words, for others tell another matter."""
    if not isinstance(item, Trace) or not item.frames or item.kind not in MISTAKES | {"ValueError", "RuntimeError"}:
        return guess.terms
    return {f"w:{word}" for word in (item.kind, *item.message.split())}


def answer_of_guess(guess: Guess, known: Known, incident: Incident, item: Trace | Line | None = None) -> Diagnosis:
    """Return the answer that the text model gives: its bucket, what can be said of the cause, and that it is a guess.

    ``item`` is the exception, or the line, that no rule knows.
    """
    from ..advice.cause_of_guess import likely_cause

    bucket, share = guess.bucket, guess.probability
    way = "model_with_stack" if guess.frames else "model"
    if not (guess.own or known.alone) and share > 0.5:
        share = 0.5 + policy.GUESS_TRUST[way] * (share - 0.5)
    titles = known.guesser.titles if known.guesser is not None else {}
    written = bucket in known.corpus.buckets()
    nearest = likely_cause(bucket, _terms(guess, item), known.corpus) if written else ""
    cause = nearest or guess.cause
    hit = as_hit(item, bucket, cause) if item is not None else None
    answer = answer_for(bucket, cause or GENERIC, share, "model", known, incident, hit)
    answer.way = "own_model" if guess.own else way
    if not written:
        answer.title = titles.get(bucket, answer.title)
    answer.title = f"Probably: {answer.title}"
    whose = "A model trained on your own logs" if guess.own else "The text model"
    told = f"{whose} takes it for {bucket}, with {round(100 * answer.confidence)} % confidence"
    told += ": no rule was asked." if known.alone else ": no rule knows these words."
    if guess.frames:
        told += f" The stack ends in {guess.frames[0]}."
    if nearest:
        told += f" The cause within the bucket is the one whose words are nearest ({cause})."
    elif cause:
        told += " The cause within the bucket is the one that this part of the code stands for."
    elif written:
        told += " It does not tell the cause; what is advised holds for most of them."
    else:
        told += " No rule file describes this bucket, so there are no fixes to offer."
    answer.summary = f"{told} {answer.summary}".rstrip()
    answer.evidence = guess.evidence
    answer.alternatives = [(name, round(chance, 3)) for name, chance in guess.ranked[1:4]]
    if written:
        answer.notes.append(f"All causes of {bucket}, and their fixes: vllm-triage explain {bucket}")
    answer.explanation.append(guess.described())
    return answer


def with_alternatives(answer: Diagnosis, candidates: list[Candidate], *more: str) -> Diagnosis:
    """Add the buckets of the candidates, then those of ``more``, as what else it may be; return the answer."""
    names: list[str] = []
    for candidate in candidates:
        if candidate.bucket not in names and candidate.bucket != answer.bucket:
            names.append(candidate.bucket)
    for name in more:
        if name not in names and name != answer.bucket:
            names.append(name)
    left = 1 - answer.confidence
    for index, name in enumerate(names[:5]):
        answer.alternatives.append((name, round(max(0.01, left * 0.5 / (index + 1)), 3)))
    return answer
