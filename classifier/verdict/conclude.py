"""Makes a verdict: the words of a cause with the log's values, and what to say where only a model guessed."""

from __future__ import annotations

from collections.abc import Iterable

from ...corpus.records import replace
from ...corpus.types import Cause, Rule
from ..facts.fingerprint import short_path
from ..lines.mistakes import MISTAKES
from ..lines.types import Line, Trace
from ..masking.mask import mask
from ..matching.types import Hit
from ..templates import sentences
from . import policy
from .culprit import culprit, unwrapped
from .refused_allocation import refused_allocation
from .types import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..facts.types import Facts
    from ..text_model.guess import Guess
    from .findings import Findings

GENERIC = "unspecified"
"""Cause of an answer that tells the bucket alone."""
LONGEST = 100
"""Characters of an error's words in a title."""
_NO_CAUSE = Cause(id="", title="", summary="")


def conclude(  # noqa: PLR0913 - the parts of a verdict
    found: Findings,
    bucket: str,
    cause: str,
    confidence: float,
    decided_by: str,
    way: str,
    hit: Hit | None = None,
    values: Facts | None = None,
) -> Verdict:
    """Return the verdict that names a bucket and a cause, with the cause's words.

    Args:
        found: What the start shows.
        bucket: What failed; ``no_failure`` where nothing did.
        cause: Within the bucket, whether or not a rule file describes it.
        confidence: From 0 to 1.
        decided_by: ``rule``, ``model``, ``stage`` or ``none``.
        way: The same more closely.
        hit: What decided, where single words did.
        values: What the words may say besides the facts.
    """
    incident = found.incident
    about = found.known.bucket(bucket)
    entry = about.cause(cause) or _NO_CAUSE
    captures = dict(hit.captures) if hit is not None else {}
    if bucket != "no_failure":
        captures = {**culprit(hit, incident), **refused_allocation(hit), **captures}
    told = {**incident.facts, **captures, **(values or {})}
    # What holds for every log of the cause is for `explain`; a user's own words are said as they were written.
    alone = decided_by == "rule" and found.known.corpus.own.isdisjoint((bucket, f"{bucket}/{cause}"))
    return Verdict(
        incident,
        bucket,
        f"{bucket}/{cause}",
        round(min(0.99, max(0.05, confidence)), 3),
        decided_by,
        sentences(entry.title, told) or about.title,
        sentences(entry.summary, told, alone) or ("" if alone else _first_sentence(about.meaning)),
        way,
        hit,
        captures,
        sentences(entry.confirm, told),
        sentences(entry.refute, told),
    )


def conclude_finding(
    found: Findings,
    finding: str,
    confidence: float,
    decided_by: str,
    item: Trace | Line | None = None,
    values: Facts | None = None,
) -> Verdict:
    """Return the verdict with the cause that the corpus gives for a finding that no rule makes (``corpus.findings``).

    ``item`` is the exception, or the line, that is advised on.
    """
    bucket, cause = found.known.corpus.concluded_from(finding)
    hit = as_hit(item, bucket, cause) if item is not None else None
    return conclude(found, bucket, cause, confidence, decided_by, finding, hit, values)


def conclude_guess(found: Findings, guess: Guess, item: Trace | Line | None = None) -> Verdict:
    """Return the verdict that the text model gives: its bucket, what can be said of the cause, and that it is a guess.

    ``item`` is the exception, or the line, that no rule knows.
    """
    from .likely_cause import likely_cause

    known, bucket, share = found.known, guess.bucket, guess.probability
    way = "model_with_stack" if guess.frames else "model"
    if not (guess.own or known.alone) and share > 0.5:
        share = 0.5 + policy.GUESS_TRUST[way] * (share - 0.5)
    written = bucket in known.corpus.buckets()
    nearest = likely_cause(bucket, _terms(guess, item), known.corpus) if written else ""
    cause = nearest or guess.cause
    hit = as_hit(item, bucket, cause) if item is not None else None
    verdict = conclude(found, bucket, cause or GENERIC, share, "model", "own_model" if guess.own else way, hit)
    titles = known.guesser.titles if known.guesser is not None and not written else {}
    asked = guess.own or known.alone
    whose = "A model trained on your own logs" if guess.own else "The text model"
    told = f"{whose} puts it nearest to {bucket}, with {round(100 * verdict.confidence)} % confidence"
    told += ": no rule was asked." if known.alone else ": no rule knows these words."
    if guess.frames:
        told += f" The stack ends in {guess.frames[0]}."
    if cause:
        told += f" The cause within the bucket with the most similar words, or the same place, is {cause}."
    elif not written:
        told += " No rule file describes this bucket, so there are no fixes to offer."
    more = (f"All causes of {bucket}, and their fixes: vllm-triage explain {bucket}",) if written else ()
    likely = f"Probably: {titles.get(bucket, verdict.title)}"
    # What a class is called, and what is true of its causes, may be wrong of this log: its own words and place never are.
    headline = "" if asked else words_of(item)
    return replace(
        verdict,
        title=headline or likely,
        summary=f"{told} {verdict.summary}".rstrip() if asked else "" if headline else told,
        confirm=verdict.confirm if cause and asked else "",
        refute=verdict.refute if cause and asked else "",
        evidence=tuple(guess.evidence),
        alternatives=tuple((name, round(chance, 3)) for name, chance in guess.ranked[1:4]),
        notes=(told, *more) if headline else more,
        explanation=(guess.described(),),
    )


def words_of(item: Trace | Line | None) -> str:
    """Return what nobody knows in its own words: an exception with its place, a line; "" for nothing."""
    if isinstance(item, Trace):
        place = titled(item)
        said = unwrapped(f"{item.kind}: {' '.join(item.message.split())}").removesuffix(": ")
        return place.replace(item.kind, _cut(said), 1) if place else _cut(said if item.kind else item.text)
    return _cut(item.text) if item is not None else ""


def said_by(item: Trace | Line | None) -> Facts:
    """Return the words of what nobody knows as what a title ends with; nothing for none."""
    said = words_of(item)
    return {"said": f": {said}"} if said else {}


def _cut(text: str) -> str:
    # A name that is cut off no longer says that the value before it is a secret.
    text = mask(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def titled(item: Trace | Line | None) -> str:
    """Return an exception by its class and its place, vLLM's innermost before others'; "" where it has none."""
    if not isinstance(item, Trace) or not item.kind or not item.frames:
        return ""
    frame = next((each for each in reversed(item.frames) if short_path(each.path)), item.frames[-1])
    return f"{item.kind} in {frame.function.rpartition('.')[2]} ({'/'.join(frame.path.split('/')[-2:])})"


def with_alternatives(verdict: Verdict, found: Findings, *more: str) -> Verdict:
    """Return a verdict with the buckets of all candidates, then those of ``more``, as what else it may be."""
    names = dict.fromkeys([*(candidate.bucket for candidate in found.candidates), *more])
    others = [name for name in names if name != verdict.bucket][:5]
    left = 1 - verdict.confidence
    ranked = [(name, round(max(0.01, left * 0.5 / rank), 3)) for rank, name in enumerate(others, 1)]
    return replace(verdict, alternatives=(*verdict.alternatives, *ranked))


def also(verdict: Verdict, found: Findings) -> tuple[str, ...]:
    """Return the buckets as which the cause of a verdict shows itself as well."""
    entry = found.known.bucket(verdict.bucket).cause(verdict.cause.partition("/")[2])
    return tuple(entry.also) if entry is not None else ()


def halved(verdict: Verdict, names: Iterable[str]) -> tuple[tuple[str, float], ...]:
    """Return other buckets with what a verdict leaves of the confidence: half of it, a third, a quarter."""
    left, others = 1 - verdict.confidence, [name for name in dict.fromkeys(names) if name != verdict.bucket]
    return tuple((name, round(left / rank, 3)) for rank, name in enumerate(others, 2))


def as_hit(item: Trace | Line, bucket: str, cause: str, package: str = "vllm", of_request: bool = False) -> Hit:
    """Return an exception or a line that decides without a rule in the form of a hit.

    Args:
        item: What decides.
        bucket: What is answered.
        cause: Within the bucket.
        package: Who says it; ``vllm``, or a package around it.
        of_request: Whether it ends one request and not the server.
    """
    rule = Rule(id="", role="cause", cause=cause, scope="request" if of_request else "any", source=package)
    rule.prepare({}, {})
    rule.bucket = bucket
    if isinstance(item, Line):
        return Hit(rule, item, {})
    return Hit(rule, Line(item.number, item.text, item.process, item.level, raw=item.raw or item.text), {}, item)


def _first_sentence(meaning: str) -> str:
    """Return what a bucket means in short: for an answer whose own words all hang on values that the log does not tell."""
    return meaning.partition(". ")[0].rstrip(".") + "." if meaning else ""


def _terms(guess: Guess, item: Trace | Line | None) -> set[str]:
    """Return the terms by which a cause is looked for: of an exception of the code's own its words, for others tell another matter."""
    if not isinstance(item, Trace) or not item.frames or item.kind not in MISTAKES | {"ValueError", "RuntimeError"}:
        return guess.terms
    return {f"w:{word}" for word in (item.kind, *item.message.split())}
