"""Fixes for a cause, in order, with this log's values in them and only with options that its vLLM version has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from ...corpus.types import Cause, Fix
from ..command.quoting import as_word, in_prose
from ..conditions import holds, shows
from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern
from ..templates import SLOT, fill, lookup, sentences
from ..values import COMPUTED, PIECES, WORKED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..situation.releases import ReleaseBound

_UPGRADE = LazyPattern(r"(?:-U|--upgrade) '?vllm\b|^(?:Upgrade|Update) (?:vLLM|to)")


def advise(
    cause: Cause,
    facts: Mapping[str, object],
    captures: Mapping[str, object],
    bound: ReleaseBound | None = None,
    gone: str = "",
    say: Callable[[str], bool] | None = None,
) -> list[Advice]:
    """Return the fixes of ``cause`` that hold for this log, ranked.

    A fix that holds for no release that can have written the log (``bound``) is left out; its successor stands in the same list.
    From the release ``gone`` on, vLLM no longer has the words that decided (upgrades say so). ``say`` tells whether the log
    says what a fix presumes; without it fixes that presume nothing are left.
    """
    values = {**captures, **facts}
    known = []
    # Fixes that the log asks for come first; else the order is the file's.
    for fix in sorted(_fitting(cause, values, say), key=lambda fix: not _leads(fix, values, say)):
        if fix.versions and bound is not None and bound.within(fix.versions) is False:
            continue
        value, complete = fill(fix.value, values) if fix.value else ("", True)
        change, exact = _change(fix, values)
        fixed, why = fix.fixed_in, _reason(fix, values)
        if gone and not fixed and _UPGRADE.search(change):
            fixed, why = gone, f"{why} vLLM no longer says this from {gone} on."
        known.append(Advice(
            0, sentences(fix.title, values) or fix.title, fix.kind, change, why, sentences(fix.cost, values) or "none",
            sentences(fix.verify, values), fill(fix.option, values)[0], value if complete else "", fix.safety, fix.versions, fixed,
            bool(fix.restart), bool(fix.root), fix.source, exact, fix.moves,
        ))  # fmt: skip
    for rank, advice in enumerate(known, 1):
        advice.rank = rank
    return known


def led_by_the_log(
    cause: Cause, facts: Mapping[str, object], captures: Mapping[str, object], say: Callable[[str], bool] | None
) -> bool:
    """Tell whether a log itself shows which fix of a cause to begin with (``first_when``, ``first_mentions``)."""
    values = {**captures, **facts}
    return any(_leads(fix, values, say) for fix in _fitting(cause, values, say))


def worked_out(cause: Cause, values: Mapping[str, object], say: Callable[[str], bool] | None) -> bool:
    """Tell whether the first fix of a cause has a value that is worked out from the log's numbers."""
    first = next(_fitting(cause, values, say), None)
    names = [found["name"] for found in SLOT.finditer(first.change)] if first is not None else []
    return any(name in COMPUTED and lookup(name, values) is not None for name in names)


def _fitting(cause: Cause, values: Mapping[str, object], say: Callable[[str], bool] | None) -> Iterator[Fix]:
    """Yield the fixes of a cause whose conditions a log fulfils."""
    for fix in cause.fixes:
        if all(holds(condition, values) for condition in fix.when) and _fits_words(fix, say):
            yield fix


def _leads(fix: Fix, values: Mapping[str, object], say: Callable[[str], bool] | None) -> bool:
    """Tell whether the log shows that a fix is the one to begin with."""
    if fix.first_when and all(shows(condition, values) for condition in fix.first_when):
        return True
    return bool(fix.first_mentions) and say is not None and say(fix.first_mentions)


def _fits_words(fix: Fix, say: Callable[[str], bool] | None) -> bool:
    """Tell whether the log says what a fix presumes, and nothing that speaks against it."""
    if fix.mentions and not (say is not None and say(fix.mentions)):
        return False
    return not (fix.unless_mentions and say is not None and say(fix.unless_mentions))


def _change(fix: Fix, values: Mapping[str, object]) -> tuple[str, bool]:
    """Return what to do, with this log's values as words of a command, and whether all are known: it can be pasted."""
    exact = True

    def put(found: re.Match[str]) -> str:
        nonlocal exact
        name, value = found["name"], lookup(found["name"], values)
        if value is not None and name not in PIECES:
            value = in_prose(value) if fix.kind == "step" else as_word(value, fix.change[: found.start()])
        if value is None:
            exact = False
            return "…" if found["other"] is None else found["other"]
        return value

    change = SLOT.sub(put, fix.change)
    return change, exact and "…" not in change and "<" not in change


def _reason(fix: Fix, values: Mapping[str, object]) -> str:
    """Return why a fix helps, with the arithmetic behind the values that were worked out for it."""
    names = dict.fromkeys(found["name"] for found in SLOT.finditer(f"{fix.value} {fix.change}"))
    worked = [WORKED[name](values) for name in names if name in WORKED]
    parts = [
        sentences(fix.why, values),
        *(f"{_sentence(item.formula)}." for item in worked if item and item.formula),
    ]
    if asked := list(dict.fromkeys(name for item in worked if not item for name in item.missing)):
        told = asked[0] if len(asked) == 1 else f"{', '.join(asked[:-1])} and {asked[-1]}"
        parts.append(f"To work the value out takes {told}, which the log does not say (vllm-triage plan).")
    return " ".join(part for part in parts if part)


def _sentence(text: str) -> str:
    return text if text.startswith("vLLM") else text[:1].upper() + text[1:]
