"""All options of one ``unrecognized arguments`` together: each alone would fail again on the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....corpus import options
from ...patterns.lazy import LazyPattern
from ..quoting import quoted
from ..values.options import refused
from .case import Case

if TYPE_CHECKING:
    from .correct import Change

_LINE = LazyPattern(r"error: unrecognized arguments: (?P<option>[^\n]+)")
_UNSAFE = LazyPattern(r"[…<>]")


def of_unrecognised(case: Case) -> list[Change]:
    """Return a change for each option that a release refused; nothing where one of them cannot be settled."""
    from .correct import Change

    found = _LINE.search(case.text)
    if found is None:
        return []
    words = found["option"].split()
    if not words or not words[0].startswith("-"):
        return []  # a word without an option: what was meant by it is not told
    changes: list[Change] = []
    for item in refused(found["option"], case.release):
        dropped = " ".join([item.name, *map(quoted, item.value.split())])
        if _came_later(item.name, case.release):
            return []  # what a newer option takes, an older one seldom does
        settled = item.fate == "meant" and item.other.startswith("-") and not _UNSAFE.search(item.other)
        if settled:
            name = item.other.split()[0]
            changes.append(Change(f"Write {name} instead of {item.name}", item.other, dropped, item.said, name))
        elif item.fate in ("gone", "unknown") or item.fate == "meant":
            changes.append(Change(f"Leave {item.name} out", "", dropped, item.said, item.name))
        else:
            return []  # it came later, or the release has it: other fixes say what to do
    return changes


def _came_later(name: str, release: str) -> bool:
    """Tell whether an option exists in releases after this one."""
    first = options.lifetime(name).partition(",")[0].removeprefix(">=")
    return bool(first) and (options.version_key(first) or ()) > (options.version_key(release) or ())
