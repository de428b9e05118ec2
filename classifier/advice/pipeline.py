"""The way of a fix: sources propose, adapters make it fit or withhold it, guards withhold it, one key ranks.

Each stage has one shape: a source is ``(Context) -> fixes``, an adapter ``(Fix, Context) -> Fix | None`` with the reason, and what
has to see all fixes at once is ``(fixes, Context) -> fixes`` with those left out.
"""

from __future__ import annotations

from ...corpus.actions import Serve
from ...corpus.records import replace
from ..facts.versions import in_range
from ..fix import CLUE, CORRECTION, KNOWN, LEADING, MESSAGE, OF_ERROR, SEARCH, Fix, ranked
from ..values.computed import release_at_least
from .adapters import ADAPTERS, install, options
from .guards import withhold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...corpus.guards import Guards
    from ..fix import Fix, Withheld
    from .context import Context


def sift(context: Context, guards: Guards) -> tuple[list[Fix], Withheld]:
    """Return the fixes that hold, ranked, and those that were left out.

    Args:
        context: Of the start.
        guards: The rows of what speaks against fixes.
    """
    from .sources import proposed

    found = proposed(context)
    # Where what the message itself asks for holds, the cause's, which are for many messages, are not asked.
    kept, withheld = _led([fix for fix in found if fix.tier in (CORRECTION, LEADING, MESSAGE)], context, guards)
    if not kept:
        kept, refused = tried([fix for fix in found if fix.tier != MESSAGE], context, guards)
        withheld = [*withheld, *refused]
    if context.failed and not kept and context.hit is not None and context.hit.rule.id:
        from .sources.releases import look

        kept = ranked([look(context, nothing_known=True)])
    return ([with_check(fix, context) for fix in kept] if context.failed else kept), withheld


def _led(fixes: list[Fix], context: Context, guards: Guards) -> tuple[list[Fix], Withheld]:
    """Return what the message itself asks for, behind corrections; nothing where none of it holds."""
    own = {fix.title for fix in fixes if fix.tier == MESSAGE}
    if not own:
        return [], []
    kept, withheld = tried(fixes, context, guards)
    return (kept, withheld) if own - {title for title, _ in withheld} else ([], withheld)


def tried(fixes: Iterable[Fix], context: Context, guards: Guards) -> tuple[list[Fix], Withheld]:
    """Return the fixes that hold, ranked, and those left out. Corrections of what the error names are held to few guards alone."""
    proposed = list(fixes)
    withheld: Withheld = []
    kept: list[Fix] = []
    for fix in proposed:
        if fix.tier == CORRECTION:
            kept += [made] if (made := withhold(fix, context, guards)[0]) is not None else []
            continue
        if same := next((other for other in kept if _same(fix, other)), None):
            kept[kept.index(same)] = _with_clue(same, fix)
            continue
        fitting, reason = _fit(fix, context, guards)
        if fitting is None:
            withheld.append((fix.title, reason))
        elif fitting.actions == fix.actions or all(other.change != fitting.change for other in kept):
            kept.append(fitting)
    kept, refused = _for_caller([options.within_json(fix, context.arguments) for fix in kept], context)
    withheld += refused
    if context.words:
        kept, refused = install.settle(kept, context)
        withheld += refused
    if not context.told:
        kept, refused = options.without_older(kept, context)
        withheld += refused
    if not kept and any(fix.tier != CORRECTION for fix in proposed):
        from .sources.releases import look, look_elsewhere

        kept = [look_elsewhere() if context.stranger else look(context)]
    known = any(fix.tier == KNOWN for fix in kept)
    return ranked(sorted(kept, key=lambda fix: _key(fix, context, known))), withheld


def _key(fix: Fix, context: Context, known: bool) -> tuple[bool, bool, int]:
    """Return what orders fixes: what destroys something, or ends processes, when nothing milder is left; then by tier.

    Among equals the order of the source counts: that of the rule file, but for what the log asks for first.
    """
    older = not context.told and bool(fix.versions) and in_range(context.release, fix.versions) is False
    # A search is what is left when nothing has helped; that of a rule file stands where the file has it, unless a release is known.
    return fix.destructive, older, SEARCH if known and "search" in fix.tags else fix.tier


def fitted(fix: Fix, context: Context, guards: Guards) -> tuple[Fix | None, str]:
    """Return a fix that others propose as it holds here, in the form that who makes the engine takes, or None with the reason."""
    fitting, reason = _fit(fix, context, guards)
    if fitting is None:
        return None, reason
    made, refused = _for_caller([options.within_json(fitting, context.arguments)], context)
    return (with_check(made[0], context), "") if made else (None, refused[0][1])


def _fit(fix: Fix, context: Context, guards: Guards) -> tuple[Fix | None, str]:
    """Return the fix as it holds here, or None with the reason."""
    for adapt in ADAPTERS:
        fitting, reason = adapt(fix, context)
        if fitting is None:
            return None, reason
        fix = fitting
    guarded, reason = withhold(fix, context, guards)
    return options.settle(guarded, context) if guarded is not None else (None, reason)


def _for_caller(fixes: list[Fix], context: Context) -> tuple[list[Fix], Withheld]:
    """Return the fixes in the form in which who makes the engine takes them, and those that only a server could."""
    from .adapters.caller import adapt

    made = [(fix, *adapt(fix, context)) for fix in fixes]
    return [called for _, called, _ in made if called], [(fix.title, why) for fix, called, why in made if not called]


def _with_clue(fix: Fix, same: Fix) -> Fix:
    """Return a fix that the error's words or place ask for as well, where the same does come of them."""
    return (
        replace(fix, tags=(*fix.tags, *same.tags), source=fix.source or same.source)
        if same.tier == CLUE and fix.tier != CORRECTION
        else fix
    )


def _same(fix: Fix, other: Fix) -> bool:
    """Whether a fix says less well what another one says, or the same."""
    if (
        fix.only_drops
        and other.only_drops
        and {each.name for each in fix.dropped} <= {each.name for each in other.dropped}
    ):
        return True  # the correction names the value as well
    if other.source != OF_ERROR:
        return fix.actions == other.actions and fix.kind == other.kind and fix.change == other.change
    if any(each.name == other.option for each in fix.options) and any(
        each.name == other.option for each in other.options
    ):
        return True  # another value for what is corrected
    blank = not fix.whole and (fix.option == other.option or (other.kind == "env" and bool(fix.unset)))
    plain = tuple(each for each in fix.actions if not isinstance(each, Serve))
    return blank or plain == other.actions


_NEXT = {
    "": "LLM engine",
    "launch": "LLM engine",
    "config": "LLM engine",
    "engine_init": "Starting to load model",
    "distributed_init": "Starting to load model",
    "weights": "Model loading took",
    "compile": "KV cache size",
    "profile": "KV cache size",
    "kv_cache": "Application startup complete",
    "graph_capture": "Application startup complete",
}
"""What vLLM logs when the step after a stage begins."""
_FIRST_ENGINE = {"KV cache size": "blocks: "}
"""The same in vLLM's first engine."""
_BEFORE_0_8 = {"Model loading took": "Loading model weights took"}


def with_check(fix: Fix, context: Context) -> Fix:
    """Return a fix with how to see that it has worked, where that is not told."""
    return fix if fix.verify else replace(fix, verify=_check(fix, context))


def _check(fix: Fix, context: Context) -> str:
    if "look" in fix.tags:
        return "It shows a line, or a difference, that the log so far does not have; where it shows none, take the next fix."
    if context.caller:
        return "Run it again: the error does not come back, and the engine answers the first prompt."
    if context.of_request or context.reached not in _NEXT:
        again = "After a restart send" if fix.restart or fix.kind in ("flag", "env") else "Send"
        return f"{again} the same request: it is answered with status 200, and the log has no new error."
    mark = _NEXT[context.reached]
    if str(context.facts.get("engine") or "") == "V0":
        mark = _FIRST_ENGINE.get(mark, mark)
    if release_at_least(context.facts.get("vllm_version"), 0, 8) is False:
        mark = _BEFORE_0_8.get(mark, mark)
    return f"Start again: the error does not come back, and the log gets to '{mark}'."
