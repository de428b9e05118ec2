"""What an error tells by its words or by its place, whichever program raised it and of any cause (``TABLES``).

An idiom is how Python, its packages, compilers, drivers and networks fail; a component is a part of vLLM that can be exchanged or
switched off. Both name fixes as causes do.
"""

from __future__ import annotations

import re

from .records import Record, cast, fields_of, record
from .types import Fix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from .places import Place

IDIOM = "idiom"
KINDS = (IDIOM, "component")
TABLES = ("domains.toml", "idioms.toml", "components.toml")
"""In the order in which their rows are asked."""
TEXTS = ("id", "name", "says", "words", "frames", "log", "unless", "do", "title", "then")
SWITCHES = ("sure", "own", "leads")
LISTS = ("examples", "levers", "fix")
_COMMANDS = r"[A-Z_]+=\S+ |(?:uv )?(?:pip|python|export|unset|ulimit|apt-get|ls|ss|ip|df|free|getent|quota|dmesg|command|ldconfig|nvcc|nvidia-smi|grep|curl|rm|git|py-spy|mv|docker) "
_TITLES = (
    ("pip show", "See which version is installed"), ("pip uninstall", "Remove the package"), ("pip", "Install the package anew"),
    ("python -m pip", "Install the package"), ("python", "See which one is loaded"), ("export", "Set the variable"), ("unset", "Unset the variable"),
    ("ulimit", "Raise the limit"), ("apt-get", "Install what is missing"),
)  # fmt: skip
"""What a command is for, by its beginning; the others look at something."""
_SETTING = r"(?P<out>leave out |unset )?(?:(?P<option>--(?P<no>no-|disable-)?[a-z][\w.-]*)|(?P<variable>[A-Z][A-Z0-9_]+(?==|$)))"
"""A lever that stands in the row itself."""
_OFF = r"[= ]0\b"
_SHORTEST = 3
"""Characters of a string that words, a place or a log must have."""


@record(frozen=True, slots=True)
class Clue(Record):
    """A row: where it applies, what that says of the cause, and what to do.

    Attributes:
        id: Of the row.
        kind: ``idiom`` or ``component``.
        says: What it says of the cause; a template.
        words: Expression on the error (class, colon, message) or on a line; "" where the place alone counts.
        frames: Expression on the stack, one frame a line; "" where the words alone count.
        log: Expression on all that the log says of the failure, which must hold as well; its groups are values too.
        unless: The same, which must not hold.
        sure: Whether the words or the place leave one action over all others.
        own: Whether it says only that another error came before: then what stands around it goes before.
        leads: Whether it is asked even where a rule knows the words: it says more than the cause's own fixes.
        needs: Strings of which an error has one where the words can hold, in small letters; empty where that is not known.
        places: The same of a stack and the frames.
        beside: The same of all that the log says and ``log``.
        fixes: Best first.
    """

    id: str
    kind: str
    says: str
    words: str
    frames: str
    log: str
    unless: str
    sure: bool
    own: bool
    leads: bool
    needs: tuple[str, ...]
    places: tuple[str, ...]
    beside: tuple[str, ...]
    fixes: tuple[Fix, ...]


_BESIDE = [own.name for own in fields_of(Clue)].index("beside")


class Clues:
    """The rows, in the order in which they are tried; one is made when an error may hold it.

    Args:
        rows: As :func:`read_clues` returns them.
    """

    def __init__(self, rows: Sequence[tuple[object, ...]]) -> None:
        self._rows = rows
        self._made: dict[int, Clue] = {}
        self._words, self._worded = _by_string(rows, "words", "needs")
        self._frames, self._framed = _by_string(rows, "frames", "places")

    def __iter__(self) -> Iterator[Clue]:
        return map(self._at, range(len(self._rows)))

    def possible(self, error: str, frames: str, all_words: str) -> list[Clue]:
        """Return the rows that may hold of an error, the innermost frames of its stack, one a line, and all that the log says."""
        error, frames, all_words = error.lower(), frames.lower(), all_words.lower()
        worded = self._worded.union(*(rows for text, rows in self._words.items() if text in error))
        framed = self._framed.union(*(rows for text, rows in self._frames.items() if text in frames))
        return [self._at(number) for number in sorted(worded & framed) if self._beside(number, all_words)]

    def _beside(self, number: int, all_words: str) -> bool:
        needed = cast("tuple[str, ...]", self._rows[number][_BESIDE])
        return not needed or any(text in all_words for text in needed)

    def _at(self, number: int) -> Clue:
        if number not in self._made:
            make: Callable[..., Clue] = Clue
            fix: Callable[..., Fix] = Fix
            *values, fixes = self._rows[number]
            self._made[number] = make(*values, tuple(fix(*each) for each in cast("list[tuple[object, ...]]", fixes)))
        return self._made[number]


def _by_string(
    rows: Sequence[tuple[object, ...]], expression: str, strings: str
) -> tuple[dict[str, list[int]], frozenset[int]]:
    """Return the rows by strings without which an expression cannot hold, and those that no string rules out."""
    names = [own.name for own in fields_of(Clue)]
    asked, needed = names.index(expression), names.index(strings)
    found: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        for text in cast("tuple[str, ...]", row[needed]):
            found.setdefault(text, []).append(number)
    return found, frozenset(number for number, row in enumerate(rows) if not (row[asked] and row[needed]))


def read_clues(path: Path) -> list[tuple[object, ...]]:
    """Return the rows of a table as plain values, to be stored: those of ``Clue``, fixes as values too.

    Raises:
        CorpusError: One of them breaks the format; the message names the line.
    """
    import tomllib

    from .places import Place, lines_of

    text = path.read_text(encoding="utf-8")
    place = Place(path.name, lines_of(text))
    return [
        _stored(row, kind, place.inside(kind, number, f"{kind} {row.get('id', '?')}"))
        for kind, rows in tomllib.loads(text).items()
        for number, row in enumerate(rows)
    ]


def _stored(row: Mapping[str, object], kind: str, place: Place) -> tuple[object, ...]:
    from .places import CorpusError
    from .schema import fixes_in

    for wrong in _wrong(row, kind):
        raise CorpusError(place.says(wrong))
    fixes = fixes_in({"fix": [*cast("list[object]", row.get("fix", [])), *_short(row)]}, place)
    needed = (_strings_of(str(row.get(name, ""))) for name in ("words", "frames", "log"))
    texts = (str(row.get(name, "")) for name in ("says", "words", "frames", "log", "unless"))
    packed = [tuple(getattr(fix, own.name) for own in fields_of(Fix)) for fix in fixes]
    return row["id"], kind, *texts, *(bool(row.get(name)) for name in SWITCHES), *needed, packed


def _strings_of(expression: str) -> tuple[str, ...]:
    """Return strings, in small letters, of which all that an expression matches has one; empty where none are known."""
    from .literals import required_literals

    found = required_literals(expression.removeprefix("(?i)"), _SHORTEST) or ()
    return tuple(dict.fromkeys(text.lower() for text in found))


def _short(row: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield the fixes that a row tells in one line each: what to do about an idiom, what exchanges a component or switches it off."""
    do = str(row.get("do", ""))
    if do:
        command = re.match(_COMMANDS, do) is not None
        title = str(row.get("title", "")) or (_title(do, str(row.get("then", ""))) if command else do)
        yield {
            "title": title,
            "kind": "command" if command else "step",
            "change": do,
            "why": row["says"],
            "cost": "none",
        }
    for lever in _texts(row, "levers"):
        found = re.match(_SETTING, lever)
        if found is None:
            yield {"lever": lever, "why": row["says"]}
            continue
        off = found["out"] or found["no"] or re.search(_OFF, lever)
        title = f"Do without {row['name']}" if off else f"Choose another in the place of {row['name']}"
        yield {
            "title": title, "kind": "env" if found["variable"] else "flag", "option": found["variable"] or found["option"], "change": lever,
            "why": row["says"], "cost": f"What {row['name']} is for." if off else "Perhaps speed.",
        }  # fmt: skip


def _title(do: str, then: str) -> str:
    verb = next((title for begin, title in _TITLES if do.startswith(begin)), "Look")
    return f"{verb}. {then}".rstrip(" .") if then else verb


def _wrong(row: Mapping[str, object], kind: str) -> Iterator[str]:
    if kind not in KINDS:
        yield f"there is no table {kind!r}"
    yield from (f"unknown key {name!r}" for name in row if name not in (*TEXTS, *LISTS, *SWITCHES))
    yield from (
        f"missing {name}"
        for name in (("id", "says", "name") if kind == "component" else ("id", "says"))
        if not row.get(name)
    )
    if not any(row.get(name) for name in ("words", "frames", "log")):
        yield "needs words or frames"
    if not any(row.get(name) for name in ("do", "levers", "fix")):
        yield "says nothing to do"
    for name in ("words", "frames", "log", "unless"):
        try:
            re.compile(str(row.get(name, "")))
        except re.error as error:
            yield f"{name} is no regular expression: {error}"


def _texts(row: Mapping[str, object], name: str) -> list[str]:
    return cast("list[str]", row.get(name, []))
