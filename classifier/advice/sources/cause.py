"""What the cause advises: the fixes of its rule file, with this log's values in them; and what holds where the cause is a guess."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from ....corpus.actions import Action, Expand, Install, Run, filled
from ....corpus.records import fields_of, replace
from ....corpus.types import Bucket, Cause
from ....corpus.types import Fix as Template
from ...command.words import as_word, in_prose
from ...conditions import holds, shows
from ...fix import FIRST, Fix, ranked
from ...patterns.lazy import LazyPattern
from ...templates import SLOT, fill, lookup, sentences
from ...values import COMPUTED, PIECES, WORKED
from .releases import TRACKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...situation.releases import ReleaseBound
    from ..context import Context

_REQUIREMENT = LazyPattern(r"[\w.,<>=!~\[\]+/:@-]+")
"""What may stand in a package's name and version."""
Say = Callable[[str], bool]
"""Tells whether the log holds an expression."""


def propose(context: Context) -> Iterator[Fix]:
    """Yield the fixes of the cause that hold for this log."""
    if context.cause is None:
        return
    say = context.say if context.failed else None
    for at, fix in enumerate(advise(context.cause, context.facts, context.captures, context.bound, context.gone, say)):
        yield fix if at else replace(fix, tier=FIRST)


def advise(
    cause: Cause,
    facts: Mapping[str, object],
    captures: Mapping[str, object],
    bound: ReleaseBound | None = None,
    gone: str = "",
    say: Say | None = None,
) -> list[Fix]:
    """Return the fixes of ``cause`` that hold for this log, in order.

    A fix that holds for no release that can have written the log (``bound``) is left out; its successor stands in the same list.
    From the release ``gone`` on, vLLM no longer has the words that decided (upgrades say so). ``say`` tells whether the log
    says what a fix presumes; without it fixes that presume nothing are left.
    """
    values = {**captures, **facts}
    # Fixes that the log asks for come first; else the order is the file's.
    fitting = sorted(_fitting(cause, values, say), key=lambda fix: not _leads(fix, values, say))
    return [
        _filled(fix, values, gone)
        for fix in fitting
        if not (fix.versions and bound is not None and bound.within(fix.versions) is False)
    ]


def _filled(fix: Template, values: Mapping[str, object], gone: str) -> Fix:
    value, complete = fill(fix.value, values) if fix.value else ("", True)
    actions, remark, whole = _actions(fix, values)
    made = Fix(
        sentences(fix.title, values) or fix.title, fix.kind, actions, _reason(fix, values), sentences(fix.cost, values) or "none",
        sentences(fix.verify, values), fill(fix.option, values)[0], value if complete else "", fix.safety, fix.versions, fix.fixed_in,
        bool(fix.restart), bool(fix.root), fix.source, whole, fix.moves, fix.tags, remark,
    )  # fmt: skip
    if not gone or fix.fixed_in or not made.upgrade:
        return made
    return replace(made, fixed_in=gone, why=f"{made.why} vLLM no longer says this from {gone} on.")


def led_by_the_log(cause: Cause, facts: Mapping[str, object], captures: Mapping[str, object], say: Say | None) -> bool:
    """Whether a log itself shows which fix of a cause to begin with (``first_when``, ``first_mentions``)."""
    values = {**captures, **facts}
    return any(_leads(fix, values, say) for fix in _fitting(cause, values, say))


def worked_out(cause: Cause, values: Mapping[str, object], say: Say | None) -> bool:
    """Whether the first fix of a cause has a value that is worked out from the log's numbers."""
    first = next(_fitting(cause, values, say), None)
    names = _slots(first) if first is not None else []
    return any(name in COMPUTED and lookup(name, values) is not None for name in names)


def _slots(fix: Template) -> list[str]:
    """Return the names of the values that the actions of a fix ask for."""
    texts = [text for _, *values in fix.does for value in values for text in _texts(value)]
    return [found["name"] for text in texts for found in SLOT.finditer(text)]


def _texts(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()


def _fitting(cause: Cause, values: Mapping[str, object], say: Say | None) -> Iterator[Template]:
    """Yield the fixes of a cause whose conditions a log fulfils."""
    for fix in cause.fixes:
        if all(holds(condition, values) for condition in fix.when) and _fits_words(fix, say):
            yield fix


def _leads(fix: Template, values: Mapping[str, object], say: Say | None) -> bool:
    """Whether the log shows that a fix is the one to begin with."""
    if fix.first_when and all(shows(condition, values) for condition in fix.first_when):
        return True
    return bool(fix.first_mentions) and say is not None and say(fix.first_mentions)


def _fits_words(fix: Template, say: Say | None) -> bool:
    """Whether the log says what a fix presumes, and nothing that speaks against it."""
    if fix.mentions and not (say is not None and say(fix.mentions)):
        return False
    return not (fix.unless_mentions and say is not None and say(fix.unless_mentions))


def _actions(fix: Template, values: Mapping[str, object]) -> tuple[tuple[Action, ...], str, bool]:
    """Return a fix's actions with this log's values, the remark behind them, and whether all values are known."""
    made: list[Action] = []
    remark, whole = _put(fix.remark, "shell", values) if "{" in fix.remark else (fix.remark, True)
    whole = whole and "…" not in remark and "<" not in remark
    for action in fix.actions:
        if isinstance(action, Expand):
            piece, more, known = _piece(action, values)
            made += piece
            remark += more
        else:
            each, known = filled(action, lambda text, use: _put(text, use, values))
            made.append(each)
            known = known and not _has_gap(each)
        whole = whole and known
    return tuple(made), remark, whole


def _has_gap(action: Action) -> bool:
    """Whether something is left open in a command, or in a value, that no name stands for."""
    texts = [each for own in fields_of(type(action)) for each in _texts(getattr(action, own.name))]
    return any("…" in text or "<" in text for text in texts) and not isinstance(action, Install)


def _put(text: str, use: str, values: Mapping[str, object]) -> tuple[str, bool]:
    """Return a text with its slots filled as its use asks for, and whether all values are known."""
    whole = True

    def put(found: re.Match[str]) -> str:
        nonlocal whole
        name, value = found["name"], lookup(found["name"], values)
        if value is not None and use not in ("plain", "word") and name not in PIECES:
            value = in_prose(value) if use == "prose" else as_word(value, text[: found.start()])
        if use == "word" and value is not None and not _REQUIREMENT.fullmatch(value):
            value = None  # no package has such a name
        elif value is not None and not value.isprintable():
            value = None
        if value is None:
            whole = False
            return "…" if found["other"] is None else found["other"]
        return value

    return SLOT.sub(put, text), whole


def _piece(action: Expand, values: Mapping[str, object]) -> tuple[tuple[Action, ...], str, bool]:
    """Return what a value says that is a piece of a start command: by the grammar by which rule files are read."""
    from ....corpus.action_text import TextError, read_piece

    found = SLOT.fullmatch(action.slot)
    value = lookup(found["name"], values) if found is not None else None
    if value is None:
        return (Run("leave out …" if action.drop else "…"),), "", False
    try:
        actions, remark = read_piece(value, action.drop)
    except TextError:
        return (Run(value),), "", False
    return actions, remark, not any(map(_has_gap, actions)) and "…" not in remark


def _reason(fix: Template, values: Mapping[str, object]) -> str:
    """Return why a fix helps, with the arithmetic behind the values that were worked out for it."""
    names = dict.fromkeys([*(found["name"] for found in SLOT.finditer(fix.value)), *_slots(fix)])
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


# Where the cause is a guess


_SEARCH = Template(
    title="Search vLLM's issues for this error",
    kind="step",
    does=(("look", f"{TRACKER} {{search}}", ()),),
    tags=("look", "search"),
    why="No rule knows these words; they are those that every report of it shares.",
    cost="none",
    when=("search present",),
)


def generic_cause(bucket: Bucket) -> Cause:
    """Return what a bucket says of all its causes: what most of them share, or a look that changes nothing, and the search.

    Fixes that destroy something, or that hold only from a release on, are left out: they need the exact cause. So does what
    fewer than half of the causes have: it would be wrong more often than right.
    """
    found: dict[str, _Shared] = {}
    for number, cause in enumerate(bucket.causes):
        for rank, fix in enumerate(cause.fixes):
            if fix.safety == "destructive" or fix.fixed_in:
                continue
            found.setdefault(fix.option or fix.title, _Shared(fix, (rank, number))).count += 1
    causes = sum(bool(cause.fixes) for cause in bucket.causes)
    if not causes:
        return Cause(id="", title="", summary="")
    ordered = sorted(found.values(), key=lambda shared: (-shared.count, shared.first))
    fits = (
        each.fix
        for each in ordered
        if 2 * each.count >= causes or ("look" in each.fix.tags and each.fix.kind in ("command", "step"))
    )
    return Cause(id="", title="", summary="", fixes=(*islice(fits, 1), _SEARCH))


def as_guess(fixes: list[Fix], own_fault: bool = False) -> list[Fix]:
    """Return what is shown of a guessed cause's fixes: the first, for the rest hang on what was guessed, and what hangs on the error.

    Args:
        fixes: Of the cause, ranked.
        own_fault: Whether vLLM's own code raised an exception of Python's: no setting is its cause.
    """
    of_error = [fix for fix in fixes if "search" in fix.tags or fix.source]
    return ranked(
        of_error if own_fault and of_error else [fix for at, fix in enumerate(fixes) if not at or fix in of_error]
    )


def searchable(cause: Cause) -> Cause:
    """Return a cause with the search of others' reports behind its fixes."""
    return replace(cause, fixes=(*cause.fixes, _SEARCH))


class _Shared:
    """A fix with how many causes have it, and where it stands first: its rank there, and the cause's position."""

    __slots__ = ("count", "first", "fix")

    def __init__(self, fix: Template, first: tuple[int, int]) -> None:
        self.fix = fix
        self.first = first
        self.count = 0
