"""vLLM's options by release: which flag, environment variable, engine argument or metric exists in which version.

The table (``vllm/options.json``) is mined from the released packages; ``vllm/known.json`` adds by hand what no
Python file of a release says: which option took over from which, what its build reads, and whose the variables are
that people set for vLLM but vLLM does not own.
Both are read when first asked for.
"""

# ruff: noqa: PTH100, PTH118, PTH120, PTH123 - pathlib takes longer to import than the whole table to load
from __future__ import annotations

import json
import marshal
import os
import re
from bisect import bisect_right
from functools import lru_cache

from .options_table import Entry, Key, Table, made_of, unpack
from .records import Record, cast, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Successor(TypedDict):
        """What took the place of an option."""

        new: str
        note: str
        one_way: bool

    class Known(TypedDict):
        """What no Python file of a release says."""

        build: dict[str, dict[str, str]]
        others: dict[str, str]
        successors: dict[str, Successor]


FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vllm")
TABLE = os.path.join(FOLDER, "options.json")
COMPILED = os.path.join(os.path.dirname(FOLDER), "compiled", "options.marshal")
COMPILED_KNOWN = os.path.join(os.path.dirname(FOLDER), "compiled", "known.marshal")
KNOWN = os.path.join(FOLDER, "known.json")

_CANDIDATE = re.compile(r"v?[\d.]+rc(?:[2-9]|1\d)\.dev")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)(?:[._-]?(a|b|rc)\d*)?(?:[._-]?post(\d+))?(?:[._-]?(dev)\d*)?", re.IGNORECASE)
# Compiled where they are needed: few answers ask for either.
_VARIABLE = r"[A-Z][A-Za-z0-9]*_[A-Za-z0-9_]*|[A-Z][A-Z0-9]+"
_METRIC = r"vllm:(.+?)(?:_(?:total|info|bucket|sum|count|created))?"


@record(frozen=True)
class Option(Record):
    """How an option is given in one release."""

    name: str
    """The name it is best given by; the others are in ``aliases``."""
    kind: str
    """``str``, ``int``, ``float``, ``bool`` (takes true or false), ``json`` or ``switch`` (takes no value)."""
    aliases: tuple[str, ...]
    negated: bool
    """Has a ``--no-…`` form."""
    choices: tuple[object, ...]
    """What it may be set to; empty where anything goes or the sources do not tell."""
    default: object
    """None also where the sources do not tell."""
    deprecated: bool
    keys: tuple[str, ...]
    """Keys of the JSON object that it takes."""


def releases() -> tuple[str, ...]:
    """Return the releases that the table covers, oldest first; pre-releases are left out."""
    return _table().releases


def exists(name: str, version: str) -> bool | None:
    """Return whether the option ``name`` exists in vLLM ``version``; None where the version is not covered, unless the option came later.

    A name is written as it is used: ``--max-model-len``, ``--max_model_len=4096``, ``-tp``, ``--no-enable-lora``,
    ``--compilation-config.cudagraph_mode`` (a key of a JSON option), ``VLLM_USE_V1``, ``max_model_len`` (an argument of
    ``LLM(...)``), ``vllm:num_requests_running``. Variables of other owners exist whatever vLLM's version.
    """
    place = _place(version)
    if place is None:
        # What came after the oldest release that is covered, none before it has.
        return False if version_key(version) is not None and _runs(name) and not _at(name, 0) else None
    return _at(name, place) or owner(name) not in ("", "vllm")


def owner(name: str) -> str:
    """Return whose option this is: ``vllm``, another project's name, or empty where nobody's is known."""
    variable = name.partition("=")[0]
    if variable in _known()["others"]:
        return str(_known()["others"][variable])
    return "vllm" if _runs(name) else ""


def lifetime(name: str) -> str:
    """Return the releases in which the option exists as a range (``>=0.8.3,<0.12.0``); empty where none has it.

    An option that came back after a time has its ranges joined by `` or ``.
    """
    versions = releases()
    ranges = []
    for first, last in _runs(name):
        end = f",<{versions[last + 1]}" if last + 1 < len(versions) else ""
        ranges.append(f">={versions[first]}{end}")
    return " or ".join(ranges)


def nearest(name: str, version: str) -> str | None:
    """Return the option that does in ``version`` what ``name`` does; None where there is none.

    That is the option itself, its successor or predecessor, or, where no release ever had that name, the one that it
    was most likely meant to be.
    """
    place = _place(version)
    if place is None:
        return None
    if exists(name, version):
        return name
    bare = _spelt(_bare(name))
    if _runs(bare) or bare in _known()["successors"]:
        return _successor(bare, place) or _predecessor(bare, place)
    meant = _meant(bare, place) or _meant(bare, None)
    if meant is None or _at(meant, place):
        return meant
    return _successor(meant, place) or _predecessor(meant, place)


def note(name: str) -> str:
    """Return what a person has to know who used ``name`` until a release dropped it; empty where nothing is known."""
    entry = _known()["successors"].get(_spelt(_bare(name)))
    return str(entry["note"]) if entry else ""


def describe(name: str, version: str) -> Option | None:
    """Return how the flag or variable is given in ``version``; None where it does not exist there."""
    place = _place(version)
    if place is None or not _at(_bare(name), place):
        return None
    found = _entry(_bare(name), place)
    if found is None:
        return None
    main, entry = found
    return Option(
        name=main,
        kind=str(_as_of(entry, "kind", place) or "str"),
        aliases=_names_as_of(entry, "aliases", place),
        negated=bool(_as_of(entry, "negated", place)),
        choices=_names_as_of(entry, "choices", place),
        default=_as_of(entry, "default", place),
        deprecated=bool(_as_of(entry, "deprecated", place)),
        keys=_names_as_of(entry, "keys", place),
    )


def version_key(text: str) -> Key | None:
    """Return what versions are ordered by; None where ``text`` tells no release.

    A release candidate stands for its release, whose options it has, and so does a build on the way from one candidate to the
    next (``0.13.0rc2.dev112``); another development build lies before its release. Local parts
    (``+cu128``) and whatever a fork adds behind do not count. ``0.1.dev3151+g31c7178``, as a checkout without tags
    calls itself, tells no release.
    """
    found = _VERSION.match(text.strip())
    if not found or (found[4] and found[1].count(".") < 2):
        return None
    # No release has a number of ten digits; a log may hold one of thousands, which takes long to read.
    numbers = [int(number[:9]) for number in found[1].split(".")][:4]
    numbers += [0] * (4 - len(numbers))
    return (*numbers, int((found[3] or "0")[:9]), -1 if found[4] and not _CANDIDATE.match(text.strip()) else 0)


def flag_of(name: str) -> tuple[str, Entry] | None:
    """Return a flag of any release by its name or another one of it: its main name, and what the table says of it."""
    flags = _table().sections["flags"]
    main = name if name in flags else next(iter(_table().aliases.get(name, ())), "")
    return (main, flags[main]) if main else None


def is_engine_argument(name: str) -> bool:
    """Return whether the engine of any release takes an argument of this name."""
    return name in _table().sections["arguments"]


# The table


@lru_cache(maxsize=1)
def _table() -> Table:
    try:
        # A wheel holds the table packed; a checkout reads what it is made from.
        return unpack(COMPILED)
    except OSError:
        with open(TABLE, encoding="utf-8") as file:
            return made_of(json.load(file), _known()["build"], version_key)


@lru_cache(maxsize=1)
def _known() -> Known:
    try:
        with open(COMPILED_KNOWN, "rb") as compiled:
            known: Known = marshal.loads(compiled.read())  # noqa: S302 - our own file
    except OSError:
        with open(KNOWN, encoding="utf-8") as file:
            known = json.load(file)
    return known


@lru_cache(maxsize=256)
def _place(version: str) -> int | None:
    """Return the number of the newest release at or below ``version``."""
    key = version_key(version)
    place = -1 if key is None else bisect_right(_table().keys, key) - 1
    return place if place >= 0 else None


def _section(name: str) -> str:
    if name.startswith("-"):
        return "flags"
    if name.startswith("vllm:"):
        return "metrics"
    return "variables" if re.fullmatch(_VARIABLE, name) else "arguments"


def _bare(name: str) -> str:
    """Return the name alone, in the spelling of the table: no value, no key, dashes."""
    name = name.strip().partition("=")[0]
    if not name.startswith("--"):
        return "-O" if re.fullmatch(r"-O\d", name) else name
    return name.partition(".")[0].replace("_", "-")


@lru_cache(maxsize=2048)
def _at(name: str, place: int) -> bool:
    bare = _bare(name)
    found = _entry(bare, place)
    if found is None:
        return False
    key = name.partition("=")[0].partition(".")[2].partition(".")[0].rstrip("+") if name.startswith("--") else ""
    if not key:
        return True
    keys = _names_as_of(found[1], "keys", place)
    # Without a list of keys anything may be one, where an object may be given at all.
    return key in keys if keys else _as_of(found[1], "kind", place) == "json"


def _entry(bare: str, place: int) -> tuple[str, Entry] | None:
    """Return the option that is called ``bare`` in the release ``place``, by its main name."""
    section = _section(bare)
    names = _table().sections[section]
    if section == "metrics":
        there = (each for each in _spellings(bare) if each in names and _on(names[each], place))
        return next(((each, names[each]) for each in there), None)
    if bare in names and _on(names[bare], place):
        return bare, names[bare]
    if section != "flags":
        return None
    for main in _table().aliases.get(bare, ()):
        if _on(names[main], place) and bare in _names_as_of(names[main], "aliases", place):
            return main, names[main]
    if bare.startswith("--no-"):
        found = _entry("--" + bare[5:], place)
        if found is not None and _as_of(found[1], "negated", place):
            return found
    return None


def _spellings(metric: str) -> list[str]:
    """Return the names under which the table may hold a metric: a page shows one histogram as three."""
    stem = re.fullmatch(_METRIC, metric)
    return [metric, *(f"vllm:{stem[1]}{ending}" for ending in ("", "_total", "_info"))] if stem else [metric]


def _spelt(name: str) -> str:
    """Return a metric as the table spells it, anything else as it is."""
    if _section(name) != "metrics":
        return name
    return next((each for each in _spellings(name) if each in _table().sections["metrics"]), name)


def _on(entry: Entry, place: int) -> bool:
    return any(first <= place <= last for first, last in cast("list[tuple[int, int]]", entry["on"]))


def _names_as_of(entry: Entry, word: str, place: int) -> tuple[str, ...]:
    """Return a property that is a list of names, as it is in the release ``place``."""
    return tuple(cast("list[str] | None", _as_of(entry, word, place)) or ())


def _as_of(entry: Entry, word: str, place: int) -> object:
    value = None
    for change in entry.get(word, ()):
        if cast("int", change[0]) > place:
            break
        value = change[1] if len(change) > 1 else None
    return value


@lru_cache(maxsize=512)
def _runs(name: str) -> tuple[tuple[int, int], ...]:
    runs: list[tuple[int, int]] = []
    for place in range(len(releases())):
        if _at(name, place):
            runs[-1:] = [(runs[-1][0], place)] if runs and runs[-1][1] == place - 1 else [*runs[-1:], (place, place)]
    return tuple(runs)


# Other names for the same thing


def _successor(name: str, place: int) -> str | None:
    for _ in range(8):
        entry = _known()["successors"].get(name)
        if not entry or not entry["new"]:
            return None
        name = str(entry["new"])
        if _at(name, place):
            return name
    return None


def _predecessor(name: str, place: int) -> str | None:
    for old, entry in _known()["successors"].items():
        if entry["new"] == name and not entry.get("one_way") and _at(old, place):
            return str(old)
    return None


def _meant(name: str, place: int | None) -> str | None:
    """Return the known name that ``name`` was most likely meant to be, in one release or in any."""
    from difflib import get_close_matches

    section = _section(name)
    names = [each for each, entry in _table().sections[section].items() if place is None or _on(entry, place)]
    start = re.match(r"-{0,2}(?:vllm:|VLLM_)?", name)
    shared = start[0] if start else ""
    # What all names of a kind share makes none of them alike.
    short = {each.removeprefix(shared): each for each in names}
    found = get_close_matches(name.removeprefix(shared), short, n=1, cutoff=0.8)
    return short[found[0]] if found else None
