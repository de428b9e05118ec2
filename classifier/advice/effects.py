"""What a fix changes, needs, predicts and costs: by its actions, the rows of ``corpus/effects.toml``, and this log's numbers."""

from __future__ import annotations

from ...corpus import options
from ...corpus.actions import Install, Serve, UseImage
from ...corpus.records import replace
from ..conditions import holds, shows
from ..fix import Effect, Fix
from ..values.computed import whole
from .adapters.memory import after, lacking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...corpus.effects import Effects
    from ..verdict.types import Verdict
    from .context import Context

_MEMORY = "memory."


def with_effects(fixes: Iterable[Fix], context: Context, verdict: Verdict, effects: Effects) -> list[Fix]:
    """Return fixes with what they change, need, predict and cost.

    Args:
        fixes: As they are shown.
        context: Of the start.
        verdict: Says how long the start took.
        effects: The rows.
    """
    spans = [span.seconds for span in verdict.stages if span.seconds is not None]
    return [replace(fix, effect=_effect(fix, context, sum(spans) or None, effects)) for fix in fixes]


def _effect(fix: Fix, context: Context, seconds: float | None, effects: Effects) -> Effect:
    actions = [each for each in fix.actions if not isinstance(each, Serve)]
    rows = [(each, row) for each in actions if (row := effects.of(each)) is not None]
    changes = tuple(dict.fromkeys(map(effects.changed_by, actions)))
    predicts = {each: _seen(each, context) for _, row in rows for each in row.predicts}
    needs = [need.replace("{value}", getattr(each, "value", "")) for each, row in rows for need in row.needs]
    named = dict.fromkeys([*(each.base for each in fix.options), *(each.name for each in fix.variables)])
    always = f">={options.releases()[0]}"
    exists = tuple(f"{name} {found}" for name in named if (found := options.lifetime(name)) and found != always)
    costs = tuple(dict.fromkeys(cost for each, row in rows if each not in fix.dropped for cost in row.costs))
    downloads = tuple(_downloaded(each) for each in actions if isinstance(each, (Install, UseImage)))
    there, needed = _memory(fix, changes, context)
    return Effect(
        changes,
        tuple(needs),
        tuple(predicts.items()),
        exists,
        costs,
        downloads,
        seconds if fix.restart else None,
        there,
        needed,
    )


def _seen(condition: str, context: Context) -> bool | None:
    """Return whether the log shows a condition; None where it does not tell."""
    facts = context.facts
    return True if shows(condition, facts) else None if holds(condition, facts) else False


def _downloaded(action: Install | UseImage) -> str:
    return action.image if isinstance(action, UseImage) else f"{action.package}{action.spec}"


def _memory(fix: Fix, changes: tuple[str, ...], context: Context) -> tuple[float | None, float | None]:
    """Return the GiB of KV cache that there are with a fix, and that one request needs then, by the ledger."""
    cache, needed, unit = lacking(context.facts)
    if unit != "GiB" or not needed or len(fix.options) != 1:
        return None, None
    if not any(name.startswith(_MEMORY) or name == "parallelism" for name in changes):
        return None, None
    name, value, length = fix.options[0].name, fix.options[0].value, whole(context.facts, "max_model_len")
    if name == "--max-model-len" and value.isdigit() and length:
        return round(cache, 2), round(needed * int(value) / length, 2)
    told = after(name, value, context.facts, cache, needed)
    return (round(told[0], 2), round(told[1], 2)) if told is not None and not told[2] else (None, None)
