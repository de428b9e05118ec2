"""Tells how a release can have mended what failed at a statement that stays: guarded, caught, or fed otherwise since."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .alike import alike
from .guards import ALONE, CATCH, GUARD, LEAVE, SET, Guarded, Item, names_in

GUARDED, CAUGHT, SET_OTHERWISE = range(1, 4)
"""A test came before or around a statement; an exception is caught around it; a name in it is set otherwise."""
_SILENT = re.compile(
    r"log(?:ger|ging)?\b|TYPE_CHECKING|VLLM_LOG|\btqdm\b|profil|\btrac(?:er|ing)\b|\bstats?\b|metrics?\b|_timers?\b|\btime\.|debug"
)
"""What has nothing to do with failing."""
_RENAMED = 0.6
"""Share of the parts of their names that two values of one shape have in common, where one is the other renamed; of tests ``alike``
asks for less."""
_MOST = 6
"""New items from which on a function was rewritten: which of them mends anything is not told."""
_BROAD = frozenset((
    "config", "vllm_config", "model_config", "self.config", "self.vllm_config", "self.model_config", "self.device",
    "current_platform", "prefix", "kwargs", "args", "torch", "np", "os", "sys", "envs", "math", "F", "nn", "len",
    "isinstance", "getattr", "hasattr", "str", "int", "list", "tuple", "dict", "set", "any", "all", "min", "max",
    "range", "zip", "enumerate",
))  # fmt: skip
"""Names that say nothing about what a test is for."""


class Mend(NamedTuple):
    """How a release can have mended something."""

    how: int = 0
    """``GUARDED``, ``CAUGHT`` or ``SET_OTHERWISE``; 0 where it has not."""
    items: tuple[Item, ...] = ()
    """That are new."""


def mended(old: Guarded, before: Iterable[Item], after: Iterable[Item], sets: Mapping[str, Iterable[str]]) -> Mend:
    """Return how a later release can have mended what failed at a statement.

    Args:
        old: The statement in the release before.
        before: What guards and feeds it there.
        after: The same in the later release.
        sets: Names of the function in the later release, with what they are set to.
    """
    had, has = Counter(before), Counter(after)
    gone, new = _without_renamed(list((had - has).elements()), list((has - had).elements()))
    new = [item for item in new if not _SILENT.search(item.code)]
    if not new or len(new) > _MOST:
        return Mend()
    about = old.used - _BROAD
    tests = [item for item in new if item.kind in (GUARD, LEAVE) and not _wider(item, gone)]
    # The tests around what is raised on purpose are what it is raised for; one for a statement alone is for what it does.
    tests = [
        item
        for item in tests
        if (old.raises and item.kind == GUARD) or item.name == ALONE or _about(item, sets) & about
    ]
    if tests:
        return Mend(GUARDED, tuple(tests))
    caught = [item for item in new if item.kind == CATCH]
    if caught and not old.raises:
        return Mend(CAUGHT, tuple(caught))
    known = {item.name for item in had if item.kind == SET}
    fed = [item for item in new if item.kind == SET and item.name in known]
    return Mend(SET_OTHERWISE, tuple(fed)) if fed else Mend()


def _about(item: Item, sets: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return the names that a test reads, and those that its own names are worked out from."""
    names = names_in(item.code)
    return names.union(*(names_in(value) for name in names for value in sets.get(name, ())))


def _without_renamed(gone: Sequence[Item], new: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    left, fresh = list(gone), []
    for item in new:
        same = next((other for other in left if _renamed(other, item)), None)
        if same is None:
            fresh.append(item)
        else:
            left.remove(same)
    return left, fresh


def _renamed(one: Item, other: Item) -> bool:
    if one.kind != other.kind or one.shape != other.shape:
        return False
    share = alike(one.code, other.code)
    return share >= _RENAMED if one.kind == SET else share > 0


def _wider(item: Item, gone: Sequence[Item]) -> bool:
    """Return whether a test holds for more than one that is gone did: ``a or b`` in place of ``a``."""
    parts = item.code.split(" or ")
    return item.kind == GUARD and len(parts) > 1 and any(each.code in parts for each in gone)
