"""Builds the report of a verdict and its advice. Everything that came from the log is masked here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...corpus import options
from ...corpus.actions import to_json
from ...corpus.records import cast, replace
from ...corpus.stages import STAGE_ORDER
from ..command import FORMS, corrected
from ..fix import because
from ..masking.mask import mask, mask_lines, mask_value
from ..situation.releases import reference
from ..situation.situate import situate
from .model import (
    Action,
    Alternative,
    ContextLine,
    Corrected,
    Effect,
    Evidence,
    Filtered,
    Fix,
    Input,
    Memory,
    Prediction,
    Proposed,
    Report,
    Stage,
    Startup,
    Story,
    Way,
    Withheld,
)
from .shown import cut, one_line, printable, shown
from .telling import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from ..advice import Advice
    from ..advice.opinions import Opinion
    from ..facts.types import Facts
    from ..fix import Effect as Worked
    from ..fix import Fix as Advised
    from ..input.numbers import Numbers
    from ..lines.types import Evidence as Proof
    from ..verdict.types import Verdict

    Kind = Literal["flag", "env", "command", "step"]
    Decided = Literal["rule", "model", "stage", "none"]
    Basis = Literal["command", "arguments", "configuration"]
    By = Literal["ignore", "only"]
    Scope = Literal["start", "server", "requests"]


def build(verdict: Verdict, advice: Advice, lines: int, size: int, numbers: Numbers | None = None) -> Report:
    """Return the report of a verdict and its advice: masked, cut, without control characters.

    Args:
        verdict: What is wrong.
        advice: What to do about it.
        lines: How many were read, of the mended text where that has others than the input.
        size: Bytes that were read.
        numbers: Those of the input, for the lines of a mended text.
    """
    if numbers is not None:
        from .renumber import renumber

        verdict, lines = renumber(verdict, numbers), numbers.lines(lines)
    known = verdict.facts
    facts = {name: mask_value(name, value) for name, value in known.items()}
    secrets = _secrets(known, facts)
    clean = facts == known
    facts.pop("command", None)
    evidence = _evidence(verdict.evidence)
    rules = tuple(item.line for item in evidence if not item.mark)
    proposals = tuple(_proposed(opinion, rules) for opinion in advice.opinions)
    return Report(
        bucket=verdict.bucket,
        cause=verdict.cause,
        confidence=verdict.confidence,
        decided_by=cast("Decided", verdict.decided_by),
        title=_text(advice.title or verdict.title),
        summary=_text(" ".join(_said(verdict, advice)).strip()),
        evidence=evidence,
        symptoms=_evidence(verdict.symptoms),
        chain=_evidence(verdict.chain),
        context=_context(verdict.context),
        alternatives=tuple(Alternative(bucket=name, confidence=share) for name, share in verdict.alternatives),
        startup=Startup(reached=verdict.reached, stages=_stages(verdict)),
        facts=facts,  # type: ignore[arg-type] # what rules and readers found: the names that they have
        memory=_memory(known),
        fixes=tuple(_fix(fix, secrets) for fix in advice.fixes),
        withheld=_withheld(advice),
        proposals=proposals,
        corrected_command=_command(advice.corrected_command),
        corrected=_corrected(advice, _dated(verdict) if advice.corrected_command else known, clean),
        incidents=len(verdict.starts),
        story=_story(verdict, known),
        confirm="" if advice.title else _text(verdict.confirm),
        refute="" if advice.title else _text(verdict.refute),
        notes=tuple(_text(note) for note in (*(one.told for one in proposals), *advice.notes, *verdict.notes)),
        input=Input(lines=lines, bytes=size),
        filtered=_filtered(verdict),
        explanation=tuple(_text(line) for line in (*verdict.weighed, *advice.explanation, *verdict.explanation)),
        rule=verdict.rule,
        strength=verdict.strength,
        unread=_evidence(verdict.unread),
    )


def _memory(facts: Facts) -> Memory | None:
    if "weights_gib" not in facts or "kv_cache_available_gib" not in facts:
        return None
    from ..sizing.ledger import ledger, told

    book = ledger(facts)
    if book is None:
        return None
    return Memory(
        line=told(book, facts),
        total_gib=book.total_gib,
        share=book.share,
        budget_gib=book.budget_gib,
        weights_gib=book.weights_gib,
        kv_cache_gib=book.kv_cache_gib,
        activations_gib=book.activations_gib,
        others_gib=book.others_gib,
        rest_gib=book.rest_gib,
        graphs_gib=book.graphs_gib,
        kv_cache_needed_gib=book.kv_cache_needed_gib,
        missing=book.missing,
        ways=tuple(Way(change=way.change, context=way.context, yields=way.yields) for way in book.ways),
    )


def _text(text: str) -> str:
    return printable(mask(text))


def _command(text: str) -> str:
    # Line by line: in YAML the name of a secret may end one line, and the next begin with a key.
    return "\n".join(_text(line) for line in text.split("\n"))


def _evidence(lines: Iterable[Proof]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            line=item.line,
            text=shown(item.text),
            process=printable(item.process),
            count=item.count,
            mark=item.role == "mark",
        )
        for item in lines
    )


def _context(lines: tuple[Proof, ...]) -> tuple[ContextLine, ...]:
    # Together: what is a private key shows only over several lines.
    texts = mask_lines(one_line(item.text) for item in lines)
    return tuple(
        ContextLine(line=item.line, text=cut(text), process=printable(item.process))
        for item, text in zip(lines, texts, strict=True)
    )


def _story(verdict: Verdict, facts: Facts) -> Story | None:
    draft = verdict.story
    if draft is None:
        return None
    died = _evidence([draft.died_first]) if draft.died_first is not None else ()
    story = Story(
        scope=cast("Scope", draft.scope),
        start=draft.start,
        starts=draft.starts,
        first=draft.first,
        last=draft.last,
        starts_failed=draft.starts_failed,
        requests_failed=draft.requests_failed,
        died_first=died[0] if died else None,
        overcome=_evidence(draft.overcome),
        latent=tuple(_text(words) for words in draft.latent),
    )
    symptoms = [item.line for item in verdict.symptoms]
    proof = verdict.evidence[0].line if verdict.evidence else 0
    return replace(story, told=tell(story, verdict.bucket, proof, symptoms, facts, _text(draft.head)))


def _stages(verdict: Verdict) -> tuple[Stage, ...]:
    spans = sorted(verdict.stages, key=lambda span: (span.line, STAGE_ORDER[span.stage]))
    return tuple(Stage(stage=span.stage, line=span.line, time=span.time, seconds=span.seconds) for span in spans)


def _fix(fix: Advised, secrets: set[str]) -> Fix:
    def ours(text: str) -> str:
        # Our own advice names variables for tokens; only what came from the log may be masked in it.
        for secret in secrets:
            text = text.replace(secret, "<secret>")
        # What a model says may hold anything.
        return _text(text) if fix.proposed_by else printable(text)

    return Fix(
        rank=fix.rank,
        title=ours(_by(fix.title, fix.proposed_by)),
        kind=cast("Kind", fix.kind),
        option=ours(fix.option),
        value=ours(fix.value),
        change=ours(fix.change),
        why=ours(because(fix, fix.checked)),
        cost=ours(fix.cost),
        safety=fix.safety,
        confidence=fix.confidence,
        restart=fix.restart,
        root=fix.root,
        verify=ours(fix.verify),
        versions=fix.versions,
        fixed_in=fix.fixed_in,
        source=fix.source,
        proposed_by=ours(fix.proposed_by),
        actions=tuple(_action(each, ours) for each in to_json(fix.actions)),
        effect=_effect(fix.effect, ours) if fix.effect is not None else None,
    )


def _action(told: dict[str, object], ours: Callable[[str], str]) -> Action:
    def clean(value: object) -> object:
        if isinstance(value, list):
            return tuple(ours(each) for each in value)
        return ours(value) if isinstance(value, str) else value

    make: Callable[..., Action] = Action
    return make(**{name: clean(value) for name, value in told.items()})


def _effect(effect: Worked, ours: Callable[[str], str]) -> Effect:
    return Effect(
        changes=tuple(map(ours, effect.changes)),
        needs=tuple(map(ours, effect.needs)),
        predicts=tuple(Prediction(condition=condition, seen=seen) for condition, seen in effect.predicts),
        exists=effect.exists,
        costs=effect.costs,
        downloads=tuple(map(ours, effect.downloads)),
        restart_seconds=effect.restart_seconds,
        kv_cache_gib=effect.kv_cache_gib,
        kv_cache_needed_gib=effect.kv_cache_needed_gib,
    )


def _said(verdict: Verdict, advice: Advice) -> tuple[str, str]:
    """Return the summary's sentences: what was tested and failed goes before what the text model takes it for."""
    own = (verdict.summary, advice.mechanism)
    return own[::-1] if verdict.decided_by == "model" else own


def _by(title: str, who: str) -> str:
    """Return the title of a fix with who proposed it: whatever form shows it shows that it is no rule's."""
    return f"{title} (proposed by {who})" if who else title


def _withheld(advice: Advice) -> tuple[Withheld, ...]:
    rows = [(title, reason, "") for title, reason in advice.withheld]
    rows += [(*row, opinion.heard.proposal.source) for opinion in advice.opinions for row in opinion.withheld]
    return tuple(
        Withheld(title=_text(_by(title, who)), reason=_text(why), proposed_by=_text(who)) for title, why, who in rows
    )


def _proposed(opinion: Opinion, rules: tuple[int, ...]) -> Proposed:
    heard, proposal = opinion.heard, opinion.heard.proposal
    return Proposed(
        source=_text(proposal.source),
        cause="" if heard.problem else _text(proposal.cause),
        confidence=proposal.confidence,
        share=opinion.share,
        evidence=tuple(Evidence(line=line, text=shown(text)) for line, text in heard.lines),
        agrees=None if heard.problem else opinion.agrees,
        against=rules if opinion.agrees is False and not heard.problem else (),
        first=opinion.first,
        missing="" if heard.problem else _text(proposal.missing),
        problem=_text(heard.problem),
    )


def _dated(verdict: Verdict) -> Facts:
    """Return the facts of a start with the release whose options were asked for, where the log does not tell its own."""
    if verdict.facts.get("vllm_version"):
        return verdict.facts
    release = reference(situate(verdict.incident).release, options.releases())
    return {**verdict.facts, "assumed_release": release}


def _corrected(advice: Advice, facts: Facts, clean: bool) -> Corrected | None:
    forms = corrected(advice.corrected_command, facts, advice.fixes)
    if forms is None:
        return None
    if not clean:
        # The forms are made of facts: where masking takes nothing out of those there is nothing to look for.
        forms = {name: _command(text) if isinstance(text, str) else text for name, text in forms.items()}
    texts = {name: str(forms[name]) for name in FORMS}
    return Corrected(**texts, fix=int(forms["fix"]), basis=cast("Basis", forms["basis"]))


def _filtered(verdict: Verdict) -> Filtered | None:
    if verdict.filtered is None:
        return None
    by, ids = verdict.filtered
    return Filtered(by=cast("By", by), ids=ids)


def _secrets(plain: object, masked: object) -> set[str]:
    """Return the values that masking took out of facts, tables walked."""
    if isinstance(plain, dict) and isinstance(masked, dict):
        return {secret for name, value in plain.items() for secret in _secrets(value, masked.get(name))}
    if isinstance(plain, (list, tuple)) and isinstance(masked, list):
        return {secret for value, other in zip(plain, masked, strict=False) for secret in _secrets(value, other)}
    # A command line is masked in parts; and a short value stands in many words.
    return {plain} if isinstance(plain, str) and plain != masked and 6 <= len(plain) <= 300 else set()
