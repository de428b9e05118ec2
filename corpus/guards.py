"""What speaks against a fix, whichever cause it is of: the rows of ``guards.toml``, as classes."""

from __future__ import annotations

import re
from functools import cached_property

from .records import Record, cast, field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

ABOUT = ("option", "dropped", "variable", "value", "installs", "runs", "tag", "kind")
"""What a row may be about, as lists of names in which ``*`` stands for anything."""
EXPRESSIONS = ("mentions", "unless_mentions", "said", "unless_said", "raised", "unless_raised", "frames", "unless_frames", "unless_innermost", "process")  # fmt: skip
SWITCHES = ("presumes", "always", "part", "alone", "unless_framework")
LISTS = ("when", "unless_value", "signs")
TEXTS = ("id", "why", "versions", "source", *EXPRESSIONS)
DERIVED = (
    "release", "value", "platform", "stranger", "one_gpu", "ranks_in_force", "longest_prompt", "prompt_beyond", "death_told",
    "waited_s", "other_process_gib", "oom_gpu_gib", "other_process_share", "refused_backend", "arguments",
)  # fmt: skip
"""What ``when`` may ask for beside facts."""
ASKED = ("in_force", "backends_refuse", "arg")
"""The same of an option, whose name stands behind a colon."""
_NAME = r"\*|[^*?\[]+|\*[^*?\[]+\*|[^*?\[]+\*"
ANY_CASE = int(re.MULTILINE | re.IGNORECASE)
"""With which what a log ``mentions`` is looked for."""
_ANY_CASE = ("mentions", "unless_mentions", "said", "unless_said")


@record(slots=True, frozen=True)
class Guard(Record):
    """One row: which fixes it is about, what must hold for it to withhold them, and the reason."""

    id: str
    why: str
    about: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    vllm: bool = False
    """Whether it is about all fixes that have to do with vLLM."""
    moves: str = ""
    when: tuple[str, ...] = ()
    versions: str = ""
    source: str = ""
    unless_value: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    presumes: bool = False
    always: bool = False
    part: bool = False
    alone: bool = False
    unless_framework: bool = False
    expressions: Mapping[str, str] = field(default_factory=dict)
    """By their keys (``EXPRESSIONS``)."""


def flags_of(name: str) -> int:
    """Return with which flags of ``re`` a row's expression of a key is compiled."""
    return ANY_CASE if name in _ANY_CASE else 0


class Names:
    """Names in which ``*`` before and behind stands for anything; of ``fnmatch`` each would be an expression to compile."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._whole = frozenset(names)
        self._parts = tuple(name.strip("*") for name in names if name[0] == name[-1] == "*")
        self._heads = tuple(name[:-1] for name in names if name[-1] == "*" != name[0])

    def hold(self, name: str) -> bool:
        """Whether a name is one of them."""
        return name in self._whole or name.startswith(self._heads) or any(part in name for part in self._parts)


class Guards:
    """The rows, and which of them a name concerns."""

    def __init__(self, rows: list[dict[str, object]]) -> None:
        self.rows = [made(row) for row in rows]

    @cached_property
    def names(self) -> dict[str, list[tuple[Names, Guard]]]:
        """For each kind of name the rows that are about some, each with its names."""
        found: dict[str, list[tuple[Names, Guard]]] = {kind: [] for kind in ABOUT}
        for row in self.rows:
            for kind, names in row.about.items():
                found[kind].append((Names(names), row))
        return found


_OPPOSITE = {
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "==": "!=",
    "!=": "==",
    "present": "absent",
    "absent": "present",
}


def negated(condition: str) -> str:
    """Return the condition that holds where another one does not."""
    name, sign, *rest = condition.split(" ", 2)
    return " ".join((name, _OPPOSITE[sign], *rest))


def made(row: Mapping[str, object]) -> Guard:
    """Make a row of its table."""
    about = cast("Mapping[str, object]", row["about"])
    given: dict[str, object] = {
        name: row[name] for name in ("id", "why", "versions", "source", *SWITCHES) if name in row
    }
    given |= {name: tuple(cast("list[str]", row[name])) for name in LISTS if name in row}
    given |= {name: about[name] for name in ("vllm", "moves") if name in about}
    names = {name: tuple(cast("list[str]", about[name])) for name in ABOUT if name in about}
    make: Callable[..., Guard] = Guard
    return make(**given, about=names, expressions={name: row[name] for name in EXPRESSIONS if name in row})


def read_guards(path: Path) -> list[dict[str, object]]:
    """Return the tables of a file of guards.

    Raises:
        CorpusError: One of them breaks the format; the message names the line.
    """
    import tomllib

    from .places import CorpusError, Place, lines_of
    from .schema import CONDITION

    text = path.read_text(encoding="utf-8")
    rows: list[dict[str, object]] = tomllib.loads(text).get("guard", [])
    place = Place(path.name, lines_of(text))
    for number, row in enumerate(rows):
        spot = place.inside("guard", number, f"guard {row.get('id', '?')}")
        for wrong in _wrong(row, CONDITION):
            raise CorpusError(spot.says(wrong))
    names = [row["id"] for row in rows]
    if len(set(names)) < len(names):
        raise CorpusError(f"{path.name}: a guard's id stands twice")
    return rows


def _wrong(row: Mapping[str, object], condition_form: re.Pattern[str]) -> list[str]:
    found = [f"unknown key {name!r}" for name in row if name not in (*TEXTS, *SWITCHES, *LISTS, "about")]
    found += [f"missing {name}" for name in ("id", "why", "about") if not row.get(name)]
    about = row.get("about")
    known = (*ABOUT, "vllm", "moves")
    names = [str(name) for kind in ABOUT for name in _names(about.get(kind) if isinstance(about, dict) else ())]
    found += [f"about {name!r}: '*' may stand before and behind" for name in names if not re.fullmatch(_NAME, name)]
    found += [f"about knows no {name!r}" for name in (about if isinstance(about, dict) else ()) if name not in known]
    conditions = row.get("when", [])
    for condition in conditions if isinstance(conditions, list) else ():
        if not condition_form.match(str(condition)):
            found.append(f"when {condition!r} is no condition such as 'platform == rocm'")
    for name in EXPRESSIONS:
        try:
            re.compile(str(row.get(name, "")))
        except re.error as error:
            found.append(f"{name} is no regular expression: {error}")
    return found


def as_table(rows: Iterable[Mapping[str, object]]) -> str:
    """Return the rows as people read them: a table in Markdown."""
    lines = ["| what is about | is left out where | because |", "|---|---|---|"]
    for row in rows:
        about = cast("Mapping[str, object]", row["about"])
        named = [f"`{name}`" for kind in ("option", "variable", "value") for name in _names(about.get(kind))]
        named += [
            f"{name} left out" for name in (f"`{each}`" for each in _names(about.get("dropped"))) if name not in named
        ]
        named += [f"{kind} `{name}`" for kind in ("installs", "runs") for name in _names(about.get(kind))]
        named += [f"tag `{tag}`" for tag in _names(about.get("tag"))]
        named += [f"kind `{kind}`" for kind in _names(about.get("kind"))] if not named else []
        named += ["vLLM at all"] if about.get("vllm") else []
        told = [f"`{condition}`" for condition in _names(row.get("when"))]
        told += [f"releases {row['versions']}"] if row.get("versions") else []
        told += [_SAID[name] for name in EXPRESSIONS if name in row]
        lines.append(
            f"| {', '.join(named)} | {', '.join(dict.fromkeys(told))} | {row['why']} |".replace("|  |", "| – |")
        )
    return "\n".join(lines) + "\n"


def _names(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else []


_SAID = {
    "mentions": "the log says so", "unless_mentions": "no word of the log shows it", "said": "the error says so",
    "unless_said": "no word of the error asks for it", "raised": "the exception is of such a kind",
    "unless_raised": "its words name nothing else", "frames": "its stack holds the place", "unless_frames": "its stack holds no other",
    "unless_innermost": "its last frame is another", "process": "such a process raised it",
}  # fmt: skip
