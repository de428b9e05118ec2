"""Builds the report of a diagnosis. Everything that came from the log is masked here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable

from ...corpus.records import cast, replace
from ...corpus.stages import STAGE_ORDER
from ..command import FORMS, corrected
from ..masking.mask import mask, mask_lines, mask_value
from .model import (
    Alternative,
    ContextLine,
    Corrected,
    Evidence,
    Filtered,
    Fix,
    Input,
    Memory,
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

    from ..diagnosis import Advice, Diagnosis
    from ..diagnosis import Evidence as Proof
    from ..facts.types import Facts

    Kind = Literal["flag", "env", "command", "step"]
    Decided = Literal["rule", "model", "stage", "none"]
    Basis = Literal["command", "arguments", "configuration"]
    By = Literal["ignore", "only"]
    Scope = Literal["start", "server", "requests"]


def build(found: Diagnosis) -> Report:
    """Return the report of a diagnosis: masked, cut, without control characters."""
    facts = {name: mask_value(name, value) for name, value in found.facts.items()}
    secrets = _secrets(found.facts, facts)
    clean = facts == found.facts
    facts.pop("command", None)
    return Report(
        bucket=found.bucket,
        cause=found.cause,
        confidence=found.confidence,
        decided_by=cast("Decided", found.decided_by),
        title=_text(found.title),
        summary=_text(found.summary),
        evidence=_evidence(found.evidence),
        symptoms=_evidence(found.symptoms),
        chain=_evidence(found.chain),
        context=_context(found.context),
        alternatives=tuple(Alternative(bucket=name, confidence=share) for name, share in found.alternatives),
        startup=Startup(reached=found.reached, stages=_stages(found)),
        facts=facts,
        memory=_memory(found.facts),
        fixes=tuple(_fix(advice, secrets) for advice in found.fixes),
        withheld=tuple(Withheld(title=_text(title), reason=_text(reason)) for title, reason in found.withheld),
        corrected_command=_command(found.corrected_command),
        corrected=_corrected(found, clean),
        incidents=len(found.incidents),
        story=_story(found),
        confirm=_text(found.confirm),
        refute=_text(found.refute),
        notes=tuple(_text(note) for note in found.notes),
        input=Input(lines=found.lines, bytes=found.bytes),
        filtered=_filtered(found),
        explanation=tuple(_text(line) for line in found.explanation),
        rule=found.rule,
        strength=found.strength,
        unread=_evidence(found.unread),
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


def _context(lines: list[Proof]) -> tuple[ContextLine, ...]:
    # Together: what is a private key shows only over several lines.
    texts = mask_lines(one_line(item.text) for item in lines)
    return tuple(
        ContextLine(line=item.line, text=cut(text), process=printable(item.process))
        for item, text in zip(lines, texts, strict=True)
    )


def _story(found: Diagnosis) -> Story | None:
    draft = found.story
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
    symptoms = [item.line for item in found.symptoms]
    return replace(
        story, told=tell(story, found.bucket, found.evidence[0].line if found.evidence else 0, symptoms, found.facts)
    )


def _stages(found: Diagnosis) -> tuple[Stage, ...]:
    spans = sorted(found.stages, key=lambda span: (span.line, STAGE_ORDER[span.stage]))
    return tuple(Stage(stage=span.stage, line=span.line, time=span.time, seconds=span.seconds) for span in spans)


def _fix(advice: Advice, secrets: set[str]) -> Fix:
    def ours(text: str) -> str:
        # Our own advice names variables for tokens; only what came from the log may be masked in it.
        for secret in secrets:
            text = text.replace(secret, "<secret>")
        return printable(text)

    return Fix(
        rank=advice.rank,
        title=ours(advice.title),
        kind=cast("Kind", advice.kind),
        option=ours(advice.option),
        value=ours(advice.value),
        change=ours(advice.change),
        why=ours(advice.why),
        cost=ours(advice.cost),
        safety=advice.safety,
        restart=advice.restart,
        root=advice.root,
        verify=ours(advice.verify),
        versions=advice.versions,
        fixed_in=advice.fixed_in,
        source=advice.source,
    )


def _corrected(found: Diagnosis, clean: bool) -> Corrected | None:
    forms = corrected(found)
    if forms is None:
        return None
    if not clean:
        # The forms are made of facts: where masking takes nothing out of those there is nothing to look for.
        forms = {name: _command(text) if isinstance(text, str) else text for name, text in forms.items()}
    texts = {name: str(forms[name]) for name in FORMS}
    return Corrected(**texts, fix=int(forms["fix"]), basis=cast("Basis", forms["basis"]))


def _filtered(found: Diagnosis) -> Filtered | None:
    if found.filtered is None:
        return None
    by, ids = found.filtered
    return Filtered(by=cast("By", by), ids=ids)


def _secrets(plain: object, masked: object) -> set[str]:
    """Return the values that masking took out of facts, tables walked."""
    if isinstance(plain, dict) and isinstance(masked, dict):
        return {secret for name, value in plain.items() for secret in _secrets(value, masked.get(name))}
    if isinstance(plain, (list, tuple)) and isinstance(masked, list):
        return {secret for value, other in zip(plain, masked, strict=False) for secret in _secrets(value, other)}
    # A command line is masked in parts; and a short value stands in many words.
    return {plain} if isinstance(plain, str) and plain != masked and 6 <= len(plain) <= 300 else set()
